package wire

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	waBinary "go.mau.fi/whatsmeow/binary"
	"go.mau.fi/whatsmeow/socket"
	"go.mau.fi/whatsmeow/types"
	"go.mau.fi/whatsmeow/util/keys"
)

// pieces is a frameSource that returns the stream in pieces of n bytes.
func pieces(stream []byte, n int) Source {
	return func(context.Context) ([]byte, error) {
		if len(stream) == 0 {
			return nil, io.EOF
		}
		piece := stream[:min(n, len(stream))]
		stream = stream[len(piece):]
		return piece, nil
	}
}

func TestFramesAreReadFromAnyPieces(t *testing.T) {
	stream := bytes.Clone(socket.WAConnHeader)
	for _, content := range []string{"first", "", "third"} {
		frame, err := PackFrame([]byte(content))
		if err != nil {
			t.Fatal(err)
		}
		stream = append(stream, frame...)
	}
	for n := 1; n <= len(stream); n++ {
		f := &FrameReader{next: pieces(stream, n)}
		if _, err := f.Preamble(t.Context()); err != nil {
			t.Fatalf("pieces of %d: %v", n, err)
		}
		for _, want := range []string{"first", "", "third"} {
			got, err := f.Frame(t.Context())
			if err != nil || string(got) != want {
				t.Fatalf("pieces of %d: frame %q, %v, want %q", n, got, err, want)
			}
		}
	}
}

func TestRoutingHeaderIsSkipped(t *testing.T) {
	stream := append([]byte("ED\x00\x01\x00\x00\x04"), 8, 8, 8, 5)
	stream = append(stream, socket.WAConnHeader...)
	for n := 1; n <= len(stream); n++ {
		f := &FrameReader{next: pieces(stream, n)}
		if got, err := f.Preamble(t.Context()); err != nil || !bytes.Equal(got, socket.WAConnHeader) {
			t.Fatalf("pieces of %d: %x, %v", n, got, err)
		}
	}
	long := &FrameReader{next: pieces([]byte("ED\x00\x01\xFF\xFF\xFF"), 7)}
	if _, err := long.Preamble(t.Context()); !errors.Is(err, errFrame) {
		t.Errorf("16 MiB header: %v", err)
	}
}

func TestHostileFramesAreRefused(t *testing.T) {
	huge := &FrameReader{next: pieces([]byte{0xFF, 0xFF, 0xFF, 1}, 4)}
	if _, err := huge.Frame(t.Context()); !errors.Is(err, errFrame) {
		t.Errorf("16 MiB frame: %v", err)
	}
	other := &FrameReader{next: pieces([]byte("GET / HTTP/1.1"), 100)}
	if _, err := other.Preamble(t.Context()); !errors.Is(err, errFrame) {
		t.Errorf("foreign protocol: %v", err)
	}
}

func TestHostileStanzasAreRefused(t *testing.T) {
	nested := bytes.Repeat([]byte{248, 2, 3, 248, 1}, 200)
	for name, frame := range map[string][]byte{
		"empty":                         {},
		"flag only":                     {0},
		"list longer than its bytes":    {0, 249, 255, 255, 3},
		"nested too deep":               append([]byte{0}, nested...),
		"tag that is a number of bytes": {0, 248, 1, 252},
		"tag that is no text":           {0, 248, 1, 0},
		"broken compression":            {2, 1, 2, 3},
	} {
		if n, err := Decode(frame); !errors.Is(err, errStanza) {
			t.Errorf("%s: %v, %v", name, n, err)
		}
	}
}

func TestDeepAndOverlongStanzasAreRejected(t *testing.T) {
	deep := waBinary.Node{Tag: "iq", Attrs: waBinary.Attrs{"id": "1"}}
	for range maxDepth {
		deep = waBinary.Node{Tag: "iq", Content: []waBinary.Node{deep}}
	}
	raw, err := Encode(deep)
	if err != nil {
		t.Fatal(err)
	}
	for want, frame := range map[string][]byte{
		"nested too deep": raw, "list of 65535 in 2 bytes": {0, 248, 2, 3, 249, 255, 255, 248, 1},
	} {
		if _, err := Decode(frame); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

func TestStanzasSurviveTheWire(t *testing.T) {
	jid := types.JID{User: "123", Server: types.HiddenUserServer, Device: 7}
	n := waBinary.Node{Tag: "message", Attrs: waBinary.Attrs{"id": "3A00", "to": jid}}
	n.Content = []waBinary.Node{{Tag: "enc", Attrs: waBinary.Attrs{"v": "2"}, Content: bytes.Repeat([]byte{1}, 70_000)}}
	raw, err := Encode(n)
	if err != nil {
		t.Fatal(err)
	}
	got, err := Decode(raw)
	if err != nil {
		t.Fatal(err)
	}
	inner := FirstChild(got)
	if got.Tag != "message" || JID(got, "to") != jid || Attr(&inner, "v") != "2" || len(Content(inner)) != 70_000 {
		t.Errorf("decoded %s with %d bytes", got.Tag, len(Content(inner)))
	}
}

func TestSilentClientTimesOut(t *testing.T) {
	const patience = 10 * time.Second
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		start := time.Now()
		f := &FrameReader{next: func(ctx context.Context) ([]byte, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}}
		if _, err := f.Preamble(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("silent client: %v", err)
		}
		if waited := time.Since(start); waited != patience {
			t.Errorf("waited %s", waited)
		}
	})
}

func FuzzDecodeStanza(f *testing.F) {
	raw, _ := Encode(waBinary.Node{Tag: "iq", Attrs: waBinary.Attrs{"id": "1", "xmlns": "usync", "type": "get", "to": types.ServerJID}})
	f.Add(raw)
	f.Add([]byte{0, 248, 2, 3, 248, 1})
	f.Add([]byte{2, 0x78, 0x9c})
	f.Fuzz(func(_ *testing.T, frame []byte) {
		if len(frame) <= maxFrame {
			_, _ = Decode(frame)
		}
	})
}

func FuzzFrames(f *testing.F) {
	f.Add([]byte("WA\x06\x03\x00\x00\x01x"), 3)
	f.Fuzz(func(t *testing.T, stream []byte, cut int) {
		r := &FrameReader{next: pieces(stream, max(cut, 1))}
		if _, err := r.Preamble(t.Context()); err != nil {
			return
		}
		for {
			if _, err := r.Frame(t.Context()); err != nil {
				return
			}
		}
	})
}

func FuzzHandshake(f *testing.F) {
	static := keys.NewKeyPair()
	f.Add([]byte{0x12, 0x22, 0x0a, 0x20}, []byte{0x22, 0})
	f.Add(append([]byte{0x12, 0x22, 0x0a, 0x20}, bytes.Repeat([]byte{9}, 32)...), []byte{})
	f.Fuzz(func(t *testing.T, hello, finish []byte) {
		r, err := NewResponder(socket.WAConnHeader, static)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := r.Hello(hello, []byte("certificate")); err != nil {
			return
		}
		if _, _, _, err := r.Finish(finish); err == nil {
			t.Error("a client without keys completed the handshake")
		}
	})
}
