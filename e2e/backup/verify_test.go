package backup

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"filippo.io/age"

	"postern/e2e/rig"
)

// TestBackupIsVerifiedBeforeSuccessIsReported makes plain and encrypted backups of a
// running program, also through a proxy that changes bytes or drops trailers, and of a
// stopped one.
func TestBackupIsVerifiedBeforeSuccessIsReported(t *testing.T) {
	t.Parallel() // it waits more than it works
	o := rig.NewOperator(t)
	id, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	to := []string{"--recipient", id.Recipient().String()}
	n := 0
	backup := func(status int, words string, args ...string) {
		t.Helper()
		n++
		file := filepath.Join(folder, strconv.Itoa(n))
		o.Says(status, words, append(append([]string{"backup"}, args...), file)...)
		if _, err := os.Stat(file); (err == nil) != (status == 0) {
			t.Errorf("%q: %v", args, err)
		}
	}
	target, err := url.Parse(o.API.Base)
	if err != nil {
		t.Fatal(err)
	}
	through := func(change func(*http.Response) error) []string {
		forward := httputil.NewSingleHostReverseProxy(target)
		forward.ModifyResponse = change
		s := httptest.NewServer(forward)
		t.Cleanup(s.Close)
		return []string{"--url", s.URL, "--key", o.Sec.GlobalAuthToken}
	}
	unchanged := through(func(*http.Response) error { return nil })
	flips := through(func(r *http.Response) error {
		all, err := io.ReadAll(r.Body)
		if err != nil {
			return err
		}
		all[len(all)-2000] ^= 1
		r.Body = io.NopCloser(bytes.NewReader(all))
		return nil
	})
	drops := through(func(r *http.Response) error {
		all, err := io.ReadAll(r.Body)
		r.Body, r.Trailer = io.NopCloser(bytes.NewReader(all)), nil
		return err
	})
	for _, more := range [][]string{nil, to} {
		what := ", verified"
		if more != nil {
			what = "written, encrypted, verified"
		}
		backup(0, what, more...)
		backup(0, what, append(unchanged, more...)...)
		backup(0, "not verified", append([]string{"--no-verify"}, more...)...)
		backup(1, "damaged", append(flips, more...)...)
	}
	backup(0, ", verified", drops...)
	backup(1, "did not send the digest", append(drops, to...)...)
	backup(0, "encrypted, not verified", append(append([]string{"--no-verify"}, drops...), to...)...)
	o.Stop()
	backup(0, ", verified")
	backup(0, ", encrypted, verified", to...)
	backup(0, ", not verified", "--no-verify")
}
