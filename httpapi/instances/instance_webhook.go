package instances

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"

	"postern/event"
	"postern/httpapi/rest"
	"postern/instance/webhooks"
	"postern/internal/nearest"
	"postern/internal/plural"
)

// CodeUnknownEvent says that there is no event of this name.
const CodeUnknownEvent = "UNKNOWN_EVENT"

// webhookRequest is the body that sets an instance's webhook.
type webhookRequest struct {
	URL     *string          `json:"url" doc:"An http or https URL without user and password; required when the webhook is created." example:"https://example.org/hook" rules:"format=uri,minLength=1,maxLength=500"`
	Enabled *bool            `json:"enabled" doc:"Whether events are sent at all; true when the webhook is created." example:"true"`
	Events  map[string]*bool `json:"events"` // null: as if it were not there
}

// flagsIn reads the flags of events; errors name them below at. nil means that there are none.
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

// unknownFlags names the first unknown keys and what each was probably meant to be, up to the limit of an
// error, and counts the others.
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
	return rest.Refuse(http.StatusBadRequest, rest.CodeUnknownField, messages...)
}

// maxRepeated is the maximum number of characters of a request that the messages of one answer repeat in total.
const maxRepeated = 100

// nearestFlag returns the flag that key was probably meant to be.
func nearestFlag(key string) string {
	var flags []string
	for _, d := range event.Catalogue() {
		if d.Flag != "" {
			flags = append(flags, string(d.Flag))
		}
	}
	return nearest.Of(key, flags)
}

func (a *API) putWebhook(c *rest.Call) error {
	var in webhookRequest
	if err := c.Decode(&in, rest.MaxBody); err != nil {
		return err
	}
	flags, err := flagsIn("", in.Events)
	if err != nil {
		return err
	}
	w, err := a.Registry.Webhooks().PutWebhook(c.KeyContext(), c.Instance.ID, webhooks.WebhookChange{URL: in.URL, Enabled: in.Enabled, Events: flags, NoCodes: !c.MayPair(), Key: c.ScopedKey()})
	if err != nil {
		return codesRefused(err)
	}
	return c.Response.JSON(http.StatusOK, w)
}

func (a *API) showWebhook(c *rest.Call) error {
	w, err := a.Registry.Webhooks().Webhook(c.Instance.ID)
	if err != nil {
		return err
	}
	return c.Response.JSON(http.StatusOK, w)
}

// TryRequest is the body that requests an example delivery.
type TryRequest struct {
	Event string `json:"event" strict:"required"`
}

// TryAnswer is the result of the example delivery.
type TryAnswer struct {
	Delivered  bool    `json:"delivered" doc:"Whether the receiver accepted it." example:"true"`
	StatusCode int     `json:"statusCode" doc:"What it answered; 0 when there was no answer." example:"200"`
	DurationMs int64   `json:"durationMs" doc:"How long it took, in milliseconds." example:"35" rules:"minimum=0"`
	Error      *string `json:"error" doc:"Why the attempt failed; null when it was accepted." example:"connection refused"`
}

// tryWebhook sends one example of an event to the instance's webhook, regardless of its flags, and answers
// with the receiver's response.
func (a *API) tryWebhook(c *rest.Call) error {
	var in TryRequest
	if err := c.Decode(&in, rest.MaxBody); err != nil {
		return err
	}
	d, known := event.Lookup(event.Kind(in.Event))
	if !known || d.Family != event.Instance {
		return rest.Refuse(http.StatusBadRequest, CodeUnknownEvent,
			"event is not an instance event; the nearest is "+strconv.Quote(nearest.Of(in.Event, instanceKinds())))
	}
	notice, err := a.Registry.Example(c.Instance.ID, d.Kind, c.RequestID)
	if err != nil {
		return err
	}
	start := time.Now()
	status, err := a.Post(c.Request.Context(), notice)
	answer := TryAnswer{StatusCode: status, DurationMs: time.Since(start).Milliseconds(), Delivered: err == nil}
	if err != nil {
		answer.Error = event.OrNull(err.Error())
	}
	return c.Response.JSON(http.StatusOK, answer)
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

// codesRefused maps webhooks.ErrCodes to a refusal.
func codesRefused(err error) error {
	if errors.Is(err, webhooks.ErrCodes) {
		return rest.MissingScope("the key needs the scope pair for the flag qrcodeUpdated at a receiver that did not have it before: its codes link the account")
	}
	return err
}
