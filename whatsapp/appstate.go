package whatsapp

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"go.mau.fi/whatsmeow"
	"go.mau.fi/whatsmeow/appstate"

	"postern/event"
)

// What an account's devices have in common, such as which chats are archived,
// lies at WhatsApp in a few collections. The library reads each of them once,
// when the phone gives it the key, and then when it is told of a change. A read
// that fails is logged and forgotten. The first one of a collection is without
// events: for as long as none succeeded, the next change passes for the state
// that was there before, and nobody hears of it.

// AppState is the state that the devices of an account have in common.
type AppState struct {
	conn  *connection
	calls *calls
	retry time.Duration // see catchUp

	changing sync.Mutex // held while a collection is changed, and while one is read as a whole
	mending  mending

	mu   sync.Mutex
	read map[appstate.WAPatchName]bool // collections that were read as a whole since the pairing or the start
}

const (
	stateRetry    = 10 * time.Second // before the second try of a connection; doubles with each
	maxStateRetry = 10 * time.Minute // the last one; the next login begins anew
)

// catchUp reads, after a login, what could not be read before: the
// collections of which nothing is known, and what changed in the others. It
// tries again while the connection lasts.
func (a *AppState) catchUp(cli *whatsmeow.Client) {
	life := a.conn.lifetime()
	if life == nil {
		return
	}
	a.conn.background.Go(func() {
		left := slices.Clone(appstate.AllPatchNames[:])
		for wait := a.retry; ; wait *= 2 {
			left = slices.DeleteFunc(left, func(name appstate.WAPatchName) bool { return !a.readAgain(life, cli, name) })
			if len(left) == 0 || wait > maxStateRetry {
				return
			}
			select {
			case <-time.After(wait):
			case <-life.Done():
				return
			}
		}
	})
}

// readAgain reads a collection and reports whether that has to be repeated.
func (a *AppState) readAgain(ctx context.Context, cli *whatsmeow.Client, name appstate.WAPatchName) (repeat bool) {
	if ctx.Err() != nil {
		return false
	}
	key, err := cli.Store.AppStateKeys.GetLatestAppStateSyncKeyID(ctx)
	if err == nil && key == nil {
		return true // the phone has not given it yet, and the library reads when it does
	}
	var version uint64
	if err == nil {
		version, _, err = cli.Store.AppState.GetAppStateVersion(ctx, string(name))
	}
	if err == nil && version == 0 && a.isEmpty(name) {
		return false
	}
	if err == nil {
		ctx, cancel := context.WithTimeout(ctx, a.conn.cfg.SendTimeout)
		defer cancel()
		err = cli.FetchAppState(ctx, name, false, false)
	}
	if err == nil || ctx.Err() != nil {
		return false
	}
	a.conn.log.Info("app state not read", "collection", string(name), "error", err)
	return passing(err)
}

// passing tells whether the same question may have an answer later. What cannot
// be decoded stays so, and the library tells of it each time.
func passing(err error) bool {
	var refused *whatsmeow.IQError
	return errors.As(err, &refused) || errors.Is(classifyAnswer(err), event.ErrNoAnswer)
}

// isEmpty reports whether a collection was read since the session was
// opened. The library keeps no version of one that has nothing in it.
func (a *AppState) isEmpty(name appstate.WAPatchName) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.read[name]
}

func (a *AppState) wasRead(name appstate.WAPatchName) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.read == nil {
		a.read = map[appstate.WAPatchName]bool{}
	}
	a.read[name] = true
}

// notRead notes that a collection, whatever is known of it, has to be read.
func (a *AppState) notRead(name appstate.WAPatchName) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.read, name)
}

// unpaired forgets which collections were read.
func (a *AppState) unpaired() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.read = nil
}
