package sandbox

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"postern/internal/nesting"
	"postern/sandbox/handset"
	"postern/sandbox/network"
	"postern/sandbox/network/posts"
	"postern/sandbox/phone"
)

// maxControlBody is the largest body of a control request.
const maxControlBody = 1 << 20

// controlError is the error body of all control routes.
type controlError struct {
	StatusCode int      `json:"statusCode"`
	Error      string   `json:"error"`
	Code       string   `json:"code"`
	Messages   []string `json:"messages"`
	Message    []string `json:"message"`
	RequestID  string   `json:"requestId"`
}

// refused is an error answer.
type refused struct {
	status int
	code   string
	text   string
}

// Error implements error.
func (r refused) Error() string { return r.text }

func refusef(status int, code, format string, args ...any) error {
	return refused{status, code, fmt.Sprintf(format, args...)}
}

// refusedBy maps an error of the server to its answer.
func refusedBy(err error) refused {
	var r refused
	var unfit *network.UnfitError
	switch {
	case errors.As(err, &r):
		return r
	case errors.As(err, &unfit):
		return refused{http.StatusUnprocessableEntity, "INVALID_VALUE", unfit.Error()}
	case errors.Is(err, network.ErrNumber), errors.Is(err, network.ErrLID), errors.Is(err, phone.ErrNoAccount):
		return refused{http.StatusUnprocessableEntity, "INVALID_PHONE", err.Error()}
	case errors.Is(err, network.ErrNoGroup), errors.Is(err, network.ErrNotInGroup), errors.Is(err, network.ErrAdminsOnly):
		return refused{http.StatusUnprocessableEntity, "INVALID_GROUP", err.Error()}
	case errors.Is(err, posts.ErrNoPost):
		return refused{http.StatusUnprocessableEntity, "INVALID_POST", err.Error()}
	case errors.Is(err, handset.ErrQR), errors.Is(err, handset.ErrCode):
		return refused{http.StatusUnprocessableEntity, "INVALID_CODE", err.Error()}
	case errors.Is(err, network.ErrExists):
		return refused{http.StatusConflict, "PHONE_EXISTS", err.Error()}
	case errors.Is(err, network.ErrNoPairing):
		return refused{http.StatusNotFound, "PAIRING_NOT_FOUND", err.Error()}
	case errors.Is(err, network.ErrPairing):
		return refused{http.StatusConflict, "PAIRING_FAILED", err.Error()}
	case errors.Is(err, network.ErrClosed), errors.Is(err, phone.ErrClosed):
		return refused{http.StatusServiceUnavailable, "SHUTTING_DOWN", err.Error()}
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return refused{http.StatusRequestTimeout, "TIMEOUT", err.Error()}
	default:
		return refused{http.StatusInternalServerError, "INTERNAL_ERROR", err.Error()}
	}
}

// control serves the control routes of a network.
type control struct {
	net *network.Server
	log *slog.Logger
}

// newControl serves the control routes, all below /sandbox.
func newControl(net *network.Server, log *slog.Logger) http.Handler {
	c := &control{net: net, log: log}
	mux := http.NewServeMux()
	c.on(mux, "/sandbox/phones", methods{http.MethodGet: c.listPhones, http.MethodPost: c.createPhone})
	c.on(mux, "/sandbox/phones/{phone}", methods{http.MethodGet: c.showPhone})
	c.on(mux, "/sandbox/phones/{phone}/act", methods{http.MethodPost: c.act})
	c.on(mux, "/sandbox/scan", methods{http.MethodPost: c.scan})
	c.on(mux, "/sandbox/faults", methods{http.MethodPost: c.changeFaults})
	c.on(mux, "/sandbox/help", methods{http.MethodGet: c.help})
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		c.refuse(w, r, refusef(http.StatusNotFound, "NOT_FOUND", "there is nothing at this path; GET /sandbox/help lists what there is"))
	})
	return mux
}

// methods maps an HTTP method to the function that makes the answer: a status and a
// JSON value.
type methods map[string]func(r *http.Request) (int, any, error)

func (c *control) on(mux *http.ServeMux, path string, m methods) {
	mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) {
		handler, ok := m[r.Method]
		if !ok {
			for method := range m {
				w.Header().Add("Allow", method)
			}
			c.refuse(w, r, refusef(http.StatusMethodNotAllowed, "METHOD_NOT_ALLOWED", "%.100s is not allowed here", r.Method))
			return
		}
		status, answer, err := handler(r)
		if err != nil {
			c.refuse(w, r, err)
			return
		}
		c.write(w, status, answer)
	})
}

func (c *control) refuse(w http.ResponseWriter, r *http.Request, err error) {
	answer := refusedBy(err)
	if answer.status == http.StatusInternalServerError {
		c.log.Error("control request failed", "path", r.URL.Path, "error", err)
	}
	id := w.Header().Get("X-Request-Id")
	if id == "" {
		id = r.Header.Get("X-Request-Id")
	}
	c.write(w, answer.status, controlError{
		StatusCode: answer.status, Code: answer.code, RequestID: id,
		Error:    strings.ReplaceAll(strings.ToLower(http.StatusText(answer.status)), " ", "-"),
		Messages: []string{answer.text}, Message: []string{answer.text},
	})
}

func (c *control) write(w http.ResponseWriter, status int, answer any) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(answer)
}

// decode decodes a JSON object strictly; an empty body leaves v unchanged.
func decode(r *http.Request, v any) error {
	raw, err := io.ReadAll(http.MaxBytesReader(nil, r.Body, maxControlBody))
	if err != nil {
		return refusef(http.StatusRequestEntityTooLarge, "BODY_TOO_LARGE", "the body is larger than %d bytes", maxControlBody)
	}
	return decodeStrict(raw, v)
}

func decodeStrict(raw []byte, v any) error {
	if err := nesting.Check(raw); err != nil {
		return refusef(http.StatusBadRequest, "TOO_DEEP", "the body: %v", err)
	}
	if len(bytes.TrimSpace(raw)) == 0 {
		return nil
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	err := d.Decode(v)
	if err == nil && d.More() {
		err = errors.New("there is data after the object")
	}
	var kind *json.UnmarshalTypeError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &kind):
		return refusef(http.StatusBadRequest, "INVALID_TYPE", "%.100s has to be a %s", kind.Field, kind.Type)
	case strings.HasPrefix(err.Error(), "json: unknown field"):
		return refusef(http.StatusBadRequest, "UNKNOWN_FIELD", "%.100s", strings.TrimPrefix(err.Error(), "json: "))
	default:
		return refusef(http.StatusBadRequest, "MALFORMED_JSON", "the body is not one JSON object: %.100s", err.Error())
	}
}

// phoneView is a phone in answers of the routes.
type phoneView struct {
	Phone    string       `json:"phone"`
	PushName string       `json:"pushName"`
	LID      string       `json:"lid"`
	Devices  []deviceView `json:"devices"`
}

type deviceView struct {
	ID       uint16    `json:"id"`
	Online   bool      `json:"online"`
	Queued   int       `json:"queued"`
	PreKeys  int       `json:"preKeys"`
	LinkedAt time.Time `json:"linkedAt"`
}

func (c *control) view(p *phone.Phone) phoneView {
	name, devices := c.net.Devices(p.JID())
	v := phoneView{Phone: p.Number(), PushName: name, LID: p.LID().String(), Devices: []deviceView{}}
	for _, d := range devices {
		v.Devices = append(v.Devices, deviceView(d))
	}
	return v
}

func (c *control) listPhones(*http.Request) (int, any, error) {
	views := []phoneView{}
	for _, p := range c.net.Phones() {
		views = append(views, c.view(p))
	}
	return http.StatusOK, views, nil
}

// showPhone answers with a phone and what it has counted.
func (c *control) showPhone(r *http.Request) (int, any, error) {
	p, ok := c.net.Phone(number(r.PathValue("phone")))
	if !ok {
		return 0, nil, errNoPhone
	}
	return http.StatusOK, struct {
		phoneView
		WithoutTimer int `json:"withoutTimer"`
	}{c.view(p), p.WithoutTimer()}, nil
}

func (c *control) createPhone(r *http.Request) (int, any, error) {
	var body struct {
		Phone        string `json:"phone"`
		PushName     string `json:"pushName"`
		LID          string `json:"lid"`
		Passkey      bool   `json:"passkey"`
		RegisteredAs string `json:"registeredAs"`
	}
	if err := decode(r, &body); err != nil {
		return 0, nil, err
	}
	var key *network.Passkey
	var err error
	if body.Passkey {
		if key, err = network.NewPasskey(false, false); err != nil {
			return 0, nil, err
		}
	}
	var p *phone.Phone
	switch {
	case body.RegisteredAs != "":
		if body.Phone == "" {
			return 0, nil, refusef(http.StatusUnprocessableEntity, "INVALID_PHONE", "phone is missing: with registeredAs it is the number that is asked, which has no account of its own")
		}
		p, err = c.register(body.Phone, body.RegisteredAs, body.PushName, body.LID)
	case body.Phone == "":
		p, err = c.net.AddFreshPhone(body.PushName)
	default:
		lid, _, _ := strings.Cut(body.LID, "@")
		p, err = c.net.AddPhone(phone.Options{Number: number(body.Phone), PushName: body.PushName, LID: lid})
	}
	if err == nil && key != nil {
		err = c.net.SetPasskey(p.JID(), key)
	}
	if err != nil {
		return 0, nil, err
	}
	return http.StatusCreated, c.view(p), nil
}

// register adds the phone registered, unless it is there, with another number that it answers to.
func (c *control) register(asked, registered, pushName, lid string) (*phone.Phone, error) {
	lid, _, _ = strings.Cut(lid, "@")
	_, err := c.net.AddPhone(phone.Options{Number: number(registered), PushName: pushName, LID: lid})
	if err != nil && (!errors.Is(err, network.ErrExists) || lid != "") {
		return nil, err
	}
	return c.net.Register(number(asked), number(registered), false)
}

func (c *control) scan(r *http.Request) (int, any, error) {
	var body struct {
		Phone string `json:"phone"`
		Code  string `json:"code"`
	}
	if err := decode(r, &body); err != nil {
		return 0, nil, err
	}
	if body.Code == "" {
		return 0, nil, refusef(http.StatusUnprocessableEntity, "INVALID_CODE", "code is missing: a QR code's text or a link code")
	}
	if body.Phone == "" {
		p, err := c.net.AutoScan(body.Code)
		if err != nil {
			return 0, nil, err
		}
		return http.StatusOK, c.view(p), nil
	}
	p, ok := c.net.Phone(number(body.Phone))
	if !ok {
		return 0, nil, fmt.Errorf("scan on %.100q: %w", body.Phone, network.ErrNumber)
	}
	if err := p.Scan(r.Context(), body.Code); err != nil {
		return 0, nil, err
	}
	return http.StatusOK, c.view(p), nil
}
