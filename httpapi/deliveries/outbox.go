package deliveries

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
	"postern/httpapi/rest"
	"postern/store"
)

// OutboxRecord is an event of the outbox with its state and attempts, without the body for the
// receiver.
type OutboxRecord struct {
	ID            uint64      `json:"id" doc:"Its number among the events of all users, in commit order." example:"17" rules:"minimum=1"`
	Sequence      uint64      `json:"sequence" doc:"Its sequence number for its user, from 1 and without gaps; since of the WebSocket refers to it." example:"5" rules:"minimum=1"`
	Event         event.Kind  `json:"event"`
	BatchID       uuid.UUID   `json:"batchId"`
	OwnerUserID   uuid.UUID   `json:"ownerUserId"`
	Timestamp     event.Time  `json:"timestamp" doc:"The time in the event's body." example:"$time"`
	State         string      `json:"state" doc:"pending, delivered, or created while the global webhook was disabled." example:"delivered" rules:"enum=pending|delivered|disabled"`
	Attempts      int         `json:"attempts" doc:"The number of attempts." example:"1" rules:"minimum=0"`
	LastStatus    *int        `json:"lastStatus" doc:"The status of the receiver's last answer; null when there was none." example:"200"`
	LastError     *string     `json:"lastError" doc:"Why the last attempt failed; null when none did." example:"connection refused"`
	NextAttemptAt *event.Time `json:"nextAttemptAt" doc:"The time of the next attempt; null unless it is pending." example:"$time"`
	DeliveredAt   *event.Time `json:"deliveredAt" doc:"When the receiver accepted it; null until then." example:"$time"`
}

func newOutboxRecord(e outbox.Entry) OutboxRecord {
	r := OutboxRecord{
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
func (a *API) listOutbox(c *rest.Call) error {
	q, err := c.Query([]string{"state", "limit", "nextCursor", "previousCursor"})
	if err != nil {
		return err
	}
	state := outbox.State(q.Get("state"))
	switch state {
	case "", outbox.Pending, outbox.Delivered, outbox.Disabled:
	default:
		return rest.InvalidQuery("state " + strconv.Quote(event.Cut(string(state))) + " is not one of pending, delivered, disabled")
	}
	page, err := rest.ReadPage(q)
	if err != nil {
		return err
	}
	list := outboxList{name: "outbox " + string(state), newestFirst: true, query: outbox.Query{State: state}}
	answer, err := a.readOutbox(list, batch.Page(page), func(*store.Tx) (int, bool, error) {
		return a.Outbox.Counts().Of(state), false, nil
	})
	if err != nil {
		return err
	}
	return c.Response.JSON(http.StatusOK, answer)
}

// maxEventCount bounds the number of events of a batch that are counted.
const maxEventCount = 100_000

// listEvents lists the events of one batch in order, oldest first.
func (a *API) listEvents(c *rest.Call) error {
	q, err := c.Query([]string{"limit", "nextCursor", "previousCursor"})
	if err != nil {
		return err
	}
	page, err := rest.ReadPage(q)
	if err != nil {
		return err
	}
	id, err := c.UUID("id", batch.ErrNotFound)
	if err != nil {
		return err
	}
	if _, err := a.Engine.Shown(c.User, c.Opens()).Batch(id); err != nil {
		return err
	}
	list := outboxList{name: "events " + id.String(), query: outbox.Query{Batch: id}}
	answer, err := a.readOutbox(list, batch.Page(page), func(tx *store.Tx) (int, bool, error) {
		n, err := outbox.CountOfBatch(tx, id, maxEventCount)
		return n, n == maxEventCount, err
	})
	if err != nil {
		return err
	}
	// Its events are removed after the batch: if the batch still exists, all of them did.
	if _, err := a.Engine.Shown(c.User, c.Opens()).Batch(id); err != nil {
		return err
	}
	return c.Response.JSON(http.StatusOK, answer)
}

func (a *API) readOutbox(l outboxList, p batch.Page, total func(*store.Tx) (n int, atLeast bool, err error)) (page batch.List[OutboxRecord], err error) {
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
func (a *API) retryEntry(c *rest.Call) error {
	if err := c.NoBody(); err != nil {
		return err
	}
	seq, err := strconv.ParseUint(c.Params.ByName("id"), 10, 64)
	if err != nil || seq == 0 || seq == math.MaxUint64 {
		return fmt.Errorf("id: %w", dispatch.ErrNoEntry)
	}
	e, err := a.Relay.RetryNow(c.Request.Context(), seq)
	if err != nil {
		return err
	}
	return c.Response.JSON(http.StatusOK, newOutboxRecord(e))
}

// RetryAnswer counts the pending events that a call made due.
type RetryAnswer struct {
	Retried int `json:"retried" doc:"How many pending events are due now." example:"3" rules:"minimum=0"`
}

// retryOutbox makes all pending events due at once.
func (a *API) retryOutbox(c *rest.Call) error {
	if err := c.NoBody(); err != nil {
		return err
	}
	n, err := a.Relay.RetryAll(c.Request.Context())
	if err != nil {
		return err
	}
	return c.Response.JSON(http.StatusOK, RetryAnswer{n})
}
