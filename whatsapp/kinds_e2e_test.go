package whatsapp

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.mau.fi/whatsmeow/proto/waE2E"
	"google.golang.org/protobuf/proto"

	"postern/event"
	"postern/sandbox"
)

// files is a source of one file that counts its calls.
type files struct {
	path  string
	info  event.MediaInfo
	fail  error
	opens int
}

func (f *files) Open(_ context.Context, _ int64, m *event.Media) (event.MediaSource, error) {
	f.opens++
	info := f.info
	info.Kind = m.Kind
	return event.MediaSource{File: &event.MediaFile{Path: f.path, MediaInfo: info}, Close: func() {}}, f.fail
}

func (f *files) Create() (*os.File, error) { return os.CreateTemp(filepath.Dir(f.path), "spooled") }

func (f *files) Preview(context.Context, int64, string) (event.MediaInfo, error) {
	return event.MediaInfo{Width: 72, Height: 48, Thumbnail: []byte("jpeg")}, f.fail
}

func (f *files) Page(context.Context, int64, string) (event.LinkPreview, error) {
	return event.LinkPreview{}, errors.New("no page is served here")
}

func newFiles(t *testing.T, content string) *files {
	t.Helper()
	f := &files{path: filepath.Join(t.TempDir(), "file"), info: event.MediaInfo{
		MimeType: "x/y", FileName: "f.bin", Width: 160, Height: 120, Seconds: 7, Waveform: []byte{1, 2}, Thumbnail: []byte("small"),
	}}
	if err := os.WriteFile(f.path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return f
}

// sends sends content and returns what the other phone decrypted.
func (r *rig) sends(to *sandbox.Phone, out event.Outgoing) *waE2E.Message {
	r.t.Helper()
	out.ID = NewMessageID()
	if out.To == "" {
		out.To = to.JID().String()
	}
	if _, err := r.session.Send(r.t.Context(), out); err != nil {
		r.t.Fatal(err)
	}
	return r.received(to, out.ID).Message
}

func (r *rig) received(by *sandbox.Phone, id string) sandbox.Received {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), patience)
	defer cancel()
	got, err := by.WaitReceived(ctx, func(m sandbox.Received) bool { return m.ID == id })
	if err != nil {
		r.t.Fatal(err)
	}
	return got
}

func TestRecipientDecryptsEveryKindOfContent(t *testing.T) {
	source := newFiles(t, strings.Repeat("bread ", 10_000))
	r := newRigWith(t, Config{Media: source})
	r.pair()
	phone := r.contact()
	earlier := r.sends(phone, event.Outgoing{Content: event.Content{Text: &event.TextContent{Text: "earlier"}}})
	if earlier.GetConversation() != "earlier" {
		t.Fatalf("got %v", earlier)
	}
	key := event.MessageKey{RemoteJID: phone.JID().String(), ID: "3EB0EARLIER", FromMe: true}
	media := func(k event.MediaKind) event.Content {
		return event.Content{Media: &event.Media{Kind: k, Caption: "fresh", FileName: "list.pdf"}}
	}
	for name, c := range map[string]struct {
		content event.Content
		check   func(*waE2E.Message) bool
	}{
		"link": {event.Content{Link: &event.LinkContent{Link: "https://example.com/a", Title: "A", ThumbnailURL: "https://example.com/t"}}, func(m *waE2E.Message) bool {
			x := m.GetExtendedTextMessage()
			return x.GetText() == "https://example.com/a" && x.GetMatchedText() == x.GetText() && x.GetTitle() == "A" && string(x.GetJPEGThumbnail()) == "jpeg"
		}},
		"contact": {event.Content{Contacts: []event.ContactContent{{FullName: "Baker; Anne", PhoneNumber: "+49 151 55500004", Organization: "Mill, Ltd"}}}, func(m *waE2E.Message) bool {
			card := m.GetContactMessage().GetVcard()
			return strings.Contains(card, `FN:Baker\; Anne`) && strings.Contains(card, "waid=4915155500004:+4915155500004") && strings.Contains(card, `ORG:Mill\, Ltd;`)
		}},
		"contacts": {event.Content{Contacts: []event.ContactContent{{FullName: "A", VCard: "BEGIN:VCARD\nEND:VCARD"}, {FullName: "B", WUID: "4915155500004"}}}, func(m *waE2E.Message) bool {
			all := m.GetContactsArrayMessage().GetContacts()
			return len(all) == 2 && all[0].GetVcard() == "BEGIN:VCARD\nEND:VCARD" && all[1].GetDisplayName() == "B"
		}},
		"location": {event.Content{Location: &event.LocationContent{Latitude: -52.5, Longitude: 13.25, Name: "Shop", URL: "https://example.com"}}, func(m *waE2E.Message) bool {
			l := m.GetLocationMessage()
			return l.GetDegreesLatitude() == -52.5 && l.GetDegreesLongitude() == 13.25 && l.GetName() == "Shop" && l.GetURL() == "https://example.com" && l.Address == nil
		}},
		"reaction": {event.Content{Reaction: &event.ReactionContent{Key: key, Reaction: "👍"}}, func(m *waE2E.Message) bool {
			x := m.GetReactionMessage()
			return x.GetText() == "👍" && x.GetKey().GetID() == "3EB0EARLIER" && x.GetKey().GetFromMe()
		}},
		"reaction to a message of the other side": {event.Content{Reaction: &event.ReactionContent{Key: event.MessageKey{RemoteJID: phone.JID().String(), ID: "THEIRS"}, Reaction: ""}}, func(m *waE2E.Message) bool {
			x := m.GetReactionMessage()
			return x.GetText() == "" && x.GetKey().GetID() == "THEIRS" && !x.GetKey().GetFromMe()
		}},
		"poll": {event.Content{Poll: &event.PollContent{Name: "When?", Options: []string{"Mo", "Tu"}, SelectableCount: 1}}, func(m *waE2E.Message) bool {
			p := m.GetPollCreationMessage()
			if p == nil {
				p = m.GetPollCreationMessageV3()
			}
			return p.GetName() == "When?" && len(p.GetOptions()) == 2 && p.GetSelectableOptionsCount() == 1 && len(m.GetMessageContextInfo().GetMessageSecret()) == 32
		}},
		"delete for everyone": {event.Content{Delete: &key}, func(m *waE2E.Message) bool {
			p := m.GetProtocolMessage()
			return p.GetType() == waE2E.ProtocolMessage_REVOKE && p.GetKey().GetID() == "3EB0EARLIER"
		}},
		"edit": {event.Content{Edit: &event.EditContent{Original: event.Original{Key: key, MessageType: "conversation", Content: []byte(`{"text":"old"}`)}, Text: "new"}}, func(m *waE2E.Message) bool {
			p := m.GetEditedMessage().GetMessage().GetProtocolMessage()
			return p.GetKey().GetID() == "3EB0EARLIER" && p.GetEditedMessage().GetConversation() == "new"
		}},
		"edit of a caption": {event.Content{Edit: &event.EditContent{Original: event.Original{Key: key, MessageType: "imageMessage", Content: []byte(`{"url":"https://x/y","fileLength":"12","caption":"old"}`)}, Text: "new"}}, func(m *waE2E.Message) bool {
			x := m.GetEditedMessage().GetMessage().GetProtocolMessage().GetEditedMessage().GetImageMessage()
			return x.GetCaption() == "new" && x.GetURL() == "https://x/y" && x.GetFileLength() == 12
		}},
		"forward": {event.Content{Forward: &event.Original{MessageType: "extendedTextMessage", Content: []byte(`{"text":"pass on","contextInfo":{"stanzaId":"OLD","forwardingScore":3,"quotedMessage":{"conversation":"secret"}}}`)}}, func(m *waE2E.Message) bool {
			x := m.GetExtendedTextMessage()
			c := x.GetContextInfo()
			return x.GetText() == "pass on" && c.GetIsForwarded() && c.GetForwardingScore() == 4 && c.QuotedMessage == nil && c.StanzaID == nil
		}},
		"forwarded plain text": {event.Content{Forward: &event.Original{MessageType: "conversation", Content: []byte(`{"text":"plain"}`)}}, func(m *waE2E.Message) bool {
			return m.GetExtendedTextMessage().GetText() == "plain" && m.GetExtendedTextMessage().GetContextInfo().GetIsForwarded()
		}},
		"image": {media(event.MediaImage), func(m *waE2E.Message) bool {
			x := m.GetImageMessage()
			return r.holds(x, source) && x.GetCaption() == "fresh" && x.GetWidth() == 160 && x.GetHeight() == 120 && string(x.GetJPEGThumbnail()) == "small" && x.GetMimetype() == "x/y" && x.GetFileLength() == 60_000
		}},
		"video": {media(event.MediaVideo), func(m *waE2E.Message) bool {
			x := m.GetVideoMessage()
			return r.holds(x, source) && x.GetCaption() == "fresh" && x.GetSeconds() == 7 && x.GetHeight() == 120
		}},
		"round video note": {media(event.MediaPTV), func(m *waE2E.Message) bool {
			return r.holds(m.GetPtvMessage(), source) && m.GetPtvMessage().GetCaption() == "fresh"
		}},
		"audio": {media(event.MediaAudio), func(m *waE2E.Message) bool {
			return r.holds(m.GetAudioMessage(), source) && !m.GetAudioMessage().GetPTT() && m.GetAudioMessage().GetSeconds() == 7
		}},
		"voice": {media(event.MediaVoice), func(m *waE2E.Message) bool {
			return r.holds(m.GetAudioMessage(), source) && m.GetAudioMessage().GetPTT() && len(m.GetAudioMessage().GetWaveform()) == 2
		}},
		"document": {media(event.MediaDocument), func(m *waE2E.Message) bool {
			x := m.GetDocumentWithCaptionMessage().GetMessage().GetDocumentMessage()
			return r.holds(x, source) && x.GetFileName() == "list.pdf" && x.GetCaption() == "fresh"
		}},
		"document without a caption": {event.Content{Media: &event.Media{Kind: event.MediaDocument}}, func(m *waE2E.Message) bool {
			return r.holds(m.GetDocumentMessage(), source) && m.GetDocumentMessage().GetFileName() == "f.bin"
		}},
		"sticker": {media(event.MediaSticker), func(m *waE2E.Message) bool { return r.holds(m.GetStickerMessage(), source) }},
		"view once": {event.Content{Media: &event.Media{Kind: event.MediaImage, ViewOnce: true}}, func(m *waE2E.Message) bool {
			x := m.GetViewOnceMessageV2().GetMessage().GetImageMessage()
			return r.holds(x, source) && x.GetViewOnce()
		}},
		"view-once voice": {event.Content{Media: &event.Media{Kind: event.MediaVoice, ViewOnce: true}}, func(m *waE2E.Message) bool {
			return m.GetViewOnceMessageV2Extension().GetMessage().GetAudioMessage().GetViewOnce()
		}},
	} {
		t.Run(name, func(t *testing.T) {
			if m := r.sends(phone, event.Outgoing{Content: c.content}); !c.check(m) {
				t.Errorf("the phone read %v", m)
			}
		})
	}
}

// file is a message that points to one.
type file interface {
	GetDirectPath() string
	GetMediaKey() []byte
	GetFileSHA256() []byte
	GetFileEncSHA256() []byte
}

// holds downloads and decrypts the file of a message and compares it.
func (r *rig) holds(m file, source *files) bool {
	r.t.Helper()
	withType, ok := m.(interface {
		file
		proto.Message
	})
	if !ok {
		r.t.Errorf("%T is no file", m)
		return false
	}
	got, err := r.session.conn.client().Download(r.t.Context(), withType)
	want, rerr := os.ReadFile(source.path)
	if err != nil || rerr != nil {
		r.t.Errorf("%v, %v", err, rerr)
		return false
	}
	return string(got) == string(want)
}

func TestAnAnswerQuotesWhatWasSaid(t *testing.T) {
	r := newRig(t)
	own := r.pair()
	phone := r.contact()
	quote := func(fromMe bool) *waE2E.ContextInfo {
		m := r.sends(phone, event.Outgoing{
			Content: event.Content{Text: &event.TextContent{Text: "yes"}},
			Quoted: &event.Original{
				Key:         event.MessageKey{RemoteJID: phone.JID().String(), ID: "QUESTION", FromMe: fromMe},
				MessageType: "conversation", Content: []byte(`{"text":"really?"}`),
			},
		})
		if m.GetExtendedTextMessage().GetText() != "yes" {
			t.Errorf("the phone read %v", m)
		}
		return m.GetExtendedTextMessage().GetContextInfo()
	}
	c := quote(false)
	if c.GetStanzaID() != "QUESTION" || c.GetQuotedMessage().GetConversation() != "really?" || c.GetParticipant() != phone.JID().String() {
		t.Errorf("quoted %v", c)
	}
	if c := quote(true); c.GetParticipant() != own.JID().String() {
		t.Errorf("quoted %v", c)
	}
}

func TestAnUploadOfABatchIsMadeOnce(t *testing.T) {
	source := newFiles(t, "once")
	r := newRigWith(t, Config{Media: source})
	r.pair()
	content := event.Content{Media: &event.Media{Kind: event.MediaImage, URL: "https://example.com/a.jpg", Shared: true}}
	first := r.sends(r.contact(), event.Outgoing{Content: content}).GetImageMessage()
	second := r.sends(r.contact(), event.Outgoing{Content: content}).GetImageMessage()
	if source.opens != 1 || first.GetDirectPath() == "" || first.GetDirectPath() != second.GetDirectPath() {
		t.Errorf("opened %d times: %q, %q", source.opens, first.GetDirectPath(), second.GetDirectPath())
	}
	content.Media.Shared = false
	r.sends(r.contact(), event.Outgoing{Content: content})
	if source.opens != 2 {
		t.Errorf("opened %d times", source.opens)
	}
}

func TestUnavailableMediaIsRefused(t *testing.T) {
	source := newFiles(t, "x")
	source.fail = event.ErrMedia
	r := newRigWith(t, Config{Media: source})
	r.pair()
	phone := r.contact()
	for _, content := range []event.Content{
		{Media: &event.Media{Kind: event.MediaImage, URL: "https://example.com/a.jpg"}},
		{Link: &event.LinkContent{Link: "https://example.com", ThumbnailURL: "https://example.com/a.jpg"}},
	} {
		_, err := r.session.Send(t.Context(), event.Outgoing{ID: NewMessageID(), To: phone.JID().String(), Content: content})
		if !errors.Is(err, event.ErrMedia) || !errors.Is(err, event.ErrSendRefused) {
			t.Errorf("got %v", err)
		}
	}
}

// TestOversizedMessageIsRefused: the network would drop the connection, and everything
// else under way.
func TestOversizedMessageIsRefused(t *testing.T) {
	r := newRig(t)
	r.pair()
	phone := r.contact()
	quoting := func(n int) event.Outgoing {
		return event.Outgoing{
			ID: NewMessageID(), To: phone.JID().String(), Content: event.Content{Text: &event.TextContent{Text: "yes"}},
			Quoted: &event.Original{
				Key:         event.MessageKey{RemoteJID: phone.JID().String(), ID: "QUESTION"},
				MessageType: "conversation", Content: []byte(`{"text":"` + strings.Repeat("x", n) + `"}`),
			},
		}
	}
	if _, err := r.session.Send(t.Context(), quoting(maxMessage)); !errors.Is(err, event.ErrSendRefused) || !r.session.Online() {
		t.Errorf("got %v, online %v", err, r.session.Online())
	}
	fits := quoting(maxMessage - 1000)
	if _, err := r.session.Send(t.Context(), fits); err != nil {
		t.Error(err)
	}
	r.received(phone, fits.ID)
}
