package app

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync/atomic"

	"postern/config"
	"postern/event"
	"postern/httpapi/operator"
)

// support is what gathers support bundles; nil: nothing does.
type support struct {
	gather atomic.Pointer[func(context.Context, io.Writer) error]
}

// GatherSupport has GET /admin/support answered with what gather writes: a zip file
// without secrets. Before it is called none can be gathered.
func (a *App) GatherSupport(gather func(ctx context.Context, to io.Writer) error) {
	a.support.gather.Store(&gather)
}

func (a *App) writeSupport(ctx context.Context, to io.Writer) error {
	gather := a.support.gather.Load()
	if gather == nil {
		return operator.ErrNoSupport
	}
	return (*gather)(ctx, to)
}

// Config returns the configuration that was read last. It is not to be changed.
func (a *App) Config() *config.Config {
	a.reload.mu.Lock()
	defer a.reload.mu.Unlock()
	return cmp.Or(a.reload.in, a.cfg)
}

// Settings returns the settings in force, and the names of those that were changed since
// the start and count from the next one on. No secret is in them.
func (a *App) Settings() (all []config.Shown, pending []string) {
	read := a.Config()
	secure := a.certFiles != nil && read.Server.TLSCert != ""
	all = config.Settings(a.cfg)
	for i, s := range config.Settings(read) {
		if reloads(s.Name, secure) {
			all[i] = s
		}
	}
	pending = slices.DeleteFunc(config.Changed(a.cfg, read), func(path string) bool { return reloads(path, secure) })
	return all, pending
}

func (a *App) settingList() operator.SettingList {
	all, pending := a.Settings()
	read := a.Config()
	out := operator.SettingList{
		Settings: make([]operator.ConfigSetting, len(all)),
		Warnings: append([]string{}, slices.Concat(config.Warnings(read), config.Exposures(read))...), Pending: append([]string{}, pending...),
	}
	for i, s := range all {
		out.Settings[i] = operator.ConfigSetting{Name: s.Name, Value: operator.SettingValue(s.Value), Source: s.Source, About: s.About}
		if s.Default != "" {
			value := operator.SettingValue(s.Default)
			out.Settings[i].Default = &value
		}
	}
	return out
}

// Ask calls the program's own interface with its API key, without a connection, and
// decodes the answer; into a *[]byte goes the answer as it is. Whatever is answered but
// 200 is an error that says what it is.
func (a *App) Ask(ctx context.Context, method, path string, out any) (err error) {
	defer func() {
		if cause := recover(); cause != nil { // which a server would take for the end of a connection
			err = fmt.Errorf("the answer to %s was truncated: %v", path, cause)
		}
	}()
	req, err := http.NewRequestWithContext(ctx, method, path, http.NoBody)
	if err != nil {
		return err
	}
	req.RemoteAddr, req.Host = "127.0.0.1:0", "localhost"
	req.Header.Set("apikey", a.sec.GlobalAuthToken)
	answer := held{header: http.Header{}, status: http.StatusOK}
	a.api.ServeHTTP(&answer, req)
	if answer.status != http.StatusOK {
		return fmt.Errorf("%s answered %d: %s", path, answer.status, config.OneLine(event.Cut(answer.body.String())))
	}
	if raw, plain := out.(*[]byte); plain {
		*raw = answer.body.Bytes()
		return nil
	}
	return json.Unmarshal(answer.body.Bytes(), out)
}

// held keeps an answer in memory.
type held struct {
	header http.Header
	status int
	body   bytes.Buffer
}

// Header implements http.ResponseWriter.
func (h *held) Header() http.Header { return h.header }

// WriteHeader implements http.ResponseWriter.
func (h *held) WriteHeader(status int) { h.status = status }

// Write implements http.ResponseWriter.
func (h *held) Write(p []byte) (int, error) { return h.body.Write(p) }
