package sends

import (
	"fmt"
	"net/http"
	"slices"

	"postern/event"
	"postern/httpapi/ref"
	"postern/httpapi/rest"
)

// Changes of a stored message that everybody in its chat sees, and of the timer of a chat.

const (
	day  = 86_400 // seconds
	week = 7 * day

	defaultPin = week
)

// pins are how long a message can be pinned, in seconds.
func pins() []int { return []int{day, week, 30 * day} }

// timers are the disappearing timers that phones offer, in seconds.
func timers() []int { return []int{0, day, week, 90 * day} }

type pinMessageRequest struct {
	MessageID ref.Message `json:"messageId" strict:"required"`
	Pinned    bool        `json:"pinned" strict:"required" doc:"Whether to pin or unpin it." example:"true"`
	Duration  *int        `json:"duration"`
}

// pinMessage pins a stored message in its chat, or unpins it.
func (a *API) pinMessage(c *rest.Call) error {
	var in pinMessageRequest
	if err := c.Decode(&in, rest.MaxBody); err != nil {
		return err
	}
	duration := defaultPin
	if in.Duration != nil {
		duration = *in.Duration
	}
	if !slices.Contains(pins(), duration) || in.Duration != nil && !in.Pinned {
		return fmt.Errorf("%w: duration (in seconds) must be %d, %d or %d, and is for pinned true", event.ErrContent, day, week, 30*day)
	}
	m, err := ref.FindToWrite(c, a.Messages, in.MessageID)
	if err != nil {
		return err
	}
	key := ref.Original(m).Key
	content := event.Content{Pin: &event.PinContent{Key: key, Pinned: in.Pinned, Seconds: uint32(duration)}} //nolint:gosec // one of pins
	return a.sendAbout(c, http.StatusOK, key.RemoteJID, content, nil)
}

type keepMessageRequest struct {
	MessageID ref.Message `json:"messageId" strict:"required"`
	Keep      bool        `json:"keep" strict:"required" doc:"Whether to keep it, or to let it disappear." example:"true"`
}

// keepMessage keeps a disappearing message in its chat, or lets it disappear.
func (a *API) keepMessage(c *rest.Call) error {
	var in keepMessageRequest
	if err := c.Decode(&in, rest.MaxBody); err != nil {
		return err
	}
	m, err := ref.FindToWrite(c, a.Messages, in.MessageID)
	if err != nil {
		return err
	}
	key := ref.Original(m).Key
	return a.sendAbout(c, http.StatusOK, key.RemoteJID, event.Content{Keep: &event.KeepContent{Key: key, Keep: in.Keep}}, nil)
}

type expirationRequest struct {
	Chat    string `json:"chat" strict:"required"`
	Seconds *int   `json:"seconds" strict:"required"`
}

type expirationAnswer struct {
	Chat    string `json:"chat"`
	Seconds int    `json:"seconds" doc:"The time after which messages disappear; 0: never." example:"604800"`
}

// setExpiration sets the disappearing timer of a chat.
func (a *API) setExpiration(c *rest.Call) error {
	var in expirationRequest
	if err := c.Decode(&in, rest.MaxBody); err != nil {
		return err
	}
	chat, err := event.ParseRecipient(in.Chat)
	if err != nil {
		return fmt.Errorf("chat: %w", err)
	}
	if !slices.Contains(timers(), *in.Seconds) {
		return fmt.Errorf("%w: seconds must be 0, %d, %d or %d", event.ErrContent, day, week, 90*day)
	}
	if err := c.MayWriteTo(chat.JID()); err != nil {
		return err
	}
	if err := a.Store.Admit(); err != nil {
		return err
	}
	ctx, done := c.SendContext()
	defer done()
	jid, err := a.Supervisor.SetTimer(ctx, c.Instance.ID, chat.JID(), a.NewMessageID(), uint32(*in.Seconds)) //nolint:gosec // one of timers
	if err != nil {
		return err
	}
	return c.Response.JSON(http.StatusOK, expirationAnswer{jid, *in.Seconds})
}
