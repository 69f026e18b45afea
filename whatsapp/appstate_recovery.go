package whatsapp

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"go.mau.fi/whatsmeow"
	"go.mau.fi/whatsmeow/appstate"
	"go.mau.fi/whatsmeow/types/events"

	"postern/event"
	"postern/internal/netfault"
)

// What an account's devices have in common is a chain of changes, each signed
// over all that was before it. One that does not verify ends the chain: until
// it is mended nothing that the phone changes is told any more. It is mended
// in steps:
//
//  1. The collection is read anew as a whole, at once.
//  2. When that does not verify either, the phone is asked, after a while, for
//     its own copy in plain text. The library takes it over.
//  3. When no copy comes, somebody may have the phone give the state up, see
//     [Session.ResetAppState]. That is never done by itself.
//
// The wait of the second step ends with the connection: the first read after
// the next login fails again, and the wait begins anew. A change whose key is
// missing is none of this: the library asks the phone for the key, and reads
// again when it comes.
//
// What changed while a chain was broken is taken over without an event for
// each change, as at the first read after a pairing.

// RecoveryStep is one way of mending synchronised state.
type RecoveryStep string

// The steps, in their order.
const (
	RecoverByReading RecoveryStep = "full_sync"
	RecoverByPhone   RecoveryStep = "phone_request"
	RecoverByReset   RecoveryStep = "reset"
)

// RecoveryOutcome is what became of a step.
type RecoveryOutcome string

// Outcomes. A request to the phone is sent first, and recovered when the copy
// came and was taken over.
const (
	RecoverySent   RecoveryOutcome = "sent"
	RecoveryDone   RecoveryOutcome = "recovered"
	RecoveryFailed RecoveryOutcome = "failed"
)

// Recovery is a step with its outcome.
type Recovery struct {
	Step    RecoveryStep
	Outcome RecoveryOutcome
}

// Recoveries are all that are counted.
func Recoveries() []Recovery {
	return []Recovery{
		{RecoverByReading, RecoveryDone},
		{RecoverByReading, RecoveryFailed},
		{RecoverByPhone, RecoverySent},
		{RecoverByPhone, RecoveryDone},
		{RecoverByPhone, RecoveryFailed},
		{RecoverByReset, RecoverySent},
		{RecoverByReset, RecoveryFailed},
	}
}

// askPhoneAgain is the least time between two requests for a copy of one
// collection, restarts or not. The request waits at WhatsApp for a phone that is
// off.
const askPhoneAgain = time.Hour

// mending is what is done about the collections of a session. The zero value
// is ready.
type mending struct {
	mu       sync.Mutex
	readAt   map[appstate.WAPatchName]time.Time // when it was read anew
	awaiting map[appstate.WAPatchName]bool      // the request waits for its time
}

// begin notes that the request for a collection waits, unless one does.
func (m *mending) begin(name appstate.WAPatchName) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.awaiting[name] {
		return false
	}
	if m.awaiting == nil {
		m.awaiting = map[appstate.WAPatchName]bool{}
	}
	m.awaiting[name] = true
	return true
}

func (m *mending) end(name appstate.WAPatchName) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.awaiting, name)
}

func (m *mending) read(name appstate.WAPatchName) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.readAt == nil {
		m.readAt = map[appstate.WAPatchName]time.Time{}
	}
	m.readAt[name] = time.Now()
}

func (m *mending) lastRead(name appstate.WAPatchName) time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.readAt[name]
}

// broken takes the news that a collection does not verify.
func (a *AppState) broken(cli *whatsmeow.Client, evt *events.AppStateSyncError) {
	a.notRead(evt.Name)
	life := a.conn.lifetime()
	if life == nil {
		return
	}
	// Who reads a collection as a whole holds a.changing, or is the library.
	noticed := time.Now()
	if evt.FullSync || noticed.Sub(a.mending.lastRead(evt.Name)) < a.conn.cfg.StateRecoveryDelay {
		a.askPhoneLater(life, cli, evt.Name)
		return
	}
	a.conn.background.Go(func() {
		a.changing.Lock()
		defer a.changing.Unlock()
		if a.mending.lastRead(evt.Name).After(noticed) {
			return // by a call that met it too
		}
		ctx, cancel := context.WithTimeout(life, a.conn.cfg.SendTimeout)
		defer cancel()
		if err := a.readWhole(ctx, cli, evt.Name); err != nil && life.Err() == nil {
			a.askPhoneLater(life, cli, evt.Name)
		}
	})
}

// readWhole is the first step. The caller holds a.changing.
func (a *AppState) readWhole(ctx context.Context, cli *whatsmeow.Client, name appstate.WAPatchName) error {
	a.notRead(name)
	a.mending.read(name)
	err := cli.FetchAppState(ctx, name, true, false)
	if err != nil {
		a.conn.seen.recovered(Recovery{RecoverByReading, RecoveryFailed})
		a.conn.log.Warn("app state does not verify, and reading it anew failed; have the account's phone online, which is asked for its copy", "collection", string(name), "error", netfault.Plain(err))
		return err
	}
	a.conn.seen.recovered(Recovery{RecoverByReading, RecoveryDone})
	a.conn.log.Info("app state did not verify and was read anew", "collection", string(name))
	return nil
}

// askPhoneLater is the second step, of which one at a time waits for each
// collection.
func (a *AppState) askPhoneLater(life context.Context, cli *whatsmeow.Client, name appstate.WAPatchName) {
	if !a.mending.begin(name) {
		return
	}
	a.conn.background.Go(func() {
		defer a.mending.end(name)
		timer := time.NewTimer(a.conn.cfg.StateRecoveryDelay)
		defer timer.Stop()
		select {
		case <-timer.C:
			a.askPhone(life, cli, name)
		case <-life.Done():
		}
	})
}

// askPhone asks for a copy, unless the collection can be read again by now.
func (a *AppState) askPhone(life context.Context, cli *whatsmeow.Client, name appstate.WAPatchName) {
	ctx, cancel := context.WithTimeout(life, a.conn.cfg.SendTimeout)
	defer cancel()
	a.changing.Lock()
	err := a.readWhole(ctx, cli, name)
	a.changing.Unlock()
	if err == nil || life.Err() != nil || !a.mayAskPhone(ctx, name) {
		return
	}
	if err = tellPhone(ctx, cli, NewMessageID(), whatsmeow.BuildAppStateRecoveryRequest(name)); err != nil {
		if err := a.conn.cfg.Devices.TakeBack(context.WithoutCancel(ctx), a.conn.instance, stateRequest(name)); err != nil {
			a.conn.log.Warn("a request that did not leave counts all the same", "error", err)
		}
		a.conn.seen.recovered(Recovery{RecoverByPhone, RecoveryFailed})
		a.conn.log.Warn("the phone was not asked for its copy of app state; POST /instance/{name}/app-state/reset is the last resort", "collection", string(name), "error", netfault.Plain(err))
		return
	}
	a.conn.seen.recovered(Recovery{RecoverByPhone, RecoverySent})
	a.conn.log.Warn("app state cannot be verified; the phone is asked for its copy; have it online", "collection", string(name))
}

func stateRequest(name appstate.WAPatchName) string { return "state " + string(name) }

// mayAskPhone notes a request, unless one was made not long ago.
func (a *AppState) mayAskPhone(ctx context.Context, name appstate.WAPatchName) bool {
	allowed, err := a.conn.cfg.Devices.Request(ctx, a.conn.instance, stateRequest(name), 1, askPhoneAgain)
	if err != nil {
		a.conn.log.Warn("the phone is not asked for its copy of app state; POST /instance/{name}/app-state/reset is the last resort", "collection", string(name), "error", err)
	}
	return allowed
}

// recovered takes the news that the phone's copy was taken over.
func (a *AppState) recovered(name appstate.WAPatchName) {
	a.conn.seen.recovered(Recovery{RecoverByPhone, RecoveryDone})
	a.conn.log.Info("app state was restored from the phone's copy", "collection", string(name))
}

// ResetAppState implements instance.AppState.
func (a *AppState) ResetAppState(ctx context.Context) error {
	err := a.calls.ask(ctx, "reset the app state", func(ctx context.Context, cli *whatsmeow.Client) error {
		return tellPhone(ctx, cli, NewMessageID(), whatsmeow.BuildFatalAppStateExceptionNotification(appstate.AllPatchNames[:]...))
	})
	outcome := RecoverySent
	if err != nil {
		outcome = RecoveryFailed
	}
	a.conn.seen.recovered(Recovery{RecoverByReset, outcome})
	return err
}

// change changes what an account's devices have in common, such as which
// chats are archived. One change at a time: each is based on the version
// before it. Its error may also wrap [event.ErrStateConflict].
func (a *AppState) change(ctx context.Context, what string, patch appstate.PatchInfo) error {
	a.changing.Lock()
	defer a.changing.Unlock()
	return a.calls.change(ctx, what, changes(patch), func(ctx context.Context, cli *whatsmeow.Client) error {
		return a.send(ctx, cli, patch)
	})
}

// send changes synchronised state. When WhatsApp says that another device
// was first, which the library has mended once by then, or what WhatsApp has
// does not verify, the collection is read anew and the change tried once more.
// The caller holds a.changing.
func (a *AppState) send(ctx context.Context, cli *whatsmeow.Client, patch appstate.PatchInfo) error {
	err := cli.SendAppState(ctx, patch)
	if !stateConflict(err) {
		return err
	}
	if err = a.readWhole(ctx, cli, patch.Type); err == nil {
		err = cli.SendAppState(ctx, patch)
	}
	if stateConflict(err) {
		return fmt.Errorf("%w: %w", event.ErrStateConflict, err)
	}
	return err
}

// stateConflict tells whether a change failed for what its collection is, and
// not for what it is itself.
func stateConflict(err error) bool {
	for _, broken := range []error{
		appstate.ErrMissingPreviousSetValueOperation, appstate.ErrMismatchingLTHash, appstate.ErrMismatchingPatchMAC,
		appstate.ErrMismatchingContentMAC, appstate.ErrMismatchingIndexMAC, appstate.ErrKeyNotFound,
	} {
		if errors.Is(err, broken) {
			return true
		}
	}
	// The library has the code in the text only.
	return errors.Is(err, whatsmeow.ErrAppStateUpdate) && strings.Contains(err.Error(), `code="409"`)
}
