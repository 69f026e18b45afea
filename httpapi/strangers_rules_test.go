package httpapi

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"

	"postern/access"
	"postern/httpapi/rest"
)

// untouched is a body that must not be read.
type untouched struct{ read bool }

func (u *untouched) Read([]byte) (int, error) {
	u.read = true
	return 0, errors.New("it was read")
}

// TestCredentialIsCheckedBeforeTheBody on every route that takes one.
func TestCredentialIsCheckedBeforeTheBody(t *testing.T) {
	r := newRig(t)
	for _, row := range routes() {
		if row.Auth == rest.Public || row.Auth == rest.Handshake {
			continue
		}
		for name, header := range map[string]http.Header{
			"none":        {},
			"wrong key":   {"Apikey": {"wrong"}, "Authorization": {"Bearer wrong"}},
			"unknown key": {"Authorization": {"Bearer " + access.Prefix + "unknown"}},
		} {
			body := &untouched{}
			req := httptest.NewRequest(row.Method, concrete(row.Path), body)
			req.Header = header
			w := httptest.NewRecorder()
			r.h.ServeHTTP(w, req)
			if body.read || w.Code != http.StatusUnauthorized && w.Code != http.StatusTooManyRequests && w.Code != http.StatusNotFound {
				t.Errorf("%s %s, %s: %d, body read: %v", row.Method, row.Path, name, w.Code, body.read)
			}
		}
	}
}
