package accounts

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync"
	"time"

	"filippo.io/age"

	"postern/backup/transfer"
	"postern/event"
	"postern/httpapi/instances"
	"postern/instance"
	"postern/media"
	"postern/whatsapp/device"
)

// Running exports and imports accounts while the program runs. It keeps the exports of one
// instance apart, and the imports.
type Running struct {
	Accounts
	Supervisor *instance.Supervisor
	Media      *media.Library
	MaxBytes   int64         // twice media.max_bytes
	Secret     []byte        // that signs tokens
	TokenTTL   time.Duration // of tokens; 0: they do not expire
	Log        *slog.Logger

	mu      sync.Mutex
	running map[int64]chan struct{} // by instance, closed at the end; 0: an import
}

// begin fails with instances.ErrTransferring while another one runs.
func (t *Running) begin(id int64) (end func(), err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.running[id] != nil {
		return nil, instances.ErrTransferring
	}
	if t.running == nil {
		t.running = map[int64]chan struct{}{}
	}
	over := make(chan struct{})
	t.running[id] = over
	return func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		delete(t.running, id)
		close(over)
	}, nil
}

// undoWait is how long an undo waits for the export that it is about: who lost its
// answer asks for it before the program has noticed.
const undoWait = 10 * time.Second

// beginAfter is begin, and waits for the one that runs.
func (t *Running) beginAfter(ctx context.Context, id int64) (end func(), err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, undoWait, instances.ErrTransferring)
	defer cancel()
	for {
		if end, err = t.begin(id); err == nil {
			return end, nil
		}
		t.mu.Lock()
		over := t.running[id]
		t.mu.Unlock()
		if over == nil {
			continue
		}
		select {
		case <-over:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// Export is instances.Transfers.Export.
func (t *Running) Export(ctx context.Context, id int64, by string, messages bool, to []age.Recipient) (out instances.Outgoing, err error) {
	end, err := t.begin(id)
	if err != nil {
		return out, err
	}
	marked, err := t.Supervisor.MoveAway(ctx, id, by)
	if err != nil {
		end()
		return out, err
	}
	var f *os.File
	finish := func(whole bool) (err error) {
		defer end()
		if f != nil {
			err = errors.Join(f.Close(), os.Remove(f.Name()))
		}
		if marked && !whole {
			err = errors.Join(err, t.Supervisor.MoveBack(context.WithoutCancel(ctx), id, by))
		}
		return err
	}
	if f, err = t.Media.Create(); err == nil {
		out.Size, err = t.spool(ctx, id, f, messages, to)
	}
	if err != nil {
		return out, errors.Join(err, finish(false))
	}
	out.Content, out.End = f, finish
	return out, nil
}

// spool writes the account of an instance that has moved, so that a slow client
// keeps no page of the file, and returns its size.
func (t *Running) spool(ctx context.Context, id int64, f *os.File, messages bool, to []age.Recipient) (size int64, err error) {
	rec, err := t.Registry.ByID(id)
	if err != nil {
		return 0, err
	}
	d, err := t.Devices.Export(ctx, id)
	if errors.Is(err, device.ErrNoDevice) {
		err = fmt.Errorf("%w: %w", event.ErrNotConnected, instance.ErrNeverPaired)
	}
	if err != nil {
		return 0, err
	}
	done, err := t.Write(ctx, rec, d, messages, admitted{f, t.Store.Admit}, to)
	if err != nil {
		return 0, err
	}
	t.Log.Info("account exported", "instance", rec.Name, "instance_id", id, "sessions", done.Sessions, "contacts", done.Contacts, "messages", done.Messages)
	if size, err = f.Seek(0, io.SeekCurrent); err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	return size, err
}

// admitted writes as long as new work may begin: what is left of the disk belongs to the
// data file.
type admitted struct {
	io.Writer
	admit func() error
}

// Write implements [io.Writer].
func (w admitted) Write(p []byte) (int, error) {
	if err := w.admit(); err != nil {
		return 0, err
	}
	return w.Writer.Write(p)
}

// Undo is instances.Transfers.Undo.
func (t *Running) Undo(ctx context.Context, id int64, by string) error {
	end, err := t.beginAfter(ctx, id)
	if err != nil {
		return err
	}
	defer end()
	rec, err := t.Registry.ByID(id)
	if err == nil {
		err = t.Alone(rec)
	}
	if err != nil {
		return err
	}
	return t.Supervisor.MoveBack(ctx, id, by)
}

// Import is instances.Transfers.Import. In memory are what the file has, for which
// transfer.Read counts twice media.max_bytes at most, and the pages of the one commit.
func (t *Running) Import(ctx context.Context, file io.Reader, name string, before func(name string)) (in instances.Imported, err error) {
	end, err := t.begin(0)
	if err != nil {
		return in, err
	}
	defer end()
	account, err := transfer.Read(ctx, file, t.MaxBytes)
	switch {
	case err == nil:
	case ctx.Err() != nil:
		return in, err
	case errors.Is(err, transfer.ErrTooLarge):
		return in, fmt.Errorf("%w: %w; raise media.max_bytes, or import it while the program is stopped", instances.ErrArchiveSize, err)
	default:
		return in, fmt.Errorf("%w: %w", instances.ErrArchive, err)
	}
	if in.Fresh, err = Retoken(t.Secret, t.TokenTTL, account, name); err != nil {
		return in, err
	}
	before(account.Instance.Name)
	if in.Record, err = t.Take(ctx, account); err != nil {
		return in, err
	}
	in.Contacts, in.Messages = len(account.Instance.Contacts), len(account.Instance.Messages)
	if l := account.Instance.Limits; l != nil {
		if _, err := t.Supervisor.SetLimits(context.WithoutCancel(ctx), in.Record.ID, *l); err != nil {
			t.Log.Error("the limits of an imported instance are not in force; it stays disconnected, set them again", "instance", in.Record.Name, "instance_id", in.Record.ID, "error", err)
			return in, nil
		}
	}
	t.Supervisor.Resume(in.Record.ID)
	return in, nil
}
