package certificate_test

import (
	"bytes"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"postern/app/certificate"
	"postern/app/certificate/certificatetest"
	"postern/config"
)

// look is longer than the files are left without a look.
const look = 2 * time.Second

// opened is the certificate in the files of an authority, with what it logs.
type opened struct {
	*certificate.Files
	t   *testing.T
	log bytes.Buffer
}

func open(t *testing.T, a *certificatetest.Authority) *opened {
	t.Helper()
	cfg := config.Default()
	cfg.Server.TLSCert, cfg.Server.TLSKey = filepath.Join(a.Folder, "cert.pem"), filepath.Join(a.Folder, "key.pem")
	o := &opened{t: t}
	var err error
	if o.Files, err = certificate.Open(cfg, slog.New(slog.NewTextHandler(&o.log, nil))); err != nil {
		t.Fatal(err)
	}
	return o
}

// serial returns the number of the certificate that a handshake gets.
func (o *opened) serial() int64 {
	o.t.Helper()
	c, err := o.Config().GetCertificate(nil)
	if err != nil {
		o.t.Fatal(err)
	}
	return c.Leaf.SerialNumber.Int64()
}

func TestUnreadableCertificateKeepsThePreviousOne(t *testing.T) {
	synctest.Test(t, unreadableCertificateKeepsThePreviousOne)
}

func unreadableCertificateKeepsThePreviousOne(t *testing.T) {
	a := certificatetest.New(t)
	serial := a.Issue(time.Now().Add(time.Hour))
	s := open(t, a)
	for name, spoil := range map[string]func(){
		"garbage":                func() { a.Write("cert.pem", []byte("garbage")) },
		"the key of another":     func() { a.Write("key.pem", a.OtherKey()) },
		"a file that is gone":    func() { _ = os.Remove(filepath.Join(a.Folder, "cert.pem")) },
		"one that ended already": func() { a.Issue(time.Now().Add(-time.Minute)) },
	} {
		spoil()
		time.Sleep(look)
		for range 3 {
			if got := s.serial(); got != serial {
				t.Errorf("%s: certificate %d", name, got)
			}
		}
		if !strings.Contains(s.log.String(), "cannot reload the certificate") {
			t.Errorf("%s: nothing is logged", name)
		}
		serial = a.Issue(time.Now().Add(time.Hour))
		time.Sleep(look)
		if got := s.serial(); got != serial {
			t.Errorf("after %s: certificate %d", name, got)
		}
	}
}

// TestUnreadableCertificateIsRetried: one whose files got the right
// owner after they were written, or that came while no file could be opened, looks the
// same afterwards.
func TestUnreadableCertificateIsRetried(t *testing.T) {
	synctest.Test(t, unreadableCertificateIsRetried)
}

func unreadableCertificateIsRetried(t *testing.T) {
	a := certificatetest.New(t)
	a.Issue(time.Now().Add(time.Hour))
	s := open(t, a)
	serial, at, path := a.Issue(time.Now().Add(time.Hour)), time.Now().Add(time.Minute), filepath.Join(a.Folder, "key.pem")
	right, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	become := func(content []byte) {
		a.Write("new.pem", content)
		if err := errors.Join(os.Chtimes(filepath.Join(a.Folder, "new.pem"), at, at), os.Rename(filepath.Join(a.Folder, "new.pem"), path)); err != nil {
			t.Fatal(err)
		}
	}
	become(bytes.Repeat([]byte("x"), len(right)))
	for range 3 {
		time.Sleep(look)
		if got := s.serial(); got == serial {
			t.Fatal("it is served without its key")
		}
	}
	if n := strings.Count(s.log.String(), "cannot reload the certificate"); n != 1 {
		t.Errorf("said %d times", n)
	}
	become(right)
	time.Sleep(look)
	if got := s.serial(); got != serial {
		t.Errorf("certificate %d, not %d", got, serial)
	}
}
