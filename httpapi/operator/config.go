package operator

import (
	"bytes"
	"errors"
	"net/http"
	"strconv"
	"time"

	"postern/httpapi/openapi"
	"postern/httpapi/rest"
)

// CodeSupport says that a support bundle is being made already.
const CodeSupport = "SUPPORT_RUNNING"

// SettingList is the configuration in force.
type SettingList struct {
	Settings []ConfigSetting `json:"settings" doc:"All settings, in the order of config.toml.example."`
	Warnings []string        `json:"warnings" doc:"Warnings about the configuration." example:""`
	Pending  []string        `json:"pending" doc:"Settings that were changed since the start and take effect at the next one." example:""`
}

// ConfigSetting is one setting without secrets.
type ConfigSetting struct {
	Name    string        `json:"name" doc:"The path of the setting." example:"server.listen"`
	Value   SettingValue  `json:"value" doc:"The value in effect, without credentials." example:"127.0.0.1:8084"`
	Default *SettingValue `json:"default" doc:"The value when the setting is absent; null for a secret that the program generates." example:"127.0.0.1:8084"`
	Source  string        `json:"source" doc:"The source of the value: a file, an environment variable, or default." example:"environment SERVER_LISTEN"`
	About   string        `json:"about" doc:"What the setting is for." example:"Address to listen on."`
}

// SettingValue is a JSON string, number, boolean or list of strings.
type SettingValue string

// MarshalJSON implements json.Marshaler.
func (v SettingValue) MarshalJSON() ([]byte, error) { return []byte(v), nil }

// UnmarshalJSON implements json.Unmarshaler.
func (v *SettingValue) UnmarshalJSON(raw []byte) error {
	*v = SettingValue(raw)
	return nil
}

// SettingSchema is the schema of the value of a setting.
func SettingSchema(rest.Ref) openapi.Object {
	return openapi.Object{"oneOf": []openapi.Object{
		{"type": "string"}, {"type": "integer"}, {"type": "boolean"}, {"type": "array", "items": openapi.Object{"type": "string"}},
	}}
}

// showConfig answers with the settings in force and where each comes from.
func (a *API) showConfig(c *rest.Call) error {
	out := SettingList{}
	if a.Settings != nil {
		out = a.Settings()
	}
	return c.Response.JSON(http.StatusOK, out)
}

// ErrNoSupport is returned when the program cannot write support bundles.
var ErrNoSupport = errors.New("this program cannot write support bundles; run postern support")

const mediaZip = "application/zip"

// makeSupport answers with a support bundle once it is complete: gathering takes some ten seconds, and
// a partial bundle is useless.
func (a *API) makeSupport(c *rest.Call) error {
	if a.Support == nil {
		return ErrNoSupport
	}
	if !a.gathering.TryLock() {
		return rest.Refuse(http.StatusConflict, CodeSupport, "another support bundle is being written; wait for its end")
	}
	ctx, cancel := c.UntilStopped()
	var bundle bytes.Buffer
	err := a.Support(ctx, &bundle)
	cancel(nil)
	a.gathering.Unlock() // before the answer: who has it may ask for the next one
	if err != nil {
		return err
	}
	h := c.Response.Header()
	h.Set("Content-Type", mediaZip)
	h.Set("Content-Length", strconv.Itoa(bundle.Len()))
	h.Set("Content-Disposition", `attachment; filename="postern-support-`+time.Now().UTC().Format("20060102T150405Z")+`.zip"`)
	_, err = c.Response.Write(bundle.Bytes())
	return err
}
