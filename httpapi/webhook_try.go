package httpapi

import (
	"net/http"
	"strconv"
	"time"

	"postern/event"
)

// tryRequest is the body that asks for an example delivery.
type tryRequest struct {
	Event string `json:"event" strict:"required"`
}

// tryAnswer is how the example delivery went.
type tryAnswer struct {
	Delivered  bool    `json:"delivered"`
	StatusCode int     `json:"statusCode"` // 0 when there was no answer
	DurationMs int64   `json:"durationMs"`
	Error      *string `json:"error"`
}

// tryWebhook sends one example of an event to the instance's webhook, whatever
// its flags are, and tells how the receiver took it.
func (a *api) tryWebhook(c *call) error {
	var in tryRequest
	if err := c.decode(&in, maxBody); err != nil {
		return err
	}
	d, known := event.Lookup(event.Kind(in.Event))
	if !known || d.Family != event.Instance {
		return refuse(http.StatusBadRequest, codeUnknownEvent,
			"event is not an instance event; the nearest is "+strconv.Quote(event.Nearest(in.Event, instanceKinds())))
	}
	notice, err := a.Registry.Example(c.instance.ID, d.Kind, c.requestID)
	if err != nil {
		return err
	}
	start := time.Now()
	status, err := a.Post(c.r.Context(), notice)
	answer := tryAnswer{StatusCode: status, DurationMs: time.Since(start).Milliseconds(), Delivered: err == nil}
	if err != nil {
		answer.Error = orNull(err.Error())
	}
	return c.w.json(http.StatusOK, answer)
}

func instanceKinds() []string {
	var kinds []string
	for _, d := range event.Catalogue() {
		if d.Family == event.Instance {
			kinds = append(kinds, string(d.Kind))
		}
	}
	return kinds
}
