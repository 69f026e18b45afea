package sends

import (
	"fmt"

	"postern/event"
	"postern/httpapi/rest"
	"postern/media"
)

// inlineFields are the fields of sends that may be a file in base64 instead of its URL.
func inlineFields() []string { return []string{"media", "audio", "sticker"} }

// decode reads the body of a send, which may have so many files in it.
func (a *API) decode(c *rest.Call, v any, files int) (*rest.Inline, error) {
	return c.DecodeWithFiles(v, rest.InlineRules{Fields: inlineFields(), Files: files, Max: a.MaxInline, Spool: a.Media.Spool})
}

// attach prepares the files of a body for the content that names them. The caller calls detach.
func (a *API) attach(c *rest.Call, files *rest.Inline, content event.Content) error {
	for i, m := range content.Files() {
		path := files.Path(m.URL)
		if path == "" {
			continue
		}
		file, err := a.Media.Prepare(c.Request.Context(), path, media.Of(c.Instance.ID, *m))
		if err != nil {
			detach(content)
			if content.Album != nil {
				err = fmt.Errorf("items[%d]: %w", i, err)
			}
			return err
		}
		m.URL, m.File = "", &file
	}
	return nil
}

// detach removes the prepared files of a content.
func detach(content event.Content) {
	for _, m := range content.Files() {
		if m.File != nil {
			media.Remove(*m.File)
		}
	}
}
