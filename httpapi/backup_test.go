package httpapi

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"postern/backup"
	"postern/httpapi/instances"
	"postern/store"
)

// emptyArchive is a backup of an empty data file.
func emptyArchive(t *testing.T) *backup.Archive {
	t.Helper()
	s, err := store.Open(store.Options{Path: filepath.Join(t.TempDir(), "p.db")})
	if err != nil {
		t.Fatal(err)
	}
	snapshot, err := s.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = errors.Join(snapshot.Close(), s.Close()) })
	a, err := backup.New(t.Context(), backup.Source{Data: snapshot, Version: "test", At: snapshot.At()})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// TestStopBeforeFirstByteAnswers503 begins the stop at each step of a backup, an export and an import
// before the first byte of the answer.
func TestStopBeforeFirstByteAnswers503(t *testing.T) {
	released := 0
	release := func() error { released++; return nil }
	whole := emptyArchive(t)
	for name, makes := range map[string]func(context.Context) (*backup.Archive, func() error, error){
		"the cause": func(ctx context.Context) (*backup.Archive, func() error, error) {
			<-ctx.Done()
			return nil, nil, context.Cause(ctx)
		},
		"a wrapped cause": func(ctx context.Context) (*backup.Archive, func() error, error) {
			<-ctx.Done()
			return nil, nil, fmt.Errorf("snapshot: %w", context.Cause(ctx))
		},
		"the context": func(ctx context.Context) (*backup.Archive, func() error, error) {
			<-ctx.Done()
			return nil, nil, fmt.Errorf("snapshot: %w", ctx.Err())
		},
		"the store": func(context.Context) (*backup.Archive, func() error, error) {
			return nil, nil, fmt.Errorf("snapshot: %w", store.ErrClosed)
		},
		"a complete archive": func(ctx context.Context) (*backup.Archive, func() error, error) {
			<-ctx.Done()
			return whole, release, nil
		},
	} {
		for _, body := range []string{"", `{"recipients":["age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p"]}`} {
			stopping := make(chan struct{})
			r := newRig(t)
			r.api.Stopping = stopping
			r.api.operator.Backup = func(ctx context.Context, _ bool) (*backup.Archive, func() error, error) {
				close(stopping)
				return makes(ctx)
			}
			req := httptest.NewRequest("POST", "/admin/backup", bytes.NewBufferString(body))
			req.Header.Set("apikey", testKey)
			res := do(r.h, req)
			if d := res.Header.Get("Content-Disposition"); d != "" || res.StatusCode != 503 {
				t.Errorf("%s, %q: %d %s", name, body, res.StatusCode, d)
			}
			wantError(t, res, 503, "SHUTTING_DOWN")
		}
	}
	if released != 2 {
		t.Errorf("%d of 2 archives were released", released)
	}
	r := newRig(t)
	stopping := make(chan struct{})
	r.api.Stopping = stopping
	r.api.instances.Transfers.Import = func(ctx context.Context, _ io.Reader, _ string, _ func(string)) (instances.Imported, error) {
		close(stopping)
		<-ctx.Done()
		return instances.Imported{}, fmt.Errorf("read: %w", ctx.Err())
	}
	wantError(t, r.bring(t, part{"attachment", "a.account", "x"}), 503, "SHUTTING_DOWN")
	for _, look := range []string{"POST /admin/check", "GET /admin/stats"} {
		method, path, _ := strings.Cut(look, " ")
		wantError(t, r.admin(method, path, ""), 503, "SHUTTING_DOWN")
	}
}
