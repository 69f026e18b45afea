package batches

import (
	"cmp"
	"context"
	"maps"
	"net/http"
	"slices"
	"time"

	"postern/batch"
	"postern/batch/record"
	"postern/event"
	"postern/httpapi/rest"
	"postern/messages"
)

// Insights is what became of the messages of a batch.
type Insights struct {
	Counts     InsightCounts     `json:"counts" doc:"Of the whole batch."`
	ByHour     []HourInsight     `json:"byHour" doc:"The hours in which any of it happened, the earliest first."`
	ByInstance []InstanceInsight `json:"byInstance" doc:"The instances that sent, by their id."`
}

// InsightCounts are numbers of recipients.
type InsightCounts struct {
	Sent      int  `json:"sent" doc:"To whom at least one message was acknowledged." example:"100" rules:"minimum=0"`
	Delivered *int `json:"delivered" doc:"Of these, to whose phone it was delivered; null when receipts are not stored." example:"96" rules:"minimum=0"`
	Read      *int `json:"read" doc:"Of these, who read it; null when receipts are not stored." example:"80" rules:"minimum=0"`
	Replied   *int `json:"replied" doc:"Who quoted a message of it, or wrote within 7 days; null when received messages are not stored." example:"12" rules:"minimum=0"`
}

// HourInsight is what happened in one hour.
type HourInsight struct {
	Hour event.Time `json:"hour" doc:"Its start, in UTC." example:"2026-05-03T09:00:00.000Z"`
	InsightCounts
}

// InstanceInsight is what became of the messages of one instance.
type InstanceInsight struct {
	ID   int64  `json:"id" doc:"The instance's id." example:"1"`
	Name string `json:"name" doc:"Its name." example:"$name"`
	InsightCounts
}

// tally counts recipients.
type tally struct{ sent, delivered, read, replied int }

// showInsights counts, part by part as they are read.
func (a *API) showInsights(c *rest.Call) error {
	id, err := c.UUID("id", batch.ErrNotFound)
	if err != nil {
		return err
	}
	parts, err := a.shown(c).Sent(id)
	if err != nil {
		return err
	}
	all := insight{hours: map[time.Time]*tally{}, instances: map[record.InstanceRef]*tally{}}
	for part, err := range parts {
		if err != nil {
			return err
		}
		if c.Request.Context().Err() != nil {
			return context.Cause(c.Request.Context())
		}
		results, err := a.results(part)
		if err != nil {
			return err
		}
		for i, sent := range part {
			all.add(sent, results[i])
		}
	}
	return c.Response.JSON(http.StatusOK, a.insights(&all))
}

// results returns the results of what was sent, one for each.
func (a *API) results(sent []batch.Sent) ([]messages.Result, error) {
	all := make([]messages.Sending, len(sent))
	for i, s := range sent {
		all[i] = messages.Sending{JID: s.JID, At: s.At.Time, Messages: make([]messages.SentMessage, len(s.Messages))}
		for j, m := range s.Messages {
			all[i].Messages[j] = messages.SentMessage{Instance: m.Instance, ID: m.ID, KeyID: m.WhatsAppID}
		}
	}
	return a.Messages.Results(all)
}

// insight has the counts of a batch while they are made.
type insight struct {
	total     tally
	hours     map[time.Time]*tally
	instances map[record.InstanceRef]*tally
}

// add counts one item.
func (n *insight) add(sent batch.Sent, r messages.Result) {
	if len(sent.Messages) == 0 {
		return
	}
	instance := tallyOf(n.instances, sent.Instance)
	for _, step := range []struct {
		at time.Time
		of func(*tally) *int
	}{
		{sent.At.Time, func(t *tally) *int { return &t.sent }},
		{r.Delivered, func(t *tally) *int { return &t.delivered }},
		{r.Read, func(t *tally) *int { return &t.read }},
		{r.Replied, func(t *tally) *int { return &t.replied }},
	} {
		if step.at.IsZero() {
			continue
		}
		for _, t := range []*tally{&n.total, instance, tallyOf(n.hours, step.at.UTC().Truncate(time.Hour))} {
			*step.of(t)++
		}
	}
}

func tallyOf[K comparable](all map[K]*tally, key K) *tally {
	t := all[key]
	if t == nil {
		t = &tally{}
		all[key] = t
	}
	return t
}

func (a *API) insights(n *insight) Insights {
	receipts, received := a.Messages.Keeps()
	stored := func(n int, is bool) *int {
		if !is {
			return nil
		}
		return &n
	}
	counts := func(t tally) InsightCounts {
		return InsightCounts{t.sent, stored(t.delivered, receipts), stored(t.read, receipts), stored(t.replied, received)}
	}
	out := Insights{Counts: counts(n.total), ByHour: []HourInsight{}, ByInstance: []InstanceInsight{}}
	for _, hour := range slices.SortedFunc(maps.Keys(n.hours), time.Time.Compare) {
		out.ByHour = append(out.ByHour, HourInsight{event.At(hour), counts(*n.hours[hour])})
	}
	for _, i := range slices.SortedFunc(maps.Keys(n.instances), func(a, b record.InstanceRef) int { return cmp.Compare(a.ID, b.ID) }) {
		out.ByInstance = append(out.ByInstance, InstanceInsight{i.ID, i.Name, counts(*n.instances[i])})
	}
	return out
}
