package sandbox

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"postern/nesting"
	"postern/sandbox/handset"
)

// maxControlBody bounds a control request.
const maxControlBody = 1 << 20

// controlError is the one error body of the control routes.
type controlError struct {
	StatusCode int      `json:"statusCode"`
	Error      string   `json:"error"`
	Code       string   `json:"code"`
	Messages   []string `json:"messages"`
	Message    []string `json:"message"`
	RequestID  string   `json:"requestId"`
}

// refused is an answer that is not a success.
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
	switch {
	case errors.As(err, &r):
		return r
	case errors.Is(err, ErrNumber), errors.Is(err, ErrLID), errors.Is(err, ErrNoAccount):
		return refused{http.StatusUnprocessableEntity, "INVALID_PHONE", err.Error()}
	case errors.Is(err, errNoGroup), errors.Is(err, errNotInGroup), errors.Is(err, errAdminsOnly):
		return refused{http.StatusUnprocessableEntity, "INVALID_GROUP", err.Error()}
	case errors.Is(err, handset.ErrQR), errors.Is(err, handset.ErrCode):
		return refused{http.StatusUnprocessableEntity, "INVALID_CODE", err.Error()}
	case errors.Is(err, ErrExists):
		return refused{http.StatusConflict, "PHONE_EXISTS", err.Error()}
	case errors.Is(err, ErrNoPairing):
		return refused{http.StatusNotFound, "PAIRING_NOT_FOUND", err.Error()}
	case errors.Is(err, ErrPairing):
		return refused{http.StatusConflict, "PAIRING_FAILED", err.Error()}
	case errors.Is(err, ErrClosed), errors.Is(err, ErrPhoneClosed):
		return refused{http.StatusServiceUnavailable, "SHUTTING_DOWN", err.Error()}
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return refused{http.StatusRequestTimeout, "TIMEOUT", err.Error()}
	default:
		return refused{http.StatusInternalServerError, "INTERNAL_ERROR", err.Error()}
	}
}

// Control serves the control routes, all of them below /sandbox. It asks for no credential:
// the caller puts its own check in front.
func (s *Server) Control() http.Handler {
	mux := http.NewServeMux()
	s.on(mux, "/sandbox/phones", methods{http.MethodGet: s.listPhones, http.MethodPost: s.createPhone})
	s.on(mux, "/sandbox/phones/{phone}/act", methods{http.MethodPost: s.act})
	s.on(mux, "/sandbox/scan", methods{http.MethodPost: s.scan})
	s.on(mux, "/sandbox/faults", methods{http.MethodPost: s.changeFaults})
	s.on(mux, "/sandbox/help", methods{http.MethodGet: s.help})
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		s.refuse(w, r, refusef(http.StatusNotFound, "NOT_FOUND", "there is nothing at this path; GET /sandbox/help lists what there is"))
	})
	return mux
}

// methods maps an HTTP method to what makes the answer: a status and a JSON value.
type methods map[string]func(r *http.Request) (int, any, error)

func (s *Server) on(mux *http.ServeMux, path string, m methods) {
	mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) {
		handler, ok := m[r.Method]
		if !ok {
			for method := range m {
				w.Header().Add("Allow", method)
			}
			s.refuse(w, r, refusef(http.StatusMethodNotAllowed, "METHOD_NOT_ALLOWED", "%.100s is not allowed here", r.Method))
			return
		}
		status, answer, err := handler(r)
		if err != nil {
			s.refuse(w, r, err)
			return
		}
		s.write(w, status, answer)
	})
}

func (s *Server) refuse(w http.ResponseWriter, r *http.Request, err error) {
	answer := refusedBy(err)
	if answer.status == http.StatusInternalServerError {
		s.log.Error("control request failed", "path", r.URL.Path, "error", err)
	}
	id := w.Header().Get("X-Request-Id")
	if id == "" {
		id = r.Header.Get("X-Request-Id")
	}
	s.write(w, answer.status, controlError{
		StatusCode: answer.status, Code: answer.code, RequestID: id,
		Error:    strings.ReplaceAll(strings.ToLower(http.StatusText(answer.status)), " ", "-"),
		Messages: []string{answer.text}, Message: []string{answer.text},
	})
}

func (s *Server) write(w http.ResponseWriter, status int, answer any) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(answer)
}

// decode reads a JSON object strictly; an empty body leaves v as it is.
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
		err = errors.New("there is more after the object")
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

// phoneView is a phone as the routes show it.
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

func (s *Server) view(p *Phone) phoneView {
	s.mu.Lock()
	defer s.mu.Unlock()
	v := phoneView{Phone: p.Number(), LID: p.LID().String(), Devices: []deviceView{}}
	a := s.byPN[p.Number()]
	if a == nil {
		return v
	}
	v.PushName = a.pushName
	for _, d := range a.sorted() {
		v.Devices = append(v.Devices, deviceView{d.id, d.conn != nil, len(d.queue), len(d.preKeys), d.linked})
	}
	return v
}

func (s *Server) listPhones(*http.Request) (int, any, error) {
	views := []phoneView{}
	for _, p := range s.Phones() {
		views = append(views, s.view(p))
	}
	return http.StatusOK, views, nil
}

func (s *Server) createPhone(r *http.Request) (int, any, error) {
	var body struct {
		Phone    string `json:"phone"`
		PushName string `json:"pushName"`
		LID      string `json:"lid"`
	}
	if err := decode(r, &body); err != nil {
		return 0, nil, err
	}
	var p *Phone
	var err error
	if body.Phone == "" {
		p, err = s.freshPhone(body.PushName)
	} else {
		lid, _, _ := strings.Cut(body.LID, "@")
		p, err = s.AddPhone(PhoneOptions{Number: number(body.Phone), PushName: body.PushName, LID: lid})
	}
	if err != nil {
		return 0, nil, err
	}
	return http.StatusCreated, s.view(p), nil
}

// number reads a phone number as people and addresses write it.
func number(text string) string {
	text, _, _ = strings.Cut(text, "@")
	return strings.TrimPrefix(text, "+")
}

func (s *Server) scan(r *http.Request) (int, any, error) {
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
		p, err := s.AutoScan(body.Code)
		if err != nil {
			return 0, nil, err
		}
		return http.StatusOK, s.view(p), nil
	}
	p, ok := s.Phone(number(body.Phone))
	if !ok {
		return 0, nil, fmt.Errorf("scan on %.100q: %w", body.Phone, ErrNumber)
	}
	if err := p.Scan(r.Context(), body.Code); err != nil {
		return 0, nil, err
	}
	return http.StatusOK, s.view(p), nil
}

func (s *Server) changeFaults(r *http.Request) (int, any, error) {
	var body faultFields
	if err := decode(r, &body); err != nil {
		return 0, nil, err
	}
	if err := body.check(); err != nil {
		return 0, nil, err
	}
	if body == (faultFields{}) {
		s.heal()
	} else {
		s.SetFaults(body.faults())
	}
	return http.StatusOK, body, nil
}
