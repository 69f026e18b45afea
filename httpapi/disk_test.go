package httpapi

import (
	"errors"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"postern/httpapi/rest"
	"postern/httpapi/tokens"
	"postern/instance"
)

// instanceOnDisk creates an instance although the disk counts as full.
func (r *rig) instanceOnDisk(name string) (token string) {
	r.t.Helper()
	made, err := r.registry.Create(r.t.Context(), instance.New{Name: name, Mint: func(name string) (string, error) {
		return tokens.ForInstance(testSecret, name, 0, time.Now())
	}})
	if err != nil {
		r.t.Fatal(err)
	}
	return made.Token.Value
}

// TestNearlyFullDiskRefusesFiles: each form ends where its file begins, so an answer other than
// DISK_FULL means that the file was read.
func TestNearlyFullDiskRefusesFiles(t *testing.T) {
	r := newRigOnDisk(t, math.MaxUint64)
	token := r.instanceOnDisk("a")
	r.line.paired.Store(true)
	body := "--x\r\nContent-Disposition: form-data; name=\"attachment\"; filename=\"a.png\"\r\n\r\n\x89PNG"
	for _, c := range []struct{ method, path string }{
		{"POST", "/instance/a/media/uploads"},
		{"POST", "/instance/a/send/media-file"},
		{"POST", "/instance/a/send/ptt-file"},
		{"POST", "/instance/a/send/sticker-file"},
		{"PUT", "/instance/a/group/update-picture?groupJid=1-2@g.us"},
	} {
		req := httptest.NewRequest(c.method, c.path, io.MultiReader(strings.NewReader(body), brokenOff{}))
		req.Header.Set("Authorization", "Bearer "+token)
		req.Header.Set("Content-Type", "multipart/form-data; boundary=x")
		t.Log(c.path)
		wantError(t, do(r.h, req), http.StatusServiceUnavailable, "DISK_FULL")
	}
	wantError(t, r.as(token, "POST", "/instance/a/send/media", `{"number":"4915155500003","mediaMessage":{"mediatype":"image","media":"https://example.com/a.png"}}`), 503, "DISK_FULL")
	if left := r.spooled(); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

func TestTooLargeFormIsNotRead(t *testing.T) {
	r := newRig(t)
	token := r.instance("a")
	req := httptest.NewRequest("POST", "/instance/a/media/uploads", brokenOff{})
	req.ContentLength = defaultMaxMedia + rest.FormOverhead + 1
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("Content-Type", "multipart/form-data; boundary=x")
	wantError(t, do(r.h, req), http.StatusRequestEntityTooLarge, rest.CodeBodyTooLarge)
}

type brokenOff struct{}

func (brokenOff) Read([]byte) (int, error) { return 0, errors.New("the rest was asked for") }
