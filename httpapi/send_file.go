package httpapi

import (
	"errors"
	"os"
	"slices"
	"strings"

	"postern/event"
	"postern/httpapi/strict"
	"postern/media"
)

// targetFields are the fields of a form that sendTarget has in JSON. options
// is the JSON object itself; its fields may stand in the form too.
func targetFields(more ...string) []string {
	return slices.Concat([]string{"number", "chat", "recipient", "options"}, optionFields(), more)
}

func optionFields() []string {
	return []string{"delay", "presence", "quotedMessageId", "quotedMessage", "mentionAll", "externalAttributes"}
}

func (f form) target() (*sendTarget, error) {
	t := &sendTarget{oneRecipient: oneRecipient{f.filled("number"), f.filled("chat"), f.filled("recipient")}}
	nested, err := f.json("options", &t.Options)
	if err != nil || nested {
		return t, errors.Join(err, f.withoutOptions())
	}
	return t, f.options(&t.Options)
}

// withoutOptions fails when a form with options has one of them beside it too.
func (f form) withoutOptions() error {
	for _, name := range optionFields() {
		if f.fields[name] != "" {
			return &strict.Error{Code: codeDuplicateField, Path: name, Text: "stands in options, or beside it, but not both in one form"}
		}
	}
	return nil
}

// options reads the options that stand in the form itself. Empty fields are none:
// tools for forms send all that they know of.
func (f form) options(o *sendOptions) (err error) {
	if o.Delay, err = f.number("delay"); err != nil {
		return err
	}
	if o.MentionAll, err = f.flag("mentionAll"); err != nil {
		return err
	}
	o.Presence = event.Presence(f.fields["presence"])
	if id := f.fields["quotedMessageId"]; id != "" && id != "0" {
		o.QuotedMessageID = quotedRef{messageRef{keyID: id}}
	}
	var quoted quotedMessage
	if given, err := f.json("quotedMessage", &quoted); err != nil {
		return err
	} else if given {
		o.QuotedMessage = &quoted
	}
	o.ExternalAttributes, err = f.object("externalAttributes")
	return err
}

// object is a field that is any JSON object, nil when it is absent or empty.
func (f form) object(name string) (*strict.Object, error) {
	text := f.fields[name]
	if text == "" {
		return nil, nil
	}
	o, err := strict.ReadObject(strings.NewReader(text))
	if err != nil {
		return nil, strict.Under(err, name)
	}
	return &o, nil
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
	file, err := a.prepare(c, f, m)
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

func (a *api) prepare(c *call, f form, m event.Media) (event.MediaFile, error) {
	return a.Media.Prepare(c.r.Context(), f.path, media.Wish{Instance: c.instance.ID, Kind: m.Kind, FileName: m.FileName, MimeType: m.MimeType})
}
