package httpapi

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"

	"postern/event"
	"postern/instance/webhooks"
	"postern/internal/plural"
)

// webhookRequest is the body that sets an instance's webhook.
type webhookRequest struct {
	URL     *string          `json:"url"`
	Enabled *bool            `json:"enabled"`
	Events  map[string]*bool `json:"events"` // null: as if it were not there
}

// flagsIn reads the flags of events, which errors name below at. nil means that
// there are none.
func flagsIn(at string, events map[string]*bool) (map[event.Flag]bool, error) {
	if events == nil {
		return nil, nil
	}
	flags := map[event.Flag]bool{}
	var unknown []string
	for key, on := range events {
		if !event.KnownFlag(event.Flag(key)) {
			unknown = append(unknown, key)
			continue
		}
		if on != nil {
			flags[event.Flag(key)] = *on
		}
	}
	if len(unknown) > 0 {
		return nil, unknownFlags(at, unknown)
	}
	return flags, nil
}

// unknownFlags names the first of the unknown keys and what each was probably
// meant to be, as many as an error repeats, and counts the others.
func unknownFlags(at string, keys []string) error {
	slices.Sort(keys)
	var messages []string
	room := maxRepeated
	for _, key := range keys {
		if room -= utf8.RuneCountInString(key); room < 0 && len(messages) > 0 {
			messages = append(messages, fmt.Sprintf("%sevents has %s", at, plural.Of(len(keys)-len(messages), "more key that is no known event flag", "more keys that are no known event flags")))
			break
		}
		messages = append(messages, at+"events."+event.Cut(key)+" is not a known event flag; the nearest is "+strconv.Quote(nearestFlag(key)))
	}
	return refuse(http.StatusBadRequest, codeUnknownField, messages...)
}

// maxRepeated is how many characters of a request the messages of one answer
// repeat together.
const maxRepeated = 100

// nearestFlag is the flag that key was probably meant to be.
func nearestFlag(key string) string {
	var flags []string
	for _, d := range event.Catalogue() {
		if d.Flag != "" {
			flags = append(flags, string(d.Flag))
		}
	}
	return event.Nearest(key, flags)
}

func (a *api) putWebhook(c *call) error {
	var in webhookRequest
	if err := c.decode(&in, maxBody); err != nil {
		return err
	}
	flags, err := flagsIn("", in.Events)
	if err != nil {
		return err
	}
	w, err := a.Registry.Webhooks().PutWebhook(c.whileKey(), c.instance.ID, webhooks.WebhookChange{URL: in.URL, Enabled: in.Enabled, Events: flags, NoCodes: !c.mayPair(), Key: c.scopedKey()})
	if err != nil {
		return codesRefused(err)
	}
	return c.w.json(http.StatusOK, w)
}

func (a *api) showWebhook(c *call) error {
	w, err := a.Registry.Webhooks().Webhook(c.instance.ID)
	if err != nil {
		return err
	}
	return c.w.json(http.StatusOK, w)
}

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
// its flags are, and answers with the receiver's response.
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
