package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"mime/multipart"
	"net/http"
	"net/url"
	"time"

	"filippo.io/age"
	"github.com/google/uuid"

	"postern/app"
	"postern/backup"
	"postern/config"
)

// notExported returns the error of an export without a file. The instance then connects
// here again, unless it had moved before.
func notExported(ctx context.Context, cfg *config.Config, log *slog.Logger, name string, done app.Exported, err error) error {
	if !done.Marked || errors.Is(err, backup.ErrLeft) {
		return err
	}
	if undo := app.UndoExport(context.WithoutCancel(ctx), cfg, log, name); undo != nil {
		return staysMarked(name, err, undo)
	}
	return fmt.Errorf("%w; nothing was exported, and %s has not moved", err, name)
}

func staysMarked(name string, err, undo error) error {
	return fmt.Errorf("%w; nothing was exported, but %s may stay marked as moved (%w): undo that with postern instance export --undo %s", err, name, undo, name)
}

// export makes a running program write the account of an instance to a file, and returns
// its size. Without a file, this export did not move the instance.
func (p program) export(ctx context.Context, name, path string, messages bool, recipients []string) (size int64, err error) {
	id := uuid.NewString()
	asked := false
	err = backup.WriteFile(path, func(w io.Writer) error {
		asked = true
		resp, err := p.askAs(ctx, http.MethodPost, instancePath(name)+"/export", id, map[string]any{"messages": messages, "recipients": recipients})
		if err != nil {
			return err
		}
		defer func() { _ = resp.Body.Close() }()
		if size, err = io.Copy(w, resp.Body); err != nil {
			return fmt.Errorf("the export from %s was truncated: %w", p.base, err)
		}
		return nil
	})
	r, answered := errors.AsType[*refused](err)
	if err == nil || !asked || answered && r.code != "" || errors.Is(err, backup.ErrLeft) {
		return size, err
	}
	return 0, p.lost(ctx, name, id, err)
}

// undoTimeout is how long a command waits for an undo, which waits for the end of
// the export.
const undoTimeout = 20 * time.Second

// lost undoes an export whose file was lost by err. The program may have done so
// itself; the mark of another export stays.
func (p program) lost(ctx context.Context, name, id string, err error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), undoTimeout)
	defer cancel()
	undo := p.undoExport(ctx, name, id)
	if r, ok := errors.AsType[*refused](undo); ok && r.code == "INSTANCE_NOT_MOVED" {
		return fmt.Errorf("%w; nothing was exported, and %s has not moved by this", err, name)
	}
	if undo != nil {
		return staysMarked(name, err, undo)
	}
	return fmt.Errorf("%w; nothing was exported, and %s has not moved", err, name)
}

// undoExport makes a running program undo an export, or that of one request.
func (p program) undoExport(ctx context.Context, name, requestID string) error {
	path := instancePath(name) + "/export"
	if requestID != "" {
		path += "?requestId=" + requestID
	}
	resp, err := p.ask(ctx, http.MethodDelete, path, nil)
	if err != nil {
		return err
	}
	return resp.Body.Close()
}

func instancePath(name string) string { return "/instance/" + url.PathEscape(name) }

// imported is the program's answer to an import.
type imported struct {
	InstanceName, OwnerJID string
	Contacts, Messages     int
	TokenReplaced          bool
	Auth                   struct{ Token string }
}

// importAccount makes a running program create an instance from an export. The
// private keys of age stay here.
func (p program) importAccount(ctx context.Context, file io.Reader, identities []age.Identity, name string) (done imported, err error) {
	plain, err := backup.Opened(ctx, file, identities)
	if err != nil {
		return done, err
	}
	body, w := io.Pipe()
	form := multipart.NewWriter(w)
	go func() { w.CloseWithError(writeForm(form, plain, name)) }()
	defer func() { _ = body.Close() }()
	resp, err := p.send(ctx, http.MethodPost, "/admin/import", "", form.FormDataContentType(), body)
	if err != nil {
		return done, err
	}
	defer func() { _ = resp.Body.Close() }()
	err = json.NewDecoder(io.LimitReader(resp.Body, 1<<20)).Decode(&done)
	return done, err
}

func writeForm(form *multipart.Writer, file io.Reader, name string) error {
	if name != "" {
		if err := form.WriteField("name", name); err != nil {
			return err
		}
	}
	part, err := form.CreateFormFile("attachment", "account")
	if err == nil {
		_, err = io.Copy(part, file)
	}
	if err == nil {
		err = form.Close()
	}
	return err
}
