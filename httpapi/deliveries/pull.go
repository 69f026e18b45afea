package deliveries

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/google/uuid"

	"postern/delivery/pull"
	"postern/event"
	"postern/httpapi/rest"
)

// ErrNotDurable reports that the events of an instance are not stored, so that there is nothing to pull.
var ErrNotDurable = errors.New("the events of the instance are not stored; set durable in the options of its webhook")

const (
	oldestHeader = "X-Event-Oldest" // with 410: the first event that can be read
	defaultPull  = 100
	maxWait      = 30 // seconds
)

func (a *API) pullRoutes() (all []rest.Route) {
	for _, of := range []struct {
		base, pull, ack, seek, list, drop, whose string

		auth  rest.Scheme
		right rest.Right
		codes rest.Codes
	}{
		{"/instance/{i}", "pullEvents", "acknowledgeEvents", "seekEvents", "listConsumers", "deleteConsumer", "the instance", rest.InstanceBearer, rest.ScopeRead, rest.Codes{"NOT_DURABLE"}},
		{"", "pullAllEvents", "acknowledgeAllEvents", "seekAllEvents", "listAllConsumers", "deleteAnyConsumer", "all instances and batches", rest.GlobalKey, rest.Never, nil},
	} {
		all = append(all, []rest.Route{
			{
				Method: "GET", Path: of.base + "/events", Auth: of.auth, Right: of.right, Handle: a.pullEvents,
				ID: of.pull, Summary: "Get the events of " + of.whose + " after the position of a consumer, oldest first.",
				About: "The first call with a name makes the consumer. The events come again until their position is acknowledged. A call that waits ends with 404 when its consumer is deleted.",
				Query: []string{"consumer", "limit", "wait", "event", "from"}, Out: rest.TypeOf[PulledEvents](),
				Codes: of.codes.And("EVENTS_GONE", "CONSUMER_NOT_FOUND", "INVALID_CONSUMER", "TOO_MANY_CONSUMERS", rest.CodeLimitReached),
			},
			{
				Method: "POST", Path: of.base + "/events/ack", Auth: of.auth, Right: of.right, Handle: a.ackEvents,
				ID: of.ack, Summary: "Move the position of a consumer of " + of.whose + " forward.", About: "A sequence before the position changes nothing.",
				In: rest.TypeOf[ackRequest](), Example: `{"consumer":"crm","sequence":42}`, Out: rest.TypeOf[Consumer](),
				Codes: of.codes.And("CONSUMER_NOT_FOUND", "INVALID_CONSUMER", "INVALID_SEQUENCE"),
			},
			{
				Method: "POST", Path: of.base + "/events/seek", Auth: of.auth, Right: of.right, Handle: a.seekEvents,
				ID: of.seek, Summary: "Move the position of a consumer of " + of.whose + " anywhere.", About: "Either sequence, where 0 is before the oldest kept event, or time.",
				In: rest.TypeOf[seekRequest](), Example: `{"consumer":"crm","sequence":0}`, Out: rest.TypeOf[Consumer](),
				Codes: of.codes.And("CONSUMER_NOT_FOUND", "INVALID_CONSUMER", "INVALID_SEQUENCE"),
			},
			{
				Method: "GET", Path: of.base + "/events/consumers", Auth: of.auth, Right: of.right, Handle: a.listConsumers,
				ID: of.list, Summary: "List the consumers of the events of " + of.whose + ".", Out: rest.TypeOf[ConsumerList](),
			},
			{
				Method: "DELETE", Path: of.base + "/events/consumers/{consumer}", Auth: of.auth, Right: of.right, Handle: a.deleteConsumer,
				ID: of.drop, Summary: "Delete a consumer of the events of " + of.whose + ".", Status: http.StatusNoContent, Codes: rest.Codes{"CONSUMER_NOT_FOUND"},
			},
		}...)
	}
	return all
}

// PulledEvents is the answer to a pull.
type PulledEvents struct {
	Events []PulledEvent `json:"events" doc:"The events, oldest first."`
	Next   uint64        `json:"next" doc:"The position to acknowledge: the last event that was looked at." example:"42" rules:"minimum=0"`
	More   bool          `json:"more" doc:"Whether another call would answer at once." example:"false"`
}

// PulledEvent is one stored event.
type PulledEvent struct {
	Sequence  uint64          `json:"sequence" doc:"Its number among the events of the instance, without holes." example:"42" rules:"minimum=1"`
	Event     event.Kind      `json:"event"`
	WebhookID uuid.UUID       `json:"webhookId" doc:"Its id, which webhooks have in the header webhook-id." example:"$uuid"`
	CreatedAt event.Time      `json:"createdAt"`
	Body      json.RawMessage `json:"body" doc:"The body that webhooks get, byte for byte."`
}

// ConsumerList are the consumers of an instance.
type ConsumerList struct {
	Consumers []Consumer `json:"consumers" doc:"The consumers by name."`
}

// Consumer is a name with a position in the events of an instance.
type Consumer struct {
	Name            string      `json:"consumer" doc:"Its name." example:"crm"`
	Position        uint64      `json:"position" doc:"The last event that it has acknowledged." example:"42" rules:"minimum=0"`
	Lag             uint64      `json:"lag" doc:"How many events are after it." example:"0" rules:"minimum=0"`
	OldestWaitingAt *event.Time `json:"oldestWaitingAt" doc:"When the first event after it was made; null when there is none." example:"$time"`
	LastPullAt      *event.Time `json:"lastPullAt" doc:"When it last asked for events; null when it never did." example:"$time"`
	LastAckAt       *event.Time `json:"lastAckAt" doc:"When it last acknowledged; null when it never did." example:"$time"`
}

func newConsumer(s pull.State) Consumer {
	return Consumer{
		Name: s.Name, Position: s.Position, Lag: s.Lag, OldestWaitingAt: event.AtPtr(s.OldestWaiting),
		LastPullAt: event.AtPtr(s.LastPull), LastAckAt: event.AtPtr(s.LastAck),
	}
}

func (a *API) mustBeDurable(c *rest.Call) error {
	if c.Instance.ID != pull.All && !a.Durable(c.Instance.ID) { // there are batch events in any case
		return ErrNotDurable
	}
	return nil
}

// pullEvents answers with the events after a consumer's position.
func (a *API) pullEvents(c *rest.Call) error {
	q, err := c.Query([]string{"consumer", "limit", "wait", "from"}, "event")
	if err != nil {
		return err
	}
	r, err := readPull(q)
	if err != nil {
		return err
	}
	if err := pull.CheckName(q.Get("consumer")); err != nil {
		return err
	}
	kinds, err := pulledKinds(c, q)
	if err != nil {
		return err
	}
	if err := a.mustBeDurable(c); err != nil {
		return err
	}
	r.Wants = pull.Wanted(kinds)
	ctx, done := c.UntilStopped()
	defer done(nil)
	p, err := a.Consumers.Pull(ctx, c.Instance.ID, q.Get("consumer"), r, c.StillOpens)
	if gone, ok := errors.AsType[*pull.GoneError](err); ok {
		c.Response.Header().Set(oldestHeader, strconv.FormatUint(gone.Oldest, 10))
	}
	if err != nil {
		return err
	}
	answer := PulledEvents{Events: []PulledEvent{}, Next: p.Next, More: p.More}
	for _, item := range p.Items {
		answer.Events = append(answer.Events, PulledEvent{item.Sequence, item.Kind, item.ID, event.At(item.CreatedAt), item.Body})
	}
	return c.Response.JSON(http.StatusOK, answer)
}

func readPull(q url.Values) (r pull.Request, err error) {
	r.Limit = defaultPull
	if q.Has("limit") {
		if r.Limit, err = strconv.Atoi(q.Get("limit")); err != nil || r.Limit < 1 || r.Limit > pull.MaxLimit {
			return r, rest.InvalidQuery(fmt.Sprintf("limit must be 1 to %d", pull.MaxLimit))
		}
	}
	if q.Has("wait") {
		seconds, err := strconv.Atoi(q.Get("wait"))
		if err != nil || seconds < 0 || seconds > maxWait {
			return r, rest.InvalidQuery(fmt.Sprintf("wait must be 0 to %d, in seconds", maxWait))
		}
		r.Wait = time.Duration(seconds) * time.Second
	}
	switch q.Get("from") {
	case "now":
		r.FromNow = true
	case "":
	default:
		return r, rest.InvalidQuery("from must be now; without it a new consumer begins at the oldest kept event")
	}
	return r, nil
}

// pulledKinds returns the kinds of events that a pull asks for and may get, nil for all.
func pulledKinds(c *rest.Call, q url.Values) (kinds []event.Kind, err error) {
	for _, name := range rest.QueryList(q, "event") {
		if name == "*" {
			return c.MayHear(nil)
		}
		if d, known := event.Lookup(event.Kind(name)); !known || d.Family != event.Instance && c.Instance.ID != pull.All {
			return nil, rest.InvalidQuery(strconv.Quote(event.Cut(name)) + " is not an event of this path")
		}
		kinds = append(kinds, event.Kind(name))
	}
	return c.MayHear(kinds)
}

// sequence returns the number of an event, or 0.
func sequence(n int64) (uint64, error) {
	if n < 0 {
		return 0, pull.ErrAhead
	}
	return uint64(n), nil
}

type ackRequest struct {
	Consumer string `json:"consumer" strict:"required" doc:"The name of the consumer." example:"crm"`
	Sequence int64  `json:"sequence" strict:"required" doc:"The last event that was processed: next of the answer with the events." example:"42" rules:"minimum=0"`
}

// ackEvents moves a consumer's position forward.
func (a *API) ackEvents(c *rest.Call) error {
	var in ackRequest
	if err := c.Decode(&in, rest.MaxBody); err != nil {
		return err
	}
	if err := pull.CheckName(in.Consumer); err != nil {
		return err
	}
	to, err := sequence(in.Sequence)
	if err == nil {
		err = a.mustBeDurable(c)
	}
	if err != nil {
		return err
	}
	s, err := a.Consumers.Ack(c.Request.Context(), c.Instance.ID, in.Consumer, to)
	return showConsumer(c, s, err)
}

type seekRequest struct {
	Consumer string `json:"consumer" strict:"required" doc:"The name of the consumer." example:"crm"`
	Sequence *int64 `json:"sequence" doc:"The event after which it continues; 0: before the oldest kept one." example:"0" rules:"minimum=0"`
	Time     string `json:"time"`
}

// seekEvents moves a consumer's position anywhere.
func (a *API) seekEvents(c *rest.Call) error {
	var in seekRequest
	if err := c.Decode(&in, rest.MaxBody); err != nil {
		return err
	}
	if err := pull.CheckName(in.Consumer); err != nil {
		return err
	}
	if (in.Sequence == nil) == (in.Time == "") {
		return rest.Refuse(http.StatusBadRequest, "INVALID_SEQUENCE", "give either sequence or time")
	}
	if in.Time != "" {
		at, err := time.Parse(time.RFC3339, in.Time)
		if err != nil {
			return rest.Refuse(http.StatusBadRequest, "INVALID_SEQUENCE", "time must be an RFC 3339 time")
		}
		if err := a.mustBeDurable(c); err != nil {
			return err
		}
		s, err := a.Consumers.SeekTime(c.Request.Context(), c.Instance.ID, in.Consumer, at)
		return showConsumer(c, s, err)
	}
	to, err := sequence(*in.Sequence)
	if err == nil {
		err = a.mustBeDurable(c)
	}
	if err != nil {
		return err
	}
	s, err := a.Consumers.Seek(c.Request.Context(), c.Instance.ID, in.Consumer, to)
	return showConsumer(c, s, err)
}

func showConsumer(c *rest.Call, s pull.State, err error) error {
	if err != nil {
		return err
	}
	return c.Response.JSON(http.StatusOK, newConsumer(s))
}

// listConsumers lists the consumers of an instance.
func (a *API) listConsumers(c *rest.Call) error {
	all, err := a.Consumers.List(c.Instance.ID)
	if err != nil {
		return err
	}
	answer := ConsumerList{Consumers: []Consumer{}}
	for _, s := range all {
		answer.Consumers = append(answer.Consumers, newConsumer(s))
	}
	return c.Response.JSON(http.StatusOK, answer)
}

// deleteConsumer deletes a consumer.
func (a *API) deleteConsumer(c *rest.Call) error {
	if err := a.Consumers.Delete(c.Request.Context(), c.Instance.ID, c.Params.ByName("consumer")); err != nil {
		return err
	}
	return c.NoContent()
}
