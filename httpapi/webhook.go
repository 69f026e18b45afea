package httpapi

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"unicode/utf8"

	"postern/event"
	"postern/instance"
)

// webhookRequest is the body that sets an instance's webhook.
type webhookRequest struct {
	URL     *string          `json:"url"`
	Enabled *bool            `json:"enabled"`
	Events  map[string]*bool `json:"events"` // null: as if it were not there
}

// flags checks the keys of events. nil means that the flags stay as they are.
func (in webhookRequest) flags() (map[event.Flag]bool, error) {
	if in.Events == nil {
		return nil, nil
	}
	flags := map[event.Flag]bool{}
	var unknown []string
	for key, on := range in.Events {
		if !event.KnownFlag(event.Flag(key)) {
			unknown = append(unknown, key)
			continue
		}
		if on != nil {
			flags[event.Flag(key)] = *on
		}
	}
	if len(unknown) > 0 {
		return nil, unknownFlags(unknown)
	}
	return flags, nil
}

// unknownFlags names the first of the unknown keys and what each was probably
// meant to be, as many as an error repeats, and counts the others.
func unknownFlags(keys []string) error {
	slices.Sort(keys)
	var messages []string
	room := maxRepeated
	for _, key := range keys {
		if room -= utf8.RuneCountInString(key); room < 0 && len(messages) > 0 {
			messages = append(messages, fmt.Sprintf("events has %d more keys that are no known event flags", len(keys)-len(messages)))
			break
		}
		messages = append(messages, "events."+event.Cut(key)+" is not a known event flag; the nearest is "+strconv.Quote(nearestFlag(key)))
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
	flags, err := in.flags()
	if err != nil {
		return err
	}
	w, err := a.Registry.PutWebhook(c.r.Context(), c.instance.ID, instance.WebhookChange{URL: in.URL, Enabled: in.Enabled, Events: flags})
	if err != nil {
		return err
	}
	return c.w.json(http.StatusOK, w)
}

func (a *api) showWebhook(c *call) error {
	w, err := a.Registry.Webhook(c.instance.ID)
	if err != nil {
		return err
	}
	return c.w.json(http.StatusOK, w)
}
