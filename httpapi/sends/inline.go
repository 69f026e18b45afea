package sends

import (
	"errors"
	"fmt"
	"io"
	"os"

	"postern/event"
	"postern/httpapi/ref"
	"postern/httpapi/rest"
	"postern/media"
)

// inlineFields are the fields of sends that may be a file in base64 instead of its URL.
func inlineFields() []string {
	return []string{"mediaMessage.media", "audioMessage.audio", "stickerMessage.sticker", "statusMessage.media", "albumMessage.items[].media"}
}

// decode reads the body of a send, which may have so many files in it.
func (a *API) decode(c *rest.Call, v any, files int) (*rest.Inline, error) {
	return c.DecodeWithFiles(v, rest.InlineRules{Fields: inlineFields(), Files: files, Max: a.MaxInline, Spool: a.Media.Spool})
}

// mayReach refuses a send of a stored message's file to somebody whom the key may not write to, before the file is
// fetched.
func mayReach(c *rest.Call, t *sendTarget, content event.Content) error {
	for _, m := range content.Files() {
		if m.Message == "" {
			continue
		}
		to, err := t.Destination()
		if err != nil {
			return err
		}
		return c.MayWriteTo(to.JID())
	}
	return nil
}

// attach prepares the files of a body for the content that names them. The caller calls detach.
func (a *API) attach(c *rest.Call, files *rest.Inline, content event.Content) error {
	for i, m := range content.Files() {
		path, err := files.Path(m.URL), error(nil)
		if m.Message != "" {
			path, err = a.fileOfStored(c, m)
		}
		if path == "" && err == nil {
			continue
		}
		var file event.MediaFile
		if err == nil {
			file, err = a.Media.Prepare(c.Request.Context(), path, media.Of(c.Instance.ID, *m))
		}
		if err != nil {
			detach(content)
			if content.Album != nil {
				err = fmt.Errorf("items[%d]: %w", i, err)
			}
			return err
		}
		m.URL, m.Message, m.File = "", "", &file
	}
	return nil
}

// fileOfStored copies the file of the stored message that a send names, and returns its path.
func (a *API) fileOfStored(c *rest.Call, m *event.Media) (path string, err error) {
	if err := c.MayUseUploads(m); err != nil {
		return "", err
	}
	stored, err := ref.FindByText(a.Messages, c.Instance.ID, string(m.Message))
	if err != nil {
		return "", err
	}
	about, err := fileOf(stored)
	if err != nil {
		return "", err
	}
	if m.FileName == "" {
		m.FileName = about.FileName
	}
	file, err := a.Media.Create()
	if err != nil {
		return "", err
	}
	if m.Hosted, err = a.fetchStored(c, stored, file); err != nil {
		closeSpooled(file)
		return "", err
	}
	return file.Name(), file.Close()
}

// fetchStored copies the file of a stored message: that at WhatsApp, which it returns, or one that is kept here, or
// that of the account's phone.
func (a *API) fetchStored(c *rest.Call, m event.Message, to *os.File) (*event.Uploaded, error) {
	ctx := c.Request.Context()
	account, err := a.Supervisor.Account(ctx, c.Instance.ID)
	if err != nil {
		return nil, err
	}
	hosted, err := account.DownloadHosted(ctx, m, to, a.MaxMedia)
	if err == nil {
		return &hosted, nil
	}
	if kept, ok := a.OpenKept(ctx, c.Instance.ID, m.ID); ok {
		defer func() { _ = kept.Close() }()
		return nil, replace(to, kept)
	}
	if !errors.Is(err, event.ErrMediaGone) {
		return nil, err
	}
	return nil, account.Download(ctx, m, to, a.MaxMedia)
}

// replace makes content that of a file.
func replace(to *os.File, content io.Reader) error {
	err := to.Truncate(0)
	if err == nil {
		_, err = to.Seek(0, io.SeekStart)
	}
	if err == nil {
		_, err = io.Copy(to, content)
	}
	if err != nil {
		return fmt.Errorf("copy a kept file: %w", err)
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
