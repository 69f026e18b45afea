package httpapi

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"

	"postern/access"
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
		if row.auth == public || row.auth == handshake {
			continue
		}
		for name, header := range map[string]http.Header{
			"none":        {},
			"wrong key":   {"Apikey": {"wrong"}, "Authorization": {"Bearer wrong"}},
			"unknown key": {"Authorization": {"Bearer " + access.Prefix + "unknown"}},
		} {
			body := &untouched{}
			req := httptest.NewRequest(row.method, concrete(row.path), body)
			req.Header = header
			w := httptest.NewRecorder()
			r.h.ServeHTTP(w, req)
			if body.read || w.Code != http.StatusUnauthorized && w.Code != http.StatusTooManyRequests && w.Code != http.StatusNotFound {
				t.Errorf("%s %s, %s: %d, body read: %v", row.method, row.path, name, w.Code, body.read)
			}
		}
	}
}
