package httpapi

import (
	"fmt"
	"math"
	"net/http"
	"strconv"

	"github.com/google/uuid"

	"postern/batch"
	"postern/delivery/outbox"
	"postern/dispatch"
	"postern/event"
	"postern/store"
)

// outboxRecord is an event of the outbox and what happened to it, without the
// body that the receiver gets.
type outboxRecord struct {
	ID            uint64      `json:"id"`       // over all users, in commit order
	Sequence      uint64      `json:"sequence"` // of the user, from 1, without holes
	Event         event.Kind  `json:"event"`
	BatchID       uuid.UUID   `json:"batchId"`
	OwnerUserID   uuid.UUID   `json:"ownerUserId"`
	Timestamp     event.Time  `json:"timestamp"` // that of the event's envelope
	State         string      `json:"state"`
	Attempts      int         `json:"attempts"`
	LastStatus    *int        `json:"lastStatus"` // null when there was no answer
	LastError     *string     `json:"lastError"`
	NextAttemptAt *event.Time `json:"nextAttemptAt"` // null unless it is pending
	DeliveredAt   *event.Time `json:"deliveredAt"`
}

func newOutboxRecord(e outbox.Entry) outboxRecord {
	r := outboxRecord{
		ID: e.Seq, Sequence: e.OwnerSeq, Event: e.Kind, BatchID: e.Batch, OwnerUserID: e.Owner,
		Timestamp: event.At(e.CreatedAt), State: string(e.State), Attempts: e.Attempts,
	}
	if e.LastStatus != 0 {
		r.LastStatus = &e.LastStatus
	}
	if e.LastError != "" {
		r.LastError = &e.LastError
	}
	if !e.NextAttemptAt.IsZero() {
		at := event.At(e.NextAttemptAt)
		r.NextAttemptAt = &at
	}
	if !e.DeliveredAt.IsZero() {
		at := event.At(e.DeliveredAt)
		r.DeliveredAt = &at
	}
	return r
}

// listOutbox lists the events of all users, newest first.
func (a *api) listOutbox(c *call) error {
	q, err := c.query([]string{"state", "limit", "nextCursor", "previousCursor"})
	if err != nil {
		return err
	}
	state := outbox.State(q.Get("state"))
	switch state {
	case "", outbox.Pending, outbox.Delivered, outbox.Disabled:
	default:
		return invalidQuery("state " + strconv.Quote(event.Cut(string(state))) + " is not one of pending, delivered, disabled")
	}
	page, err := readPage(q)
	if err != nil {
		return err
	}
	list := outboxList{name: "outbox " + string(state), newestFirst: true, query: outbox.Query{State: state}}
	answer, err := a.readOutbox(list, page, func(*store.Tx) (int, bool, error) {
		return a.Outbox.Counts().Of(state), false, nil
	})
	if err != nil {
		return err
	}
	return c.w.json(http.StatusOK, answer)
}

// maxEventCount bounds how many events of a batch are counted.
const maxEventCount = 100_000

// listEvents lists the events of one batch as they happened, oldest first.
func (a *api) listEvents(c *call) error {
	q, err := c.query([]string{"limit", "nextCursor", "previousCursor"})
	if err != nil {
		return err
	}
	page, err := readPage(q)
	if err != nil {
		return err
	}
	id, err := c.uuid("id")
	if err != nil {
		return err
	}
	if _, err := a.shown(c).Batch(id); err != nil {
		return err
	}
	list := outboxList{name: "events " + id.String(), query: outbox.Query{Batch: id}}
	answer, err := a.readOutbox(list, page, func(tx *store.Tx) (int, bool, error) {
		n, err := outbox.CountOfBatch(tx, id, maxEventCount)
		return n, n == maxEventCount, err
	})
	if err != nil {
		return err
	}
	// Its events go after a batch does: when it is still there, they all were.
	if _, err := a.shown(c).Batch(id); err != nil {
		return err
	}
	return c.w.json(http.StatusOK, answer)
}

func (a *api) readOutbox(l outboxList, p batch.Page, total func(*store.Tx) (n int, atLeast bool, err error)) (page batch.List[outboxRecord], err error) {
	err = a.Store.View(func(tx *store.Tx) error {
		if page, err = l.page(tx, p); err != nil {
			return err
		}
		page.TotalRecords, page.TotalIsMinimum, err = total(tx)
		return err
	})
	return page, err
}

// retryEntry makes one pending event due at once.
func (a *api) retryEntry(c *call) error {
	if err := c.noBody(); err != nil {
		return err
	}
	seq, err := strconv.ParseUint(c.params.ByName("id"), 10, 64)
	if err != nil || seq == 0 || seq == math.MaxUint64 {
		return fmt.Errorf("id: %w", dispatch.ErrNoEntry)
	}
	e, err := a.Relay.RetryNow(c.r.Context(), seq)
	if err != nil {
		return err
	}
	return c.w.json(http.StatusOK, newOutboxRecord(e))
}

type retryAnswer struct {
	Retried int `json:"retried"` // pending events, all of them due now
}

// retryOutbox makes all pending events due at once.
func (a *api) retryOutbox(c *call) error {
	if err := c.noBody(); err != nil {
		return err
	}
	n, err := a.Relay.RetryAll(c.r.Context())
	if err != nil {
		return err
	}
	return c.w.json(http.StatusOK, retryAnswer{n})
}
