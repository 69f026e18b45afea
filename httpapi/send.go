package httpapi

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"postern/event"
	"postern/httpapi/strict"
	"postern/instance"
	"postern/media"
	"postern/messages"
	"postern/store"
)

// The longest delay before a send, in milliseconds.
const (
	maxDelay      = 120_000
	maxVoiceDelay = 300_000
)

// sendTarget is what every send's body holds besides its content.
type sendTarget struct {
	oneRecipient
	Options sendOptions `json:"options"`
}

// oneRecipient names a person or a group by exactly one of its fields.
type oneRecipient struct {
	Number    *string `json:"number"`
	Chat      *string `json:"chat"`
	Recipient *string `json:"recipient"`
}

// sendOptions say how a message is sent.
type sendOptions struct {
	Delay              int64          `json:"delay"` // milliseconds before the send
	Presence           event.Presence `json:"presence"`
	QuotedMessageID    quotedRef      `json:"quotedMessageId"`
	QuotedMessage      *quotedMessage `json:"quotedMessage"`
	ExternalAttributes *strict.Object `json:"externalAttributes"`
	MentionAll         bool           `json:"mentionAll"`
}

// sendBody is the body of a send route.
type sendBody interface {
	target() *sendTarget
	content() (event.Content, error)
}

func (t *sendTarget) target() *sendTarget { return t }

// send is the handler of a send route whose body is JSON of type B.
func send[B any, P interface {
	*B
	sendBody
}](a *api, c *call) error {
	var in B
	if err := c.decode(&in, maxBody); err != nil {
		return err
	}
	content, err := P(&in).content()
	if err != nil {
		return err
	}
	return a.sendContent(c, P(&in).target(), content)
}

// sendContent sends checked content and answers with the stored message. The
// request's Idempotency-Key begins when the message leaves.
func (a *api) sendContent(c *call, t *sendTarget, content event.Content) error {
	out, err := a.outgoing(c, t, content)
	if err != nil {
		return err
	}
	if err := a.Store.Admit(); err != nil {
		return err
	}
	if out.MentionAll {
		if err := a.Supervisor.MaySend(c.instance.ID, out); err != nil {
			return err
		}
		return a.sendLater(c, out, t.Options.attributes())
	}
	return a.sendNow(c, http.StatusOK, out, t.Options.attributes(), nil)
}

// sendNow sends a message and answers with it as it is stored, or with nothing
// when that is the status. also, unless it is nil, is called with it in the commit
// that stores it.
func (a *api) sendNow(c *call, status int, out event.Outgoing, attributes event.Attributes, also func(*store.Tx, event.Message) error) error {
	if err := c.mayWriteTo(out.To); err != nil {
		return err
	}
	ctx, done := c.patience()
	defer done()
	out.Leaving, out.Warn = c.begin, c.warnOf
	keep := keepInCommit[event.Message](c, status)
	sent, err := a.Supervisor.SendAndStore(ctx, c.instance.ID, out, instance.Keeping{
		Attributes: attributes, RequestID: c.requestID, InCommit: both(keep, also),
	})
	if err != nil {
		return err
	}
	if status == http.StatusNoContent {
		return c.nothing()
	}
	return c.w.json(status, sent)
}

// both calls two functions in one commit; either may be nil.
func both(first, second func(*store.Tx, event.Message) error) func(*store.Tx, event.Message) error {
	if first == nil || second == nil {
		if first == nil {
			return second
		}
		return first
	}
	return func(tx *store.Tx, m event.Message) error {
		if err := first(tx, m); err != nil {
			return err
		}
		return second(tx, m)
	}
}

// acceptedSend is the answer to a send that is carried out later.
type acceptedSend struct {
	StatusCode   int    `json:"statusCode"`
	Status       string `json:"status"`
	Message      string `json:"message"`
	ProcessID    string `json:"processId"`
	InstanceName string `json:"instanceName"`
}

// sendLater accepts a send to many people; the event send.message reports its result.
func (a *api) sendLater(c *call, out event.Outgoing, attributes event.Attributes) error {
	if c.key != nil && c.key.Recipients != nil {
		return errRecipientNotAllowed("a key with recipients cannot mention everybody of a group")
	}
	ownUpload := false
	if m := out.Content.Media; m != nil && m.File != nil {
		kept, err := a.keepFile(c, *m.File, media.Tags{})
		if err != nil {
			return err
		}
		m.File, m.UploadID = nil, kept.ID.String()
		ownUpload = true
	}
	answer := acceptedSend{
		StatusCode: http.StatusAccepted, Status: "processing",
		Message:      "the message is being sent; the event send.message has the result",
		InstanceName: c.instance.Name,
	}
	d := instance.Deferred{Instance: c.instance.ID, Out: out, Attributes: attributes, RequestID: c.requestID, OwnUpload: ownUpload}
	if keep := keepInCommit[acceptedSend](c, http.StatusAccepted); keep != nil {
		d.InCommit = func(tx *store.Tx, process string) error {
			kept := answer
			kept.ProcessID = process
			return keep(tx, kept)
		}
	}
	process, err := a.Processor.Accept(c.r.Context(), d)
	if err != nil {
		a.dropUpload(c, d)
		return err
	}
	answer.ProcessID = process
	return c.w.json(http.StatusAccepted, answer)
}

// dropUpload forgets the file of a send that was not accepted.
func (a *api) dropUpload(c *call, d instance.Deferred) {
	if !d.OwnUpload {
		return
	}
	err := a.Store.Update(context.WithoutCancel(c.r.Context()), func(tx *store.Tx) error {
		return media.Release(tx, d.Instance, d.Out.Content.Media.UploadID)
	})
	if err != nil {
		a.log.Warn("the upload of a refused send could not be removed; it expires by itself", "instance", c.instance.Name, "error", err)
	}
}

// outgoing makes the message of a request.
func (a *api) outgoing(c *call, t *sendTarget, content event.Content) (event.Outgoing, error) {
	to, err := t.recipient()
	if err != nil {
		return event.Outgoing{}, err
	}
	if err := c.mayWriteTo(to.JID()); err != nil { // before a quoted message says whether it is there
		return event.Outgoing{}, err
	}
	if content.Forward != nil {
		if err := c.mayShow("messageId"); err != nil {
			return event.Outgoing{}, err
		}
	}
	if err := t.Options.check(content); err != nil {
		return event.Outgoing{}, err
	}
	if err := a.checkUpload(c, c.instance.ID, content.Media); err != nil {
		return event.Outgoing{}, err
	}
	if t.Options.MentionAll && !to.IsGroup() {
		return event.Outgoing{}, fmt.Errorf("%w: options.mentionAll is for groups", event.ErrContent)
	}
	quoted, err := a.quoted(c, t.Options)
	if err != nil {
		return event.Outgoing{}, err
	}
	return event.Outgoing{
		ID: a.NewMessageID(), To: to.JID(), Content: content,
		Presence: t.Options.Presence, Delay: time.Duration(t.Options.Delay) * time.Millisecond,
		Quoted: quoted, MentionAll: t.Options.MentionAll,
	}, nil
}

func (t *oneRecipient) recipient() (event.Recipient, error) {
	var given []string
	for _, f := range []*string{t.Number, t.Chat, t.Recipient} {
		if f != nil {
			given = append(given, *f)
		}
	}
	if len(given) != 1 {
		return event.Recipient{}, refuse(http.StatusBadRequest, "ONE_RECIPIENT", "give exactly one of number, chat and recipient")
	}
	return event.ParseRecipient(given[0])
}

func (o *sendOptions) check(content event.Content) error {
	limit := int64(maxDelay)
	if content.Media != nil && content.Media.Kind == event.MediaVoice {
		limit = maxVoiceDelay
	}
	if o.Delay < 0 || o.Delay > limit {
		return fmt.Errorf("%w: options.delay must be 0 to %d milliseconds", event.ErrContent, limit)
	}
	if !slices.Contains(presences(), o.Presence) {
		return fmt.Errorf("%w: options.presence %.100q is not one of: %s", event.ErrContent, o.Presence, joined(presences()[1:]))
	}
	if o.QuotedMessage.given() && o.QuotedMessageID.given() {
		return fmt.Errorf("%w: give one of options.quotedMessageId and options.quotedMessage", event.ErrContent)
	}
	return nil
}

// presences are those of a send, none of them the first.
func presences() []event.Presence {
	return []event.Presence{
		"", event.PresenceComposing, event.PresenceRecording, event.PresencePaused, event.PresenceAvailable, event.PresenceUnavailable,
	}
}

func (o *sendOptions) attributes() event.Attributes {
	if o.ExternalAttributes == nil {
		return nil
	}
	return event.Attributes(*o.ExternalAttributes)
}

// quoted is the message that a send answers, nil when there is none.
func (a *api) quoted(c *call, o sendOptions) (*event.Original, error) {
	switch {
	case o.QuotedMessage.given():
		return o.QuotedMessage.original()
	case o.QuotedMessageID.given():
		m, err := a.message(c.instance.ID, o.QuotedMessageID.messageRef)
		if errors.Is(err, messages.ErrNoMessage) {
			return nil, refuse(http.StatusUnprocessableEntity, codeNoQuoted, "options.quotedMessageId names no stored message")
		}
		if err != nil {
			return nil, err
		}
		return originalOf(m), c.mayShow("options.quotedMessageId")
	}
	return nil, nil //nolint:nilnil // most messages answer none
}
