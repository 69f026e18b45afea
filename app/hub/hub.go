// Package hub lies between the WebSocket hub (wsbus), the API and the stored events:
// [Adapter] is the hub as the API asks for it, [BatchEvents] and [InstanceEvents] are what
// the hub replays.
package hub

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/google/uuid"

	"postern/console/feed"
	"postern/delivery"
	"postern/delivery/outbox"
	"postern/httpapi/rest"
	"postern/httpapi/sockets"
	"postern/store"
	"postern/wsbus"
)

// Adapter adapts wsbus.Hub to package httpapi.
type Adapter struct {
	*wsbus.Hub
	Console *feed.Feed
}

// ServeConsole serves the feed of a viewer of the console.
func (h Adapter) ServeConsole(w http.ResponseWriter, r *http.Request, v feed.Viewer, s sockets.Stream) error {
	return apiError(h.ServeFeed(w, r, wsbus.FeedClient{
		Open: func(wake func()) wsbus.Messages { return h.Console.Open(v, wake) }, Expires: s.ExpiresAt, Token: s.Token, Holder: s.Holder, Check: s.Check,
	}))
}

// ServeGlobal serves the batch events of a user.
func (h Adapter) ServeGlobal(w http.ResponseWriter, r *http.Request, user uuid.UUID, s sockets.Stream) error {
	return apiError(h.Hub.ServeGlobal(w, r, wsbus.GlobalClient{Owner: user, Kinds: s.Kinds, Expires: s.ExpiresAt, Token: s.Token, Holder: s.Holder, Check: s.Check, Tells: s.Tells, Since: s.Since}))
}

// ServeInstance serves the events of an instance.
func (h Adapter) ServeInstance(w http.ResponseWriter, r *http.Request, id int64, s sockets.Stream) error {
	return apiError(h.Hub.ServeInstance(w, r, wsbus.InstanceClient{
		Instance: id, Durable: s.Durable, Kinds: s.Kinds, Expires: s.ExpiresAt, Token: s.Token, Holder: s.Holder, Scoped: s.Scoped, Since: s.Since, Check: s.Check,
	}))
}

// apiError maps the hub's errors to those of the API.
func apiError(err error) error {
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

// BatchEvents are the events of the outbox as a wsbus.Replayer.
type BatchEvents struct{ Store *store.Store }

// Newest implements [wsbus.Replayer].
func (l BatchEvents) Newest(owner uuid.UUID) (newest uint64, err error) {
	err = l.Store.View(func(tx *store.Tx) error {
		newest, err = outbox.NewestOf(tx, owner)
		return err
	})
	return newest, err
}

// Gaps implements [wsbus.Replayer].
func (l BatchEvents) Gaps(owner uuid.UUID, seq uint64, limit int) (gaps []wsbus.Gap, err error) {
	err = l.Store.View(func(tx *store.Tx) error {
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

// EventsAfter implements [wsbus.Replayer].
func (l BatchEvents) EventsAfter(owner uuid.UUID, seq uint64, limit int) (page []wsbus.Event, err error) {
	err = l.Store.View(func(tx *store.Tx) error {
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

// InstanceEvents are the stored events of durable instances as a wsbus.Replayer. Their
// gaps are erased events; the oldest go when their time has ended.
type InstanceEvents struct{ Store *store.Store }

// Newest implements [wsbus.Replayer].
func (l InstanceEvents) Newest(instance int64) (newest uint64, err error) {
	err = l.Store.View(func(tx *store.Tx) error {
		newest, err = delivery.NewestOf(tx, instance)
		return err
	})
	return newest, err
}

// Gaps implements [wsbus.Replayer].
func (l InstanceEvents) Gaps(instance int64, seq uint64, limit int) (gaps []wsbus.Gap, err error) {
	err = l.Store.View(func(tx *store.Tx) error {
		gaps = nil
		runs, err := delivery.ErasedAfter(tx, instance, seq, limit)
		for _, r := range runs {
			gaps = append(gaps, wsbus.Gap{First: r[0], Last: r[1]})
		}
		return err
	})
	return gaps, err
}

// EventsAfter implements [wsbus.Replayer].
func (l InstanceEvents) EventsAfter(instance int64, seq uint64, limit int) (page []wsbus.Event, err error) {
	err = l.Store.View(func(tx *store.Tx) error {
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
