package httpapi

import (
	"context"
	"os"
	"strings"

	"postern/event"
	"postern/media"
)

// targetFields are the fields of a form that sendTarget has in JSON. options
// is the JSON object itself.
func targetFields(more ...string) []string {
	return append([]string{"number", "chat", "recipient", "options"}, more...)
}

func (f form) target() (*sendTarget, error) {
	t := &sendTarget{Number: f.given("number"), Chat: f.given("chat"), Recipient: f.given("recipient")}
	options, ok := f.fields["options"]
	if !ok {
		return t, nil
	}
	return t, under(decodeStrict(strings.NewReader(options), &t.Options), "options")
}

// sendMediaFile sends the file of a multipart body.
func (a *api) sendMediaFile(c *call) error {
	return a.sendFile(c, targetFields("mediaType", "caption", "fileName", "mimetype", "viewOnce"), func(f form) (event.Media, error) {
		kind, err := f.mediaType()
		if err != nil {
			return event.Media{}, err
		}
		once, err := f.flag("viewOnce")
		m := event.Media{
			Kind: kind, FileName: firstGiven(f.given("fileName"), &f.fileName),
			Caption: f.fields["caption"], MimeType: f.fields["mimetype"], ViewOnce: once,
		}
		if err == nil {
			err = m.Check()
		}
		return m, err
	})
}

// sendVoiceFile sends the voice note of a multipart body.
func (a *api) sendVoiceFile(c *call) error {
	return a.sendFile(c, targetFields("viewOnce"), func(f form) (event.Media, error) {
		once, err := f.flag("viewOnce")
		return event.Media{Kind: event.MediaVoice, ViewOnce: once}, err
	})
}

// sendStickerFile sends the sticker of a multipart body.
func (a *api) sendStickerFile(c *call) error {
	return a.sendFile(c, targetFields(), func(form) (event.Media, error) { return event.Media{Kind: event.MediaSticker}, nil })
}

func (a *api) sendFile(c *call, known []string, read func(form) (event.Media, error)) error {
	f, err := c.readForm(a.Media.Spool, a.MaxMedia, known...)
	if err != nil {
		return err
	}
	// From here on the library has the file.
	m, t, err := readMedia(f, read)
	if err != nil {
		_ = os.Remove(f.path)
		return err
	}
	file, err := a.prepare(c.r.Context(), f, m)
	if err != nil {
		return err
	}
	defer media.Remove(file)
	m.File = &file
	return a.sendContent(c, t, event.Content{Media: &m})
}

func readMedia(f form, read func(form) (event.Media, error)) (event.Media, *sendTarget, error) {
	t, err := f.target()
	if err != nil {
		return event.Media{}, nil, err
	}
	m, err := read(f)
	return m, t, err
}

func (a *api) prepare(ctx context.Context, f form, m event.Media) (event.MediaFile, error) {
	return a.Media.Prepare(ctx, f.path, media.Wish{Kind: m.Kind, FileName: m.FileName, MimeType: m.MimeType})
}
