package transfer

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"

	"filippo.io/age"

	"postern/backup"
	"postern/instance"
	"postern/messages"
	"postern/whatsapp/device"
)

// written returns a file whose device record is invalid.
func written(t *testing.T, to ...age.Recipient) []byte {
	t.Helper()
	var out bytes.Buffer
	w, err := NewWriter(&out, Head{Version: "v9", Name: "shop"}, to...)
	if err != nil {
		t.Fatal(err)
	}
	err = errors.Join(
		w.Instance(instance.Export{Record: json.RawMessage(`{"name":"shop","token":{"value":"t"}}`)}),
		w.Device(&device.Export{Record: json.RawMessage(`{"jid":"1:2@s.whatsapp.net"}`), Entries: []device.Entry{{Key: []byte("Ix"), Value: []byte("y")}}}),
		w.Contact(messages.Contact{JID: "1@s.whatsapp.net"}),
		w.Close(),
	)
	if err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestTruncatedOrModifiedFileIsRejected(t *testing.T) {
	raw := written(t)
	if _, err := Read(t.Context(), bytes.NewReader(raw), 0); !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), "the record of the device") {
		t.Fatalf("complete file with an invalid device: %v", err)
	}
	for n := range len(raw) {
		if _, err := Read(t.Context(), bytes.NewReader(raw[:n]), 0); !errors.Is(err, ErrDamaged) && !errors.Is(err, ErrForeign) {
			t.Fatalf("the first %d bytes of %d: %v", n, len(raw), err)
		}
		changed := bytes.Clone(raw)
		changed[n] ^= 1
		_, err := Read(t.Context(), bytes.NewReader(changed), 0)
		if err == nil || strings.Contains(err.Error(), "the record of the device") {
			t.Fatalf("byte %d of %d (%q): %v", n, len(raw), raw[n], err)
		}
	}
	if _, err := Read(t.Context(), bytes.NewReader(append(bytes.Clone(raw), raw...)), 0); !errors.Is(err, ErrDamaged) {
		t.Errorf("twice: %v", err)
	}
}

func TestForeignFileIsRejected(t *testing.T) {
	for what, raw := range map[string]string{
		"nothing": "", "words": "hello\n", "another kind": `{"head":{"kind":"x","format":1}}` + "\n", "no head": `{"contact":{}}` + "\n", "a list": "[]\n",
		"a later format": `{"head":{"kind":"postern account","format":2}}` + "\n",
	} {
		if _, err := Read(t.Context(), strings.NewReader(raw), 0); !errors.Is(err, ErrForeign) && !errors.Is(err, ErrDamaged) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if _, err := Read(t.Context(), endless{}, 0); !errors.Is(err, ErrDamaged) {
		t.Errorf("unterminated line: %v", err)
	}
	stopped := errors.New("not wanted any more")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(stopped)
	if _, err := Read(ctx, endless{}, 0); !errors.Is(err, stopped) {
		t.Errorf("reading with an ended context: %v", err)
	}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}

func TestEncryptedFileRequiresItsIdentity(t *testing.T) {
	id, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	raw := written(t, id.Recipient())
	if bytes.Contains(raw, []byte("shop")) {
		t.Error("the file is not encrypted")
	}
	if _, err := Read(t.Context(), bytes.NewReader(raw), 0); !errors.Is(err, backup.ErrEncrypted) {
		t.Errorf("without an identity: %v", err)
	}
	if _, err := Read(t.Context(), bytes.NewReader(raw), 0, id); err == nil || !strings.Contains(err.Error(), "the record of the device") {
		t.Errorf("with it: %v", err)
	}
	if _, err := Read(t.Context(), bytes.NewReader(raw[:len(raw)-1]), 0, id); !errors.Is(err, ErrDamaged) {
		t.Errorf("cut off: %v", err)
	}
}

// TestFileThatNeedsTooMuchMemoryIsRejected: either long lines, or many short lines that
// need much memory once decoded.
func TestFileThatNeedsTooMuchMemoryIsRejected(t *testing.T) {
	const most = 1 << 20
	for what, l := range map[string]string{
		"contacts": `{"contact":{}}`,
		"messages": `{"message":{"message":0}}`,
		"updates":  `{"message":{"message":0,"updates":[` + strings.Repeat(`{},`, 10_000) + `{}]}}`,
		"nothing":  `{}`,
		"texts":    `{"message":{"message":"` + strings.Repeat("x", 100_000) + `"}}`,
	} {
		file := `{"head":{"kind":"postern account","format":1}}` + "\n" + strings.Repeat(l+"\n", 5000)
		taken := &counting{r: strings.NewReader(file)}
		if _, err := Read(t.Context(), taken, most); !errors.Is(err, ErrTooLarge) {
			t.Errorf("%s: %v", what, err)
		}
		if taken.n > 2*most {
			t.Errorf("%s: %d bytes were read", what, taken.n)
		}
	}
	if _, err := Read(t.Context(), bytes.NewReader(written(t)), most); errors.Is(err, ErrTooLarge) {
		t.Error("a small file is rejected, too")
	}
}

type counting struct {
	r io.Reader
	n int
}

func (c *counting) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += n
	return n, err
}
