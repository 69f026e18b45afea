package whatsapp

import (
	"errors"
	"os"
	"strings"
	"testing"

	"postern/event"
)

func TestMissingFileComesFromThePhone(t *testing.T) {
	const text = "kept by the phone"
	r := newRigWith(t, Config{Media: newFiles(t, text)})
	own := r.pair()
	ada := r.contact()
	ask := func(body string) event.Message {
		r.ask(ada, body)
		f := r.await("the file from Ada", func(f event.Fact) bool {
			_, ok := f.Data.(*event.Message)
			return ok && f.Kind == event.MessagesUpsert
		})
		return *f.Data.(*event.Message)
	}
	got := ask(`{"do":"image","to":"` + own.Number() + `","caption":"from Ada"}`)
	for name, m := range map[string]event.Message{
		"sent": r.sentFile(event.MediaDocument), "sent with a wrapper": r.sentFile(event.MediaVideo), "received": got,
	} {
		r.net.ForgetMedia(field(t, m.Content, "directPath"))
		for range 2 { // what is stored still names the old path
			f := emptyFile(t)
			if err := r.session.Account.Files.Download(t.Context(), m, f, 1<<20); err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			content, err := os.ReadFile(f.Name())
			if err != nil || strings.HasPrefix(name, "sent") && string(content) != text || len(content) == 0 {
				t.Errorf("%s: %q, %v", name, content, err)
			}
		}
	}
	if n := len(r.session.Account.Files.reuploads.waiting); n != 0 {
		t.Errorf("%d are still waited for", n)
	}
}

func TestAnUploadIsFetchedBackAsItWas(t *testing.T) {
	text := strings.Repeat("a picture ", 10)
	source := newFiles(t, text)
	r := newRigWith(t, Config{})
	r.pair()
	u, err := r.session.Account.Files.Upload(t.Context(), event.MediaFile{Path: source.path, MediaInfo: event.MediaInfo{Kind: event.MediaImage}})
	must(t, err)
	f := emptyFile(t)
	must(t, r.session.Account.Files.Fetch(t.Context(), u, f, 100))
	if got, err := os.ReadFile(f.Name()); err != nil || string(got) != text {
		t.Errorf("%q, %v", got, err)
	}
	if err := r.session.Account.Files.Fetch(t.Context(), u, emptyFile(t), 1); !errors.Is(err, event.ErrMedia) {
		t.Errorf("too large: %v", err)
	}
	r.net.ForgetMedia(u.DirectPath)
	if err := r.session.Account.Files.Fetch(t.Context(), u, emptyFile(t), 100); !errors.Is(err, event.ErrMediaGone) {
		t.Errorf("gone: %v", err)
	}
}

func TestMissingGroupFileComesFromThePhone(t *testing.T) {
	c := newCircle(t)
	c.owner.ask(c.phone, `{"do":"media","kind":"document","to":"`+c.id+`","caption":"for all"}`)
	f := c.owner.await("the file in the group", message("for all"))
	m := *f.Data.(*event.Message)
	c.owner.net.ForgetMedia(field(t, m.Content, "directPath"))
	if err := c.owner.session.Account.Files.Download(t.Context(), m, emptyFile(t), 1<<20); err != nil {
		t.Error(err)
	}
}
