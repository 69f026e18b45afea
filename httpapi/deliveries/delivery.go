package deliveries

import (
	"math"
	"net/http"
	"strconv"

	"github.com/google/uuid"

	"postern/delivery"
	"postern/event"
	"postern/httpapi/rest"
)

// DeliveryRecord is one delivery of the log, without its body and attempts.
type DeliveryRecord struct {
	ID            uint64         `json:"id" doc:"Its number, ascending in the order of creation." example:"17" rules:"minimum=1"`
	EventID       uuid.UUID      `json:"eventId"`
	Event         event.Kind     `json:"event"`
	Flow          delivery.Flow  `json:"flow"`
	InstanceID    *int64         `json:"instanceId" doc:"The instance of the event; null for batch events." example:"1"`
	InstanceName  *string        `json:"instanceName" doc:"Its name when the event happened." example:"$name"`
	BatchID       *uuid.UUID     `json:"batchId" doc:"The batch of the event; null for instance events." example:"$uuid"`
	Target        event.Target   `json:"target"`
	EndpointID    *string        `json:"endpointId" doc:"Which endpoint; null for other targets." example:"crm"`
	URL           string         `json:"url" doc:"Where it goes, without the query." example:"https://example.org/hook"`
	State         delivery.State `json:"state" doc:"The state of the delivery." example:"FAILED"`
	AttemptCount  int            `json:"attemptCount" doc:"The number of attempts." example:"1" rules:"minimum=0"`
	LastStatus    *int           `json:"lastStatus" doc:"The status of the last answer; null when there was none." example:"503"`
	LastError     *string        `json:"lastError" doc:"Why the last attempt failed, or why there will be none; null when it was accepted." example:"receiver answered 503"`
	DurationMs    *int64         `json:"durationMs" doc:"How long the last attempt took, in milliseconds; null when there was none." example:"31" rules:"minimum=0"`
	Bytes         int            `json:"bytes" doc:"The length of the body in bytes." example:"1204" rules:"minimum=0"`
	RequestID     *string        `json:"requestId" doc:"The x-request-id of the last attempt, or of the first one to come; each attempt has its own." example:"$uuid"`
	CreatedAt     event.Time     `json:"createdAt"`
	LastAttemptAt *event.Time    `json:"lastAttemptAt" doc:"The time of the last attempt; null when there was none." example:"$time"`
	NextAttemptAt *event.Time    `json:"nextAttemptAt" doc:"The time of the next attempt; null when it is sent as soon as its turn comes, and when it has ended." example:"$time"`
	ReplayOf      *uint64        `json:"replayOf" doc:"The delivery that it replays; null when it is no replay." example:"12"`
	Replayable    bool           `json:"replayable" doc:"Whether it can be sent again: its body is still stored, and its destination exists." example:"true"`
	WaitsFor      *uint64        `json:"waitsFor,omitempty"` // lists do not have it
}

// DeliveryDetails is a delivery with its body and attempts.
type DeliveryDetails struct {
	DeliveryRecord

	Body     *string           `json:"body"` // the exact bytes; null when they are not kept
	Attempts []DeliveryAttempt `json:"attempts" doc:"Its newest 1000 attempts, oldest first."`
}

// DeliveryAttempt is one attempt of a delivery.
type DeliveryAttempt struct {
	Number     int        `json:"number" doc:"The number of the attempt, from 1." example:"1" rules:"minimum=1"`
	StartedAt  event.Time `json:"startedAt"`
	DurationMs int64      `json:"durationMs" doc:"How long it took, in milliseconds." example:"31" rules:"minimum=0"`
	Status     *int       `json:"status" doc:"The status of the answer; null when there was none." example:"503"`
	Error      *string    `json:"error" doc:"Why it failed; null when it was accepted." example:"receiver answered 503"`
	RequestID  *string    `json:"requestId" doc:"Its x-request-id." example:"$uuid"`
	Answer     *string    `json:"answer"` // the beginning of one that was not 2xx
}

// NewDeliveryRecord returns the row of a delivery in lists.
func NewDeliveryRecord(r delivery.Listed) DeliveryRecord {
	out := DeliveryRecord{
		ID: r.ID, EventID: r.EventID, Event: r.Event, Flow: r.Lane.Flow, BatchID: event.OrNull(r.Batch),
		InstanceID: event.OrNull(r.Instance), InstanceName: event.OrNull(r.Name),
		Target: r.Lane.Target, EndpointID: event.OrNull(r.Lane.Endpoint), URL: r.URL, State: r.State,
		AttemptCount: r.Attempts, LastStatus: event.OrNull(r.LastStatus), LastError: event.OrNull(r.LastError), Bytes: r.Bytes,
		RequestID: event.OrNull(r.RequestID), CreatedAt: event.At(r.CreatedAt), LastAttemptAt: event.AtPtr(r.LastAttemptAt),
		NextAttemptAt: event.AtPtr(r.NextAttemptAt), ReplayOf: event.OrNull(r.ReplayOf), Replayable: r.Replayable,
		WaitsFor: event.OrNull(r.WaitsFor),
	}
	if r.Attempts > 0 {
		ms := r.Duration.Milliseconds()
		out.DurationMs = &ms
	}
	return out
}

func newDeliveryAttempt(a delivery.Attempt) DeliveryAttempt {
	return DeliveryAttempt{
		Number: a.Number, StartedAt: event.At(a.StartedAt), DurationMs: a.Duration.Milliseconds(), Status: event.OrNull(a.Status),
		Error: event.OrNull(a.Error), RequestID: event.OrNull(a.RequestID), Answer: event.OrNull(a.Answer),
	}
}

// deliveryID returns the delivery or replay that the path names.
func deliveryID(c *rest.Call) (uint64, error) {
	id, err := strconv.ParseUint(c.Params.ByName("id"), 10, 64)
	if err != nil || id == 0 || id > math.MaxInt64 {
		return 0, delivery.ErrNotFound
	}
	return id, nil
}

// sees reports whether the caller may see the record: the operator sees all, an instance its own except
// deliveries to the operator's webhook.
func seesDelivery(c *rest.Call, r delivery.Record) bool {
	return c.Instance.ID == 0 || r.Instance == c.Instance.ID && r.Lane.Target != event.TargetGlobal
}

// mayResend refuses a retry of a delivery that the caller may not see, or of a code if the caller may
// not pair.
func mayResend(c *rest.Call, r delivery.Record) error {
	switch {
	case !seesDelivery(c, r):
		return delivery.ErrNotFound
	case r.Event.IsCredential() && !c.MayPair():
		return errResendCodes()
	}
	return nil
}

func errResendCodes() error {
	return rest.MissingScope("the key needs the scope pair to send qrcode.updated again: its codes link the account")
}

// showDelivery shows one delivery with its body and attempts.
func (a *API) showDelivery(c *rest.Call) error {
	id, err := deliveryID(c)
	if err != nil {
		return err
	}
	r, all, body, err := a.Deliveries.Record(c.Request.Context(), id)
	if err != nil {
		return err
	}
	if !seesDelivery(c, r.Record) {
		return delivery.ErrNotFound
	}
	out := DeliveryDetails{DeliveryRecord: NewDeliveryRecord(r), Attempts: make([]DeliveryAttempt, len(all))}
	secret := r.Event.IsCredential() && !c.MayPair()
	if body != nil && !secret {
		text := string(body)
		out.Body = &text
	}
	for i, attempt := range all {
		if secret {
			attempt.Answer = "" // a receiver may echo the body
		}
		out.Attempts[i] = newDeliveryAttempt(attempt)
	}
	return c.Response.JSON(http.StatusOK, out)
}

// retryDelivery sends one delivery now, in any state.
func (a *API) retryDelivery(c *rest.Call) error {
	if err := c.NoBody(); err != nil {
		return err
	}
	id, err := deliveryID(c)
	if err != nil {
		return err
	}
	r, err := a.Relay.Retry(c.Request.Context(), id, func(r delivery.Record) error { return mayResend(c, r) })
	if err != nil {
		return err
	}
	return c.Response.JSON(http.StatusAccepted, NewDeliveryRecord(r))
}
