package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"postern/access"
	"postern/store"
	"postern/whatsapp/device"
)

// Restoration is the result of [Restore].
type Restoration struct {
	device.Restoration

	Keys int // scoped keys, with those that were deleted since the backup
}

// Restore makes a data file that came from a backup of the time at safe to start with:
// no key that may have been used since is used again, no browser that was signed out
// since is signed in, and unfinished batches wait for a start, unless resume says
// that they continue. Damaged pages are an error; damaged records, with which the
// program can run, are logged.
func Restore(ctx context.Context, path string, at time.Time, resume bool, log *slog.Logger) (done Restoration, err error) {
	if _, err := os.Stat(path); err != nil {
		return done, err // none is made
	}
	s, err := store.Open(store.Options{Path: path, Buckets: Buckets(), Logger: log, Alone: true})
	if err != nil {
		return done, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	if done.Restoration, err = device.Restored(ctx, s); err != nil {
		return done, err
	}
	if done.Keys, err = access.Restored(ctx, s); err != nil {
		return done, err
	}
	if err := s.MarkRestored(ctx, store.Restored{At: at, Resume: resume}); err != nil {
		return done, fmt.Errorf("mark the file as restored: %w", err)
	}
	return done, nil
}

// unsure reports whether the file came from a backup and no program has started on it since:
// its pending sends may have been sent.
func (a *App) unsure() (bool, error) {
	r, is, err := a.store.Restored()
	return is && !r.Resume, err
}

// settleRestored clears that mark, once all parts have handled it.
func (a *App) settleRestored(ctx context.Context) error {
	r, is, err := a.store.Restored()
	if err != nil || !is {
		return err
	}
	a.log.Info("the data file was restored from a backup; unfinished batches wait for a start, unless they were set to resume", "backup", r.At, "goes_on", r.Resume)
	return a.store.ForgetRestored(ctx)
}
