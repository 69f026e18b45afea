package whatsapp

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"postern/event"
	"postern/sandbox/network"
	"postern/store"
)

func emptyFile(t *testing.T) *os.File {
	t.Helper()
	f, err := os.Create(filepath.Join(t.TempDir(), "download"))
	must(t, err)
	t.Cleanup(func() { _ = f.Close() })
	return f
}

// sentFile is a message with a file that the rig sent.
func (r *rig) sentFile(kind event.MediaKind) event.Message {
	r.t.Helper()
	out := event.Outgoing{ID: NewMessageID(), To: r.contact().JID().String(), Content: event.Content{Media: &event.Media{Kind: kind, Caption: "fresh"}}}
	sent, err := r.session.Send(r.t.Context(), out)
	if err != nil {
		r.t.Fatal(err)
	}
	return *sent.Message
}

func TestDownloadReturnsTheSentFile(t *testing.T) {
	const text = "the whole file"
	r := newRigWith(t, Config{Media: newFiles(t, text)})
	r.pair()
	for _, kind := range []event.MediaKind{
		event.MediaImage, event.MediaVideo, event.MediaPTV, event.MediaAudio, event.MediaVoice, event.MediaDocument, event.MediaSticker,
	} {
		f := emptyFile(t)
		must(t, r.session.Account.Files.Download(t.Context(), r.sentFile(kind), f, int64(len(text))))
		if got, err := os.ReadFile(f.Name()); err != nil || string(got) != text {
			t.Errorf("%s: %q, %v", kind, got, err)
		}
	}
}

func TestADownloadSaysWhyThereIsNoFile(t *testing.T) {
	r := newRigWith(t, Config{Media: newFiles(t, strings.Repeat("bread ", 1000))})
	r.pair()
	m := r.sentFile(event.MediaImage)
	with := func(old, changed string) event.Message {
		x := m
		x.Content = bytes.Replace(m.Content, []byte(old), []byte(changed), 1)
		if bytes.Equal(x.Content, m.Content) {
			t.Fatalf("%s is not in %s", old, m.Content)
		}
		return x
	}
	gone := r.sentFile(event.MediaImage)
	r.net.LoseMedia(field(t, gone.Content, "directPath"))
	unanswered := gone
	unanswered.KeyID = "a message that the phone does not know"
	for name, c := range map[string]struct {
		m     event.Message
		limit int64
		want  error
	}{
		"no media":                       {event.Message{MessageType: "conversation", Content: []byte(`{"text":"x"}`)}, 1 << 20, event.ErrNoMedia},
		"an unknown type":                {event.Message{MessageType: "breadMessage", Content: []byte(`{}`)}, 1 << 20, event.ErrNoMedia},
		"content that is no object":      {event.Message{MessageType: "imageMessage", Content: []byte(`[]`)}, 1 << 20, event.ErrNoMedia},
		"no path":                        {with(`"directPath"`, `"x"`), 1 << 20, event.ErrNoMedia},
		"gone, also on the phone":        {gone, 1 << 20, event.ErrMediaGone},
		"gone, and the phone is silent":  {unanswered, 1 << 20, event.ErrMediaGone},
		"too large, as it says":          {m, 5999, event.ErrMedia},
		"too large, which it denies":     {with(`"fileLength":"6000"`, `"fileLength":"1"`), 5000, event.ErrMedia},
		"another file than it says":      {with(`"fileSha256":"`+field(t, m.Content, "fileSha256"), `"fileSha256":"`+field(t, m.Content, "fileEncSha256")), 1 << 20, event.ErrMedia},
		"a key that does not open it":    {with(`"mediaKey":"`+field(t, m.Content, "mediaKey"), `"mediaKey":"`+field(t, m.Content, "fileSha256")), 1 << 20, event.ErrMedia},
		"no key, though it is encrypted": {with(`"mediaKey"`, `"x"`), 1 << 20, event.ErrMedia},
	} {
		if err := r.session.Account.Files.Download(t.Context(), c.m, emptyFile(t), c.limit); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
	r.session.Disconnect()
	if err := r.session.Account.Files.Download(t.Context(), m, emptyFile(t), 1<<20); !errors.Is(err, event.ErrNotConnected) {
		t.Errorf("not connected: %v", err)
	}
}

func TestDownloadToAFullDisk(t *testing.T) {
	for cause, want := range map[error]error{
		syscall.ENOSPC: store.ErrDiskFull, syscall.EDQUOT: store.ErrDiskFull, syscall.EFBIG: store.ErrDiskFull, syscall.EIO: syscall.EIO,
	} {
		err := classifyDownload(fmt.Errorf("copy: %w", &os.PathError{Op: "write", Path: "/spool/x", Err: cause}))
		if !errors.Is(err, want) || errors.Is(err, event.ErrRefused) {
			t.Errorf("%v: %v", cause, err)
		}
	}
}

// TestOutageOfFilesIsNoBrokenFile: after its attempts the library reports a file of another
// hash, which would be given up for good.
func TestOutageOfFilesIsNoBrokenFile(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("waits for seconds")
	}
	const text = "the whole file"
	r := newRigWith(t, Config{Media: newFiles(t, text)})
	r.pair()
	m := r.sentFile(event.MediaImage)
	r.net.SetFaults(network.Faults{MediaError: http.StatusServiceUnavailable})
	_, err := r.session.Account.Files.DownloadHosted(t.Context(), m, emptyFile(t), 1<<20)
	if !errors.Is(err, event.ErrNoAnswer) || errors.Is(err, event.ErrMedia) {
		t.Errorf("%v", err)
	}
	r.net.SetFaults(network.Faults{})
	_, err = r.session.Account.Files.DownloadHosted(t.Context(), m, emptyFile(t), 1<<20)
	must(t, err)
}

// TestFailingDiskIsNoBrokenFile, and no failure of the network, which would be tried again.
func TestFailingDiskIsNoBrokenFile(t *testing.T) {
	r := newRigWith(t, Config{Media: newFiles(t, "the whole file")})
	r.pair()
	m, f := r.sentFile(event.MediaImage), emptyFile(t)
	readOnly, err := os.Open(f.Name())
	must(t, err)
	defer readOnly.Close()
	begun := time.Now()
	_, err = r.session.Account.Files.DownloadHosted(t.Context(), m, readOnly, 1<<20)
	if !isDiskError(err) || errors.Is(err, event.ErrMedia) || r.net.MediaRefused() > 0 || time.Since(begun) > 10*time.Second {
		t.Errorf("%v after %v", err, time.Since(begun))
	}
}

// field is a text of a content.
func field(t *testing.T, content []byte, name string) string {
	t.Helper()
	_, rest, found := strings.Cut(string(content), fmt.Sprintf(`"%s":"`, name))
	value, _, _ := strings.Cut(rest, `"`)
	if !found {
		t.Fatalf("no %s in %s", name, content)
	}
	return value
}

func TestDownloadUsesLittleMemory(t *testing.T) {
	const size = 24 << 20
	r := newRigWith(t, Config{Media: newFiles(t, strings.Repeat("x", size))})
	r.pair()
	m, f := r.sentFile(event.MediaDocument), emptyFile(t)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	must(t, r.session.Account.Files.Download(t.Context(), m, f, size))
	runtime.ReadMemStats(&after)
	// The sandbox serves it from memory that it has, through TLS, in this process too.
	if used := after.TotalAlloc - before.TotalAlloc; used > size/2 {
		t.Errorf("%d bytes were allocated for a file of %d", used, size)
	}
	if info, err := f.Stat(); err != nil || info.Size() != size {
		t.Errorf("%v, %v", info, err)
	}
}
