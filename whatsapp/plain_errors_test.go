package whatsapp

import (
	"errors"
	"io/fs"
	"net"
	"os"
	"strings"
	"testing"

	"go.mau.fi/whatsmeow"

	"postern/event"
	"postern/whatsapp/device"
	"postern/whatsapp/translate"
)

// TestDialErrorHasReasonWithoutAddress: the error is stored and shown by the
// status of the connection.
func TestDialErrorHasReasonWithoutAddress(t *testing.T) {
	r := newRig(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed := l.Addr().String()
	_ = l.Close()
	wrong, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer wrong.Close()
	go func() {
		for {
			c, err := wrong.Accept()
			if err != nil {
				return
			}
			_, _ = c.Write([]byte("220 mail.internal ESMTP\r\n"))
			_ = c.Close()
		}
	}()
	at := *r.cfg.Endpoint
	for address, want := range map[string]string{closed: "the connection was refused", wrong.Addr().String(): "TLS: "} {
		at.URL = "wss://" + address + "/ws/secret"
		devices, err := device.Open(r.store, nil)
		if err != nil {
			t.Fatal(err)
		}
		conn, err := New(Config{Devices: devices, Endpoint: &at})
		if err != nil {
			t.Fatal(err)
		}
		s, err := conn.Open(t.Context(), 7, r.report)
		if err != nil {
			t.Fatal(err)
		}
		err = s.Connect(t.Context())
		s.Disconnect()
		if !errors.Is(err, event.ErrNotConnected) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", address, err, want)
			continue
		}
		for _, hidden := range []string{"127.0.0.1", "://", "secret", "mail", "whatsapp.net"} {
			if strings.Contains(err.Error(), hidden) {
				t.Errorf("%v shows %s", err, hidden)
			}
		}
	}
}

// TestLibraryErrorsHaveNoAddresses covers every conversion of a library error to one of
// ours.
func TestLibraryErrorsHaveNoAddresses(t *testing.T) {
	_, dial := net.Dial("tcp", "127.0.0.1:1")
	upload := errors.Join(errors.New("failed to execute request"), &net.OpError{Op: "dial", Net: "tcp", Err: dial, Addr: &net.TCPAddr{IP: net.IPv4(10, 0, 0, 7), Port: 443}})
	_, file := os.Open("/nowhere/at/all")
	for name, way := range map[string]func(error) error{
		"a send":            func(err error) error { return classify(whatsmeow.SendResponse{}, err) },
		"a question":        classifyAnswer,
		"an upload":         classifyUpload,
		"a download":        classifyDownload,
		"before a send":     certain,
		"a passkey":         passkeyError,
		"a state's reading": func(err error) error { return errors.New(translate.ErrorText(err)) },
	} {
		for _, cause := range []error{dial, upload, errors.New(`Post "https://mmg.whatsapp.net/mms/image/x?auth=secret": odd`)} {
			got := way(cause).Error()
			for _, hidden := range []string{"127.0.0.1", "10.0.0.7", "://", "secret", "dial"} {
				if strings.Contains(got, hidden) {
					t.Errorf("%s: %q shows %s", name, got, hidden)
				}
			}
		}
		if got := way(file); name != "a download" && (strings.Contains(got.Error(), "nowhere") || name != "a state's reading" && !errors.Is(got, fs.ErrNotExist)) {
			t.Errorf("%s: %v", name, got)
		}
	}
}
