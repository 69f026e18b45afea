package instances

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"

	"filippo.io/age"

	"postern/backup"
	"postern/event"
	"postern/httpapi/rest"
	"postern/instance"
	"postern/media"
)

// Transfers move accounts between programs. All fields are required.
type Transfers struct {
	// Export marks an instance as moved, with the id of the request, disconnects it, and returns its
	// account, encrypted for the recipients. If it fails it removes the mark, unless the instance had
	// moved before. Errors are ErrTransferring and those of instance.Supervisor.MoveAway.
	Export func(ctx context.Context, id int64, by string, messages bool, to []age.Recipient) (Outgoing, error)
	// Undo removes the mark, with a non-empty by only that of this request, and connects the instance.
	// Errors are ErrTransferring while an export is still running, instance.ErrNotMoved and
	// instance.ErrAccountExists.
	Undo func(ctx context.Context, id int64, by string) error
	// Import creates an instance from an exported account and connects it; name is empty or a new name.
	// before is called with the name before the commit. Errors are ErrArchive, ErrArchiveSize,
	// ErrTransferring, instance.ErrAccountExists and those of instance.Registry.Receive; nothing has
	// changed then.
	Import func(ctx context.Context, file io.Reader, name string, before func(name string)) (Imported, error)
}

// Outgoing is an account that is being exported.
type Outgoing struct {
	Content io.Reader
	Size    int64 // bytes
	// End is called once. Unless the whole account was sent it reverts the export.
	End func(whole bool) error
}

// Imported is an instance created from an exported account.
type Imported struct {
	Record             instance.Record
	Fresh              bool // it has another token than it had
	Contacts, Messages int
}

// Errors of Transfers.
var (
	ErrTransferring = errors.New("the instance is being exported, or another account imported, at the moment")
	ErrArchive      = errors.New("attachment is no exported account")
	ErrArchiveSize  = errors.New("attachment is too large")
)

// exportRequest selects the data to export and its recipients.
type exportRequest struct {
	Messages   bool     `json:"messages" doc:"Whether to include its contacts and stored messages." example:"true"`
	Recipients []string `json:"recipients" doc:"Public keys of age, any of which can decrypt the file; empty: it is not encrypted." example:"age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p"`
}

// exportInstance answers with the account of an instance, which then never connects here again. If the
// account was not sent completely, the instance has not moved.
func (a *API) exportInstance(c *rest.Call) error {
	var in exportRequest
	if err := c.Decode(&in, rest.MaxBody); err != nil {
		return err
	}
	to, err := backup.Recipients(in.Recipients)
	if err != nil {
		return rest.Refuse(http.StatusUnprocessableEntity, rest.CodeRecipient, "recipients: "+err.Error())
	}
	rec, err := a.Registry.ByName(c.Params.ByName("i"))
	if err != nil {
		return err
	}
	ctx, cancel := c.UntilStopped()
	defer cancel(nil)
	out, err := a.Transfers.Export(ctx, rec.ID, c.RequestID, in.Messages, to)
	if err != nil {
		return err
	}
	h := c.Response.Header()
	h.Set("Content-Type", rest.MediaBytes)
	h.Set("Content-Length", strconv.FormatInt(out.Size, 10))
	h.Set("Content-Disposition", `attachment; filename="`+rec.Name+`.account"`)
	sent, err := io.Copy(c.Response, untilDone{ctx, out.Content})
	if sent == out.Size {
		// The client may have received the whole file and disconnected for that reason. If it has not, it
		// undoes the export: it is better that no program has the account than that two have it.
		err = nil
	}
	if ended := out.End(err == nil); ended != nil {
		c.Log().Error("the end of an export could not be stored; if the account was not imported elsewhere, undo the export with postern instance export --undo", "instance", rec.Name, "request_id", c.RequestID, "error", ended)
	}
	return c.CutOff(err, "an export was interrupted and undone", "instance", rec.Name)
}

// untilDone is a reader that fails once a context ends.
type untilDone struct {
	ctx context.Context
	r   io.Reader
}

// Read implements [io.Reader].
func (u untilDone) Read(p []byte) (int, error) {
	if u.ctx.Err() != nil {
		return 0, context.Cause(u.ctx)
	}
	return u.r.Read(p)
}

// undoExport makes an exported instance connect here again.
func (a *API) undoExport(c *rest.Call) error {
	q, err := c.Query([]string{"requestId"})
	if err != nil {
		return err
	}
	rec, err := a.Registry.ByName(c.Params.ByName("i"))
	if err != nil {
		return err
	}
	if q.Has("requestId") && q.Get("requestId") == "" {
		return rest.InvalidQuery("requestId must not be empty")
	}
	if err := a.Transfers.Undo(c.Request.Context(), rec.ID, q.Get("requestId")); err != nil {
		return err
	}
	return c.NoContent()
}

// ImportedInstance is the answer to an import.
type ImportedInstance struct {
	InstanceName  string       `json:"instanceName"`
	OwnerJID      string       `json:"ownerJid"`
	Contacts      int          `json:"contacts" doc:"Imported contacts." example:"12" rules:"minimum=0"`
	Messages      int          `json:"messages" doc:"Imported messages." example:"240" rules:"minimum=0"`
	TokenReplaced bool         `json:"tokenReplaced" doc:"Whether a new token was issued because the old one is not valid here." example:"false"`
	CreatedAt     event.Time   `json:"createdAt"`
	Auth          *IssuedToken `json:"Auth" doc:"Its token; null for a session."`
}

// importInstance creates an instance from the file of a form, and connects it.
func (a *API) importInstance(c *rest.Call) error {
	f, err := c.ReadForm(a.Media.Spool, a.MaxMedia, "name")
	defer f.Discard()
	switch {
	case errors.Is(err, event.ErrMedia) && !errors.Is(err, media.ErrTooLarge):
		return fmt.Errorf("%w: it is empty", ErrArchive)
	case err != nil:
		return err
	}
	name := f.Fields["name"]
	if f.Given("name") != nil {
		if err := instance.CheckName(name); err != nil {
			return err
		}
	}
	file, err := os.Open(f.Path)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	ctx, cancel := c.UntilStopped()
	defer cancel(nil)
	in, err := a.Transfers.Import(ctx, file, name, c.Entry.About)
	if err != nil {
		return err
	}
	made := ImportedInstance{
		InstanceName: in.Record.Name, OwnerJID: in.Record.OwnerJID, Contacts: in.Contacts, Messages: in.Messages, TokenReplaced: in.Fresh, CreatedAt: in.Record.CreatedAt,
	}
	if c.MayHaveTokens() {
		made.Auth = &IssuedToken{in.Record.ID, in.Record.Token.Value}
	}
	return c.Response.JSON(http.StatusCreated, made)
}
