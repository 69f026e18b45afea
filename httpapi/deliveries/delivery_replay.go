package deliveries

import (
	"errors"
	"net/http"
	"slices"
	"strconv"

	"postern/delivery"
	"postern/delivery/logbook"
	"postern/event"
	"postern/httpapi/rest"
	"postern/store"
)

// CodeNoReplay says that there is no replay with this id.
const CodeNoReplay = "REPLAY_NOT_FOUND"

// CodeInvalidReplay says that a replay cannot be made of what was asked for.
const CodeInvalidReplay = "INVALID_REPLAY"

// ReplayRequest selects the deliveries to send again. An absent field selects all.
type ReplayRequest struct {
	From       string   `json:"from" doc:"Only those created at this time or later." example:"$time" rules:"format=date-time"`
	To         string   `json:"to" doc:"Only those created at this time or earlier." example:"$time" rules:"format=date-time"`
	Events     []string `json:"events" doc:"Only these events; all when absent." example:"messages.upsert" rules:"minItems=1"`
	State      []string `json:"state"`
	Target     string   `json:"target"`
	EndpointID *string  `json:"endpointId"`
	Limit      *int64   `json:"limit"`
}

// query checks the fields. An error names the field that breaks its rule.
func (in ReplayRequest) query() (q logbook.ReplayRequest, err error) {
	if q.From, q.To, err = span(in.From, in.To); err != nil {
		return q, err
	}
	if in.Events != nil && len(in.Events) == 0 {
		return q, rule("events must name one event or more; leave it out for all")
	}
	for i, name := range in.Events {
		field := "events[" + strconv.Itoa(i) + "]"
		kind, err := deliveryEvent(field, name)
		if err != nil {
			return q, err
		}
		if kind == "" {
			return q, rule(field + " is empty")
		}
		if !slices.Contains(q.Events, kind) {
			q.Events = append(q.Events, kind)
		}
	}
	if in.State != nil && len(in.State) == 0 {
		return q, rule("state must name one state or more; leave it out for " + rest.Joined(logbook.DefaultReplayStates()))
	}
	// Pending deliveries are sent anyway.
	ended := slices.DeleteFunc(delivery.States(), func(s delivery.State) bool { return s == delivery.Pending })
	if q.States, err = deliveryStates(in.State, ended); err != nil {
		return q, err
	}
	if q.Target, q.Endpoint, err = deliveryTarget(in.Target, in.EndpointID); err != nil {
		return q, err
	}
	if in.Limit != nil {
		if *in.Limit < 1 || *in.Limit > logbook.MaxReplay {
			return q, rule("limit must be from 1 to " + strconv.Itoa(logbook.MaxReplay))
		}
		q.Limit = int(*in.Limit)
	}
	return q, nil
}

// ReplayAccepted names the replay that a request started.
type ReplayAccepted struct {
	ReplayID uint64 `json:"replayId" doc:"The replay's id." example:"3" rules:"minimum=1"`
	Matched  int    `json:"matched" doc:"How many deliveries it will send again." example:"41" rules:"minimum=0"`
}

// replayDeliveries starts a replay of the selected deliveries.
func (a *API) replayDeliveries(c *rest.Call) error {
	var in ReplayRequest
	if err := c.Decode(&in, rest.MaxBody); err != nil {
		return err
	}
	q, err := in.query()
	if err != nil {
		return invalidReplay(err)
	}
	if q.NoCodes = !c.MayPair(); q.NoCodes && slices.ContainsFunc(q.Events, event.Kind.IsCredential) {
		return errResendCodes()
	}
	q.Instance, q.NoGlobal = c.Instance.ID, c.Instance.ID != 0
	if keep := rest.KeepInCommit[ReplayAccepted](c, http.StatusAccepted); keep != nil {
		q.Keep = func(tx *store.Tx, r logbook.Replay) error { return keep(tx, ReplayAccepted{r.ID, r.Matched}) }
	}
	r, err := a.Deliveries.Replays.Start(c.Request.Context(), q)
	if err != nil {
		return err
	}
	return c.Response.JSON(http.StatusAccepted, ReplayAccepted{r.ID, r.Matched})
}

// invalidReplay refuses an invalid value.
func invalidReplay(err error) error {
	if r, ok := errors.AsType[*rest.Error](err); ok {
		return rest.Refuse(http.StatusUnprocessableEntity, CodeInvalidReplay, r.Messages...)
	}
	return rest.Refuse(http.StatusUnprocessableEntity, CodeInvalidReplay, err.Error())
}

// ReplayStatus is the progress of a replay.
type ReplayStatus struct {
	Matched   int                 `json:"matched" doc:"How many deliveries it sends again." example:"41" rules:"minimum=0"`
	Sent      int                 `json:"sent" doc:"How many of them it has queued for delivery." example:"20" rules:"minimum=0"`
	Delivered int                 `json:"delivered" doc:"How many of those a receiver accepted." example:"18" rules:"minimum=0"`
	Failed    int                 `json:"failed" doc:"How many of those ended otherwise." example:"1" rules:"minimum=0"`
	State     logbook.ReplayState `json:"state"`
}

func (a *API) showReplay(c *rest.Call) error {
	id, err := deliveryID(c)
	if err != nil {
		return noReplay(err)
	}
	r, err := a.Deliveries.Replays.Status(c.Request.Context(), c.Instance.ID, id)
	if err != nil {
		return noReplay(err)
	}
	return c.Response.JSON(http.StatusOK, newReplayStatus(r))
}

// cancelReplay stops a replay. Deliveries that it already queued are not cancelled.
func (a *API) cancelReplay(c *rest.Call) error {
	if err := c.NoBody(); err != nil {
		return err
	}
	id, err := deliveryID(c)
	if err != nil {
		return noReplay(err)
	}
	r, err := a.Deliveries.Replays.Cancel(c.Request.Context(), c.Instance.ID, id)
	if err != nil {
		return noReplay(err)
	}
	return c.Response.JSON(http.StatusOK, newReplayStatus(r))
}

func newReplayStatus(r logbook.Replay) ReplayStatus {
	return ReplayStatus{Matched: r.Matched, Sent: r.Sent, Delivered: r.Delivered, Failed: r.Failed, State: r.State}
}

// noReplay is the not-found answer of replays.
func noReplay(err error) error {
	if errors.Is(err, delivery.ErrNotFound) {
		return rest.Refuse(http.StatusNotFound, CodeNoReplay, "there is no such replay")
	}
	return err
}
