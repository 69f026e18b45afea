package app

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/google/uuid"

	"postern/console/feed"
	"postern/delivery"
	"postern/delivery/outbox"
	"postern/httpapi/rest"
	"postern/httpapi/sockets"
	"postern/store"
	"postern/wsbus"
)

// hubAdapter adapts wsbus.Hub to package httpapi.
type hubAdapter struct {
	*wsbus.Hub
	console *feed.Feed
}

func (h hubAdapter) ServeConsole(w http.ResponseWriter, r *http.Request, v feed.Viewer, s sockets.Stream) error {
	return hubError(h.ServeFeed(w, r, wsbus.FeedClient{
		Open: func(wake func()) wsbus.Messages { return h.console.Open(v, wake) }, Expires: s.ExpiresAt, Token: s.Token, Holder: s.Holder, Check: s.Check,
	}))
}

func (h hubAdapter) ServeGlobal(w http.ResponseWriter, r *http.Request, user uuid.UUID, s sockets.Stream) error {
	return hubError(h.Hub.ServeGlobal(w, r, wsbus.GlobalClient{Owner: user, Kinds: s.Kinds, Expires: s.ExpiresAt, Token: s.Token, Holder: s.Holder, Check: s.Check, Tells: s.Tells, Since: s.Since}))
}

func (h hubAdapter) ServeInstance(w http.ResponseWriter, r *http.Request, id int64, s sockets.Stream) error {
	return hubError(h.Hub.ServeInstance(w, r, wsbus.InstanceClient{
		Instance: id, Durable: s.Durable, Kinds: s.Kinds, Expires: s.ExpiresAt, Token: s.Token, Holder: s.Holder, Scoped: s.Scoped, Since: s.Since, Check: s.Check,
	}))
}

// Revoke closes the WebSockets of a token, and of those that depend on it.
func (h hubAdapter) Revoke(token [sha256.Size]byte) { h.Hub.Revoke(token) }

// Renew changes the expiry of the WebSockets of a token.
func (h hubAdapter) Renew(token [sha256.Size]byte, expires time.Time) { h.Hub.Renew(token, expires) }

// hubError maps the hub's errors to those of the API.
func hubError(err error) error {
	switch {
	case errors.Is(err, wsbus.ErrAhead):
		return sockets.ErrAhead
	case errors.Is(err, wsbus.ErrGone):
		return sockets.ErrGone
	case errors.Is(err, wsbus.ErrTooMany):
		return fmt.Errorf("%w: %w", sockets.ErrTooManySockets, err)
	case errors.Is(err, wsbus.ErrStopping):
		return rest.ErrStopping
	}
	return err
}

// eventLog adapts the outbox to package wsbus.
type eventLog struct{ store *store.Store }

func (l eventLog) Newest(owner uuid.UUID) (newest uint64, err error) {
	err = l.store.View(func(tx *store.Tx) error {
		newest, err = outbox.NewestOf(tx, owner)
		return err
	})
	return newest, err
}

func (l eventLog) Gaps(owner uuid.UUID, seq uint64, limit int) (gaps []wsbus.Gap, err error) {
	err = l.store.View(func(tx *store.Tx) error {
		found, err := outbox.Gaps(tx, owner, seq, limit)
		for _, g := range found {
			gaps = append(gaps, wsbus.Gap(g))
		}
		return err
	})
	return gaps, err
}

// A page of events ends when it has pageBytes. It is read in steps, whose events
// may all be large; together they bound what one client's replay holds.
const (
	pageBytes = 64 << 10
	pageStep  = 4
)

func (l eventLog) EventsAfter(owner uuid.UUID, seq uint64, limit int) (page []wsbus.Event, err error) {
	err = l.store.View(func(tx *store.Tx) error {
		page, err = fill(seq, limit, func(after uint64, step int) (some []wsbus.Event, err error) {
			entries, err := nextEntries(tx, owner, after, step)
			for _, e := range entries {
				some = append(some, wsbus.Event{Seq: e.OwnerSeq, Kind: e.Kind, Body: e.Body})
			}
			return some, err
		})
		return err
	})
	return page, err
}

// fill builds a page from the steps that next reads.
func fill(seq uint64, limit int, next func(after uint64, step int) ([]wsbus.Event, error)) (page []wsbus.Event, err error) {
	for size := 0; len(page) < limit && size < pageBytes; {
		some, err := next(seq, min(pageStep, limit-len(page)))
		if err != nil || len(some) == 0 {
			return page, err
		}
		for _, e := range some {
			seq, size = e.Seq, size+len(e.Body)
		}
		page = append(page, some...)
	}
	return page, nil
}

// instanceLog is the stored events of durable instances as package wsbus wants
// them. Their gaps are erased events; the oldest go when their time has ended.
type instanceLog struct{ store *store.Store }

func (l instanceLog) Newest(instance int64) (newest uint64, err error) {
	err = l.store.View(func(tx *store.Tx) error {
		newest, err = delivery.NewestOf(tx, instance)
		return err
	})
	return newest, err
}

func (l instanceLog) Gaps(instance int64, seq uint64, limit int) (gaps []wsbus.Gap, err error) {
	err = l.store.View(func(tx *store.Tx) error {
		gaps = nil
		runs, err := delivery.ErasedAfter(tx, instance, seq, limit)
		for _, r := range runs {
			gaps = append(gaps, wsbus.Gap{First: r[0], Last: r[1]})
		}
		return err
	})
	return gaps, err
}

func (l instanceLog) EventsAfter(instance int64, seq uint64, limit int) (page []wsbus.Event, err error) {
	err = l.store.View(func(tx *store.Tx) error {
		page, err = fill(seq, limit, func(after uint64, step int) (some []wsbus.Event, err error) {
			events, err := delivery.PositionAfter(tx, instance, after, step)
			for _, e := range events {
				some = append(some, wsbus.Event{Seq: e.Sequence, Kind: e.Kind, Body: e.Body})
			}
			return some, err
		})
		return err
	})
	return page, err
}

// nextEntries reads on while all it finds are damaged entries, which the outbox
// leaves out: only the end is an empty answer.
func nextEntries(tx *store.Tx, owner uuid.UUID, after uint64, limit int) ([]outbox.Entry, error) {
	newest, err := outbox.NewestOf(tx, owner)
	if err != nil || after >= newest {
		return nil, err
	}
	for left := newest - after; ; limit *= 8 {
		entries, err := outbox.Replay(tx, owner, after, limit)
		if err != nil || len(entries) > 0 || uint64(limit) >= left {
			return entries, err
		}
	}
}
