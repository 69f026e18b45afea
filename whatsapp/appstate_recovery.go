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

// App state is a chain of changes, each signed over everything before it. A change that
// does not verify breaks the chain: until it is repaired, changes made on the phone are
// not reported. The repair has three steps:
//
//  1. The collection is read completely, at once.
//  2. If that does not verify either, the phone is asked, after a delay, for its copy in
//     plain text, which the library takes over.
//  3. If no copy comes, an operator may have the phone discard the state, see
//     [AppState.ResetAppState]. This is never done automatically.
//
// The delay of the second step ends with the connection: the first read after the next
// login fails again and restarts it. A change whose key is missing needs no repair: the
// library requests the key from the phone and reads again when it comes.
//
// Changes made while a chain was broken are taken over without an event for each, as in
// the first read after a pairing.

// RecoveryStep is one way to repair app state.
type RecoveryStep string

// The steps, in their order.
const (
	RecoverByReading RecoveryStep = "full_sync"
	RecoverByPhone   RecoveryStep = "phone_request"
	RecoverByReset   RecoveryStep = "reset"
)

// RecoveryOutcome is the outcome of a step.
type RecoveryOutcome string

// Outcomes. A request to the phone is first sent, and recovered when the copy has been
// taken over.
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

// Recoveries returns all steps with their possible outcomes.
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

// askPhoneAgain is the least time between two requests for a copy of one collection,
// also across restarts. WhatsApp keeps the request for a phone that is off.
const askPhoneAgain = time.Hour

// mending tracks the repair of a session's collections. The zero value is ready to use.
type mending struct {
	mu       sync.Mutex
	readAt   map[appstate.WAPatchName]time.Time // when it was last read completely
	awaiting map[appstate.WAPatchName]bool      // a request to the phone is delayed
}

// begin marks the request for a collection as delayed, and returns false if it already
// was.
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

// broken handles the event that a collection does not verify.
func (a *AppState) broken(cli *whatsmeow.Client, evt *events.AppStateSyncError) {
	a.notRead(evt.Name)
	life := a.conn.lifetime()
	if life == nil {
		return
	}
	// Complete reads are made with a.changing held, or by the library.
	noticed := time.Now()
	if evt.FullSync || noticed.Sub(a.mending.lastRead(evt.Name)) < a.conn.cfg.StateRecoveryDelay {
		a.askPhoneLater(life, cli, evt.Name)
		return
	}
	a.conn.background.Go(func() {
		a.changing.Lock()
		defer a.changing.Unlock()
		if a.mending.lastRead(evt.Name).After(noticed) {
			return // another call has repaired it
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
		a.conn.log.Warn("app state does not verify, and a complete read failed; keep the account's phone online, its copy will be requested", "collection", string(name), "error", netfault.Plain(err))
		return err
	}
	a.conn.seen.recovered(Recovery{RecoverByReading, RecoveryDone})
	a.conn.log.Info("app state did not verify; a complete read repaired it", "collection", string(name))
	return nil
}

// askPhoneLater is the second step. At most one request per collection is delayed.
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

// askPhone requests a copy, unless the collection can be read by now.
func (a *AppState) askPhone(life context.Context, cli *whatsmeow.Client, name appstate.WAPatchName) {
	ctx, cancel := context.WithTimeout(life, a.conn.cfg.SendTimeout)
	defer cancel()
	a.changing.Lock()
	err := a.readWhole(ctx, cli, name)
	a.changing.Unlock()
	if err == nil || life.Err() != nil || !a.mayAskPhone(ctx, name) {
		return
	}
	if err = messagePhone(ctx, cli, NewMessageID(), whatsmeow.BuildAppStateRecoveryRequest(name)); err != nil {
		if err := a.conn.cfg.Devices.TakeBack(context.WithoutCancel(ctx), a.conn.instance, stateRequest(name)); err != nil {
			a.conn.log.Warn("request to the phone failed but counts towards its limit", "error", err)
		}
		a.conn.seen.recovered(Recovery{RecoverByPhone, RecoveryFailed})
		a.conn.log.Warn("copy of app state not requested from the phone; POST /instance/{name}/app-state/reset is the last resort", "collection", string(name), "error", netfault.Plain(err))
		return
	}
	a.conn.seen.recovered(Recovery{RecoverByPhone, RecoverySent})
	a.conn.log.Warn("app state does not verify; asking the phone for its copy, have it online", "collection", string(name))
}

func stateRequest(name appstate.WAPatchName) string { return "state " + string(name) }

// mayAskPhone records a request and returns false if there was a recent one.
func (a *AppState) mayAskPhone(ctx context.Context, name appstate.WAPatchName) bool {
	allowed, err := a.conn.cfg.Devices.Request(ctx, a.conn.instance, stateRequest(name), 1, askPhoneAgain)
	if err != nil {
		a.conn.log.Warn("copy of app state not requested from the phone; POST /instance/{name}/app-state/reset is the last resort", "collection", string(name), "error", err)
	}
	return allowed
}

// recovered handles the event that the phone's copy was taken over.
func (a *AppState) recovered(name appstate.WAPatchName) {
	a.conn.seen.recovered(Recovery{RecoverByPhone, RecoveryDone})
	a.conn.log.Info("app state restored from the phone's copy", "collection", string(name))
}

// ResetAppState implements instance.AppState.
func (a *AppState) ResetAppState(ctx context.Context) error {
	err := a.calls.ask(ctx, "reset the app state", func(ctx context.Context, cli *whatsmeow.Client) error {
		return messagePhone(ctx, cli, NewMessageID(), whatsmeow.BuildFatalAppStateExceptionNotification(appstate.AllPatchNames[:]...))
	})
	outcome := RecoverySent
	if err != nil {
		outcome = RecoveryFailed
	}
	a.conn.seen.recovered(Recovery{RecoverByReset, outcome})
	return err
}

// change changes app state, such as which chats are archived. Changes are made one at a
// time, because each is based on the version before it. Its error may also wrap
// [event.ErrStateConflict].
func (a *AppState) change(ctx context.Context, what string, patch appstate.PatchInfo) error {
	a.changing.Lock()
	defer a.changing.Unlock()
	return a.calls.change(ctx, what, changes(patch), func(ctx context.Context, cli *whatsmeow.Client) error {
		return a.send(ctx, cli, patch)
	})
}

// send sends a change. If WhatsApp reports that another device was first, which the
// library has retried once by then, or if its state does not verify, the collection is
// read completely and the change tried once more. The caller holds a.changing.
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

// stateConflict reports whether a change failed because of the state of its collection,
// not because of the change.
func stateConflict(err error) bool {
	for _, broken := range []error{
		appstate.ErrMissingPreviousSetValueOperation, appstate.ErrMismatchingLTHash, appstate.ErrMismatchingPatchMAC,
		appstate.ErrMismatchingContentMAC, appstate.ErrMismatchingIndexMAC, appstate.ErrKeyNotFound,
	} {
		if errors.Is(err, broken) {
			return true
		}
	}
	// The library gives the code only in the text.
	return errors.Is(err, whatsmeow.ErrAppStateUpdate) && strings.Contains(err.Error(), `code="409"`)
}
