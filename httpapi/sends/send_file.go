package sends

import (
	"errors"
	"os"
	"slices"
	"strings"

	"postern/event"
	"postern/httpapi/ref"
	"postern/httpapi/rest"
	"postern/httpapi/strict"
	"postern/media"
)

// targetFields are the form fields that correspond to sendTarget in JSON. options is the JSON object itself; its
// fields may also be fields of the form.
func targetFields(more ...string) []string {
	return slices.Concat([]string{"number", "chat", "recipient", "options"}, optionFields(), more)
}

func optionFields() []string {
	return []string{"delay", "presence", "quotedMessageId", "quotedMessage", "mentionAll", "externalAttributes", "sendAt", "lateMax"}
}

func targetOf(f rest.Form) (*sendTarget, error) {
	t := &sendTarget{OneRecipient: rest.OneRecipient{Number: f.Filled("number"), Chat: f.Filled("chat"), Recipient: f.Filled("recipient")}}
	nested, err := f.JSON("options", &t.Options)
	if err != nil || nested {
		return t, errors.Join(err, withoutOptions(f))
	}
	return t, formOptions(f, &t.Options)
}

// withoutOptions fails if a form with options also has one of their fields.
func withoutOptions(f rest.Form) error {
	for _, name := range optionFields() {
		if f.Fields[name] != "" {
			return &strict.Error{Code: rest.CodeDuplicateField, Path: name, Text: "stands in options, or beside it, but not both in one form"}
		}
	}
	return nil
}

// options reads the options that are fields of the form. Empty fields count as absent, because form tools send all
// fields that they know.
func formOptions(f rest.Form, o *sendOptions) (err error) {
	if o.Delay, err = f.Number("delay"); err != nil {
		return err
	}
	if o.MentionAll, err = f.Flag("mentionAll"); err != nil {
		return err
	}
	o.Presence = event.Presence(f.Fields["presence"])
	if id := f.Fields["quotedMessageId"]; id != "" && id != "0" {
		o.QuotedMessageID = ref.Quoted{Message: ref.Message{KeyID: id}}
	}
	var quoted quotedMessage
	if given, err := f.JSON("quotedMessage", &quoted); err != nil {
		return err
	} else if given {
		o.QuotedMessage = &quoted
	}
	o.SendAt = f.Fields["sendAt"]
	if f.Fields["lateMax"] != "" {
		lateMax, err := f.Number("lateMax")
		if err != nil {
			return err
		}
		o.LateMax = &lateMax
	}
	o.ExternalAttributes, err = formObject(f, "externalAttributes")
	return err
}

// object returns a field that is any JSON object, nil if it is absent or empty.
func formObject(f rest.Form, name string) (*strict.Object, error) {
	text := f.Fields[name]
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
func (a *API) sendMediaFile(c *rest.Call) error {
	return a.sendFile(c, targetFields(mediaFields()...), func(f rest.Form) (event.Media, error) {
		kind, err := f.MediaType()
		if err != nil {
			return event.Media{}, err
		}
		m := event.Media{
			Kind: kind, FileName: ref.FirstGiven(f.Given("fileName"), &f.FileName),
			Caption: f.Fields["caption"], MimeType: f.Fields["mimetype"],
		}
		if err := flags(f, &m); err != nil {
			return m, err
		}
		return m, m.Check()
	})
}

// sendVoiceFile sends the voice note of a multipart body.
func (a *API) sendVoiceFile(c *rest.Call) error {
	return a.sendFile(c, targetFields(voiceFields()...), func(f rest.Form) (event.Media, error) {
		m := event.Media{Kind: event.MediaVoice}
		return m, flags(f, &m)
	})
}

// The fields of the forms beside those of every send.
func mediaFields() []string {
	return []string{"mediaType", "caption", "fileName", "mimetype", "viewOnce", "gifPlayback", "convert"}
}
func voiceFields() []string   { return []string{"viewOnce", "convert"} }
func stickerFields() []string { return []string{"packName", "packPublisher"} }

// flags reads the flags of a file from its form.
func flags(f rest.Form, m *event.Media) (err error) {
	for name, to := range map[string]*bool{"viewOnce": &m.ViewOnce, "gifPlayback": &m.GIF, "convert": &m.Convert} {
		if *to, err = f.Flag(name); err != nil {
			return err
		}
	}
	return nil
}

// sendStickerFile sends the sticker of a multipart body.
func (a *API) sendStickerFile(c *rest.Call) error {
	return a.sendFile(c, targetFields(stickerFields()...), func(f rest.Form) (event.Media, error) {
		m := event.Media{Kind: event.MediaSticker, Pack: event.StickerPack{Name: f.Fields["packName"], Publisher: f.Fields["packPublisher"]}}
		return m, m.Pack.Check(false)
	})
}

func (a *API) sendFile(c *rest.Call, known []string, read func(rest.Form) (event.Media, error)) error {
	f, err := c.ReadForm(a.Media.Spool, a.MaxMedia, known...)
	if err != nil {
		return err
	}
	// From here on the library has the file.
	m, t, err := readMedia(f, read)
	if err != nil {
		_ = os.Remove(f.Path)
		return err
	}
	file, err := ref.PrepareFile(c, a.Media, f, m)
	if err != nil {
		return err
	}
	defer media.Remove(file)
	m.File = &file
	return a.sendContent(c, t, event.Content{Media: &m})
}

func readMedia(f rest.Form, read func(rest.Form) (event.Media, error)) (event.Media, *sendTarget, error) {
	t, err := targetOf(f)
	if err != nil {
		return event.Media{}, nil, err
	}
	m, err := read(f)
	return m, t, err
}
