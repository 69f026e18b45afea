package sandbox

import (
	"bytes"
	"testing"

	"go.mau.fi/whatsmeow"
	"go.mau.fi/whatsmeow/proto/waE2E"
)

func TestEveryKindOfMediaDecrypts(t *testing.T) {
	s, _, _, c := withContacts(t)
	for _, test := range []struct{ fields, mediaType, mimetype string }{
		{`"do":"image"`, "image", "image/jpeg"},
		{`"do":"media","kind":"image"`, "image", "image/jpeg"},
		{`"do":"media","kind":"video"`, "video", "video/mp4"},
		{`"do":"media","kind":"gif"`, "gif", "video/mp4"},
		{`"do":"media","kind":"voice"`, "ptt", "audio/ogg; codecs=opus"},
		{`"do":"media","kind":"audio","mimetype":"audio/aac"`, "audio", "audio/aac"},
		{`"do":"media","kind":"document","fileName":"list.pdf"`, "document", "application/pdf"},
		{`"do":"media","kind":"sticker"`, "sticker", "image/webp"},
	} {
		id := does(t, s, anneNumber, `{`+test.fields+`,"to":"`+ownNumber+`"}`)["id"]
		m := wait(c, 1, hasID(id))
		if m.Info.Type != "media" || m.Info.MediaType != test.mediaType {
			t.Errorf("%s: type %q, media type %q", test.fields, m.Info.Type, m.Info.MediaType)
		}
		file := fileIn(m.Message)
		if file == nil || file.GetMimetype() != test.mimetype {
			t.Errorf("%s: %v", test.fields, m.Message)
			continue
		}
		if data, err := c.Download(t.Context(), file); err != nil || !bytes.Equal(data, greyJPEG()) {
			t.Errorf("%s: loaded %d bytes, %v", test.fields, len(data), err)
		}
	}
}

type mediaFile interface {
	whatsmeow.DownloadableMessage
	GetMimetype() string
}

// fileIn is the media of a message, nil when it has none.
func fileIn(m *waE2E.Message) mediaFile {
	switch {
	case m.GetImageMessage() != nil:
		return m.GetImageMessage()
	case m.GetVideoMessage() != nil:
		return m.GetVideoMessage()
	case m.GetAudioMessage() != nil:
		return m.GetAudioMessage()
	case m.GetDocumentMessage() != nil:
		return m.GetDocumentMessage()
	case m.GetStickerMessage() != nil:
		return m.GetStickerMessage()
	default:
		return nil
	}
}

func TestMediaHasTheGivenBytesOrSize(t *testing.T) {
	s, _, _, c := withContacts(t)
	id := does(t, s, anneNumber, `{"do":"media","kind":"document","to":"`+ownNumber+`","data":"aGVsbG8=","fileName":"a.txt","caption":"A","mimetype":"text/plain"}`)["id"]
	d := wait(c, 1, hasID(id)).Message.GetDocumentMessage()
	data, err := c.Download(t.Context(), d)
	if err != nil || string(data) != "hello" || d.GetFileName() != "a.txt" || d.GetCaption() != "A" || d.GetMimetype() != "text/plain" || d.GetFileLength() != 5 {
		t.Errorf("document %v with %q, %v", d, data, err)
	}
	id = does(t, s, anneNumber, `{"do":"media","kind":"video","to":"`+ownNumber+`","size":1000000,"caption":"B"}`)["id"]
	v := wait(c, 1, hasID(id)).Message.GetVideoMessage()
	if data, err = c.Download(t.Context(), v); err != nil || len(data) != 1_000_000 || v.GetCaption() != "B" || v.GetFileLength() != 1_000_000 {
		t.Errorf("video %v with %d bytes, %v", v, len(data), err)
	}
}
