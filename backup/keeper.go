package backup

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"filippo.io/age"

	"postern/store"
	"postern/store/files"
)

// KeeperConfig configures a [Keeper]. Dir, Every, Keep and Make are required.
type KeeperConfig struct {
	Dir        string        // folder of the backups; created if missing
	ID         string        // of the data file; backups of others in Dir are ignored. Empty: there are none
	Every      time.Duration // interval
	Keep       int           // number of backups to keep
	Recipients []age.Recipient

	// Make returns the archive to write; release is always called.
	Make func(context.Context) (a *Archive, release func() error, err error)

	Logger *slog.Logger     // nil: silent
	Now    func() time.Time // nil: time.Now
}

const (
	lookEvery  = time.Minute      // the clock may be set, and the machine may sleep
	retryAfter = 10 * time.Minute // after a failure, unless the next backup is due sooner
)

// Keeper makes backups on a schedule.
type Keeper struct {
	cfg  KeeperConfig
	stop context.CancelFunc
	done chan struct{}

	mu       sync.Mutex
	last     time.Time // time of the newest complete backup; zero if none
	bytes    int64     // its size
	failed   error     // error of the last attempt; nil: success
	failedAt time.Time
}

// NewKeeper returns a keeper, to be started with Start. The newest backup of the data
// file in the folder counts as its last one.
func NewKeeper(cfg KeeperConfig) *Keeper {
	cfg.Logger = cmp.Or(cfg.Logger, slog.New(slog.DiscardHandler))
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	k := &Keeper{cfg: cfg, stop: func() {}, done: make(chan struct{})}
	if there, err := list(k.cfg.Dir, k.cfg.ID); err == nil && len(there) > 0 {
		newest := there[len(there)-1]
		k.last, k.bytes = newest.at, sizeOf(k.cfg.Dir, newest.name)
	}
	return k
}

// Start begins making backups, at once if one is due.
func (k *Keeper) Start() {
	ctx, stop := context.WithCancel(context.Background())
	k.stop = stop
	go func() {
		defer close(k.done)
		for due := k.due(); ; {
			wait := min(due.Sub(k.cfg.Now()), lookEvery)
			select {
			case <-ctx.Done():
				return
			case <-time.After(max(wait, 0)):
			}
			if now := k.cfg.Now(); !now.Before(due) || now.Before(due.Add(-k.cfg.Every)) { // or the clock was set back
				k.keep(ctx)
				due = k.due()
			}
		}
	}()
}

// Stop cancels a backup in progress, which leaves no file.
func (k *Keeper) Stop(ctx context.Context) error {
	k.stop()
	select {
	case <-k.done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("backup: stop: %w", context.Cause(ctx))
	}
}

// due returns when the next backup is due.
func (k *Keeper) due() time.Time {
	k.mu.Lock()
	defer k.mu.Unlock()
	now := k.cfg.Now()
	switch {
	case k.failed != nil:
		return now.Add(min(retryAfter, k.cfg.Every))
	case k.last.IsZero() || k.last.After(now):
		return now
	}
	return k.last.Add(k.cfg.Every)
}

// LastSuccess returns the time of the newest backup, zero if there is none.
func (k *Keeper) LastSuccess() time.Time {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.last
}

// State is the state of a [Keeper].
type State struct {
	Every    time.Duration // interval
	Last     time.Time     // time of the newest backup; zero if none
	Bytes    int64         // its size; 0 if unknown
	Failed   error         // error of the last attempt; nil: success
	FailedAt time.Time     // time of that failure
}

// State returns the current state.
func (k *Keeper) State() State {
	k.mu.Lock()
	defer k.mu.Unlock()
	return State{Every: k.cfg.Every, Last: k.last, Bytes: k.bytes, Failed: k.failed, FailedAt: k.failedAt}
}

// Warning returns a message for users if the last attempt failed, or else an empty
// string.
func (k *Keeper) Warning() string {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.failed == nil {
		return ""
	}
	last := "there is no backup yet"
	if !k.last.IsZero() {
		last = "the newest backup is of " + k.last.UTC().Format(time.RFC3339)
	}
	return "the last backup failed, see the log; " + last // shown without authentication
}

func (k *Keeper) keep(ctx context.Context) {
	began := time.Now()
	name, err := k.make(ctx)
	if errors.Is(err, store.ErrSnapshotting) { // another backup is being made on request
		select {
		case <-ctx.Done():
		case <-time.After(lookEvery):
		}
		return
	}
	if ctx.Err() != nil {
		return
	}
	k.mu.Lock()
	k.failed, k.failedAt = err, time.Time{}
	if err != nil {
		k.failedAt = k.cfg.Now()
	}
	k.mu.Unlock()
	if err != nil {
		k.cfg.Logger.Error("backup failed; retrying, existing backups are kept; remove the cause that the error names", "folder", k.cfg.Dir, "error", err)
		return
	}
	k.cfg.Logger.Info("backup written", "file", filepath.Join(k.cfg.Dir, name), "took", time.Since(began).Round(time.Millisecond))
	if err := k.prune(name); err != nil {
		k.cfg.Logger.Warn("old backups could not be removed; remove them yourself, or give the user of the program the folder", "folder", k.cfg.Dir, "error", err)
	}
}

func (k *Keeper) make(ctx context.Context) (name string, err error) {
	if err := files.MakeFolder(k.cfg.Dir); err != nil {
		return "", err
	}
	a, release, err := k.cfg.Make(ctx)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, release()) }()
	if err := room(k.cfg.Dir, a.Size()); err != nil {
		return "", err
	}
	at := a.source.At
	name = Name(at, k.cfg.ID, len(k.cfg.Recipients) > 0)
	err = a.Save(ctx, filepath.Join(k.cfg.Dir, name), k.cfg.Recipients...)
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return "", err
	}
	k.mu.Lock()
	k.last, k.bytes = at, sizeOf(k.cfg.Dir, name)
	k.mu.Unlock()
	return name, nil
}

// sizeOf returns the size of a backup, 0 if unknown.
func sizeOf(dir, name string) int64 {
	info, err := os.Stat(filepath.Join(dir, name))
	if err != nil {
		return 0
	}
	return info.Size()
}

// kept is a backup in the folder.
type kept struct {
	name string
	at   time.Time
	id   string // prefix of the data file's ID; empty in names of former releases
}

// Newest returns the newest backup of the data file with that ID in a folder, and its
// time. The name is empty if there is none. An empty id matches any data file.
func Newest(dir, id string) (name string, at time.Time, err error) {
	all, err := list(dir, id)
	if err != nil || len(all) == 0 {
		return "", time.Time{}, err
	}
	last := all[len(all)-1]
	return last.name, last.at, nil
}

// Of returns the backup of that second, of any data file.
func Of(dir string, second time.Time) (name string, at time.Time, err error) {
	all, err := list(dir, "")
	for _, k := range all {
		if k.at.Equal(second.Truncate(time.Second)) {
			return k.name, k.at, nil
		}
	}
	return "", time.Time{}, err
}

// list returns the backups in a folder of the data file with that ID, or of any, oldest
// first. Backups without an ID in their name count as its own if the folder has none of
// other data files.
func list(dir, id string) (all []kept, err error) {
	files, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	alone := true
	for _, f := range files {
		if k, is := parse(f.Name()); is && f.Type().IsRegular() {
			all = append(all, k)
			alone = alone && (k.id == "" || k.id == short(id))
		}
	}
	if id != "" {
		all = slices.DeleteFunc(all, func(k kept) bool { return k.id != short(id) && (k.id != "" || !alone) })
	}
	slices.SortFunc(all, func(a, b kept) int { return a.at.Compare(b.at) })
	return all, nil
}

// parse parses a name made by Name.
func parse(name string) (k kept, is bool) {
	when, ours := strings.CutPrefix(name, "postern-")
	when, plain := strings.CutSuffix(strings.TrimSuffix(when, ".age"), ".tar")
	if !ours || !plain {
		return k, false
	}
	when, id, of := strings.Cut(when, "-")
	at, err := time.Parse(stamp, when)
	if of && (len(id) != idShown || strings.Trim(id, "0123456789abcdef") != "") {
		return k, false
	}
	return kept{name, at, id}, err == nil
}

// prune removes the oldest backups of this data file beyond Keep, but never the one just
// made.
func (k *Keeper) prune(made string) error {
	all, err := list(k.cfg.Dir, k.cfg.ID)
	all = slices.DeleteFunc(all, func(f kept) bool { return f.name == made })
	now := k.cfg.Now()
	slices.SortStableFunc(all, func(a, b kept) int { // names in the future come from a clock that was ahead
		switch future := a.at.After(now); {
		case future == b.at.After(now):
			return 0
		case future:
			return -1
		}
		return 1
	})
	for len(all) > max(k.cfg.Keep-1, 0) {
		err = errors.Join(err, os.Remove(filepath.Join(k.cfg.Dir, all[0].name)))
		all = all[1:]
	}
	return err
}
