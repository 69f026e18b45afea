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

// WhatsApp stores the state that an account's devices share, such as which chats are
// archived, in a few collections. The library reads each once, when the phone sends its
// key, and again after each notice of a change. It logs a failed read and does not
// repeat it. The first read of a collection produces no events: until one succeeded,
// the next change would be taken for earlier state and go unreported.

// AppState is the state that the devices of an account share, such as archived chats
// and labels. It implements instance.AppState.
type AppState struct {
	conn  *connection
	calls *calls
	retry time.Duration // see catchUp

	changing sync.Mutex // held while a collection is changed, and while one is read as a whole
	mending  mending

	mu   sync.Mutex
	read map[appstate.WAPatchName]bool // collections read completely since the pairing or the start
}

const (
	stateRetry    = 10 * time.Second // before the second try on a connection; doubles each time
	maxStateRetry = 10 * time.Minute // the longest; the next login starts again
)

// catchUp reads, after a login, what could not be read before: collections never read,
// and changes of the others. It retries while the connection lasts.
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

// readAgain reads a collection and reports whether to retry.
func (a *AppState) readAgain(ctx context.Context, cli *whatsmeow.Client, name appstate.WAPatchName) (repeat bool) {
	if ctx.Err() != nil {
		return false
	}
	key, err := cli.Store.AppStateKeys.GetLatestAppStateSyncKeyID(ctx)
	if err == nil && key == nil {
		return true // the phone has not sent it yet; the library reads when it does
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

// passing reports whether a retry may succeed. Undecodable state stays so, and the
// library reports it each time.
func passing(err error) bool {
	var refused *whatsmeow.IQError
	return errors.As(err, &refused) || errors.Is(classifyAnswer(err), event.ErrNoAnswer)
}

// isEmpty reports whether a collection was read since the session was opened. The
// library stores no version of an empty one.
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

// notRead records that a collection must be read again.
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
