package sends

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"
	"unicode/utf8"

	"postern/event"
	"postern/httpapi/ref"
	"postern/httpapi/rest"
	"postern/httpapi/strict"
	"postern/instance"
	"postern/instance/later"
	"postern/media"
	"postern/messages"
	"postern/store"
)

// The maximum delay before a send, in milliseconds.
const (
	maxDelay      = 120_000
	maxVoiceDelay = 300_000
)

// sendTarget is the part of every send's body besides its content.
type sendTarget struct {
	rest.OneRecipient
	Options sendOptions `json:"options" doc:"How it is sent."`
}

// sendOptions control how a message is sent.
type sendOptions struct {
	Delay              int64          `json:"delay"` // milliseconds before the send
	Presence           event.Presence `json:"presence"`
	QuotedMessageID    ref.Quoted     `json:"quotedMessageId" doc:"The stored message to quote: its id here, or its id at WhatsApp." example:"42"`
	QuotedMessage      *quotedMessage `json:"quotedMessage" doc:"The message to quote, which need not be stored here."`
	ExternalAttributes *strict.Object `json:"externalAttributes"`
	MentionAll         bool           `json:"mentionAll"`
	Mentions           []string       `json:"mentions"`
	LinkPreview        bool           `json:"linkPreview" doc:"Whether to read the page of the first URL of a text, or of a link, and to show its title, description and picture. When nothing can be read, the message is sent without, and the header warning says why." example:"true"`
	laterOptions
}

// sendBody is the body of a send route.
type sendBody interface {
	target() *sendTarget
	content() (event.Content, error)
}

func (t *sendTarget) target() *sendTarget { return t }

// Send is the handler of a send route whose body is JSON of type B.
func Send[B any, P interface {
	*B
	sendBody
}](a *API) rest.Handler {
	return func(c *rest.Call) error {
		var in B
		files, err := a.decode(c, &in, 1)
		if err != nil {
			return err
		}
		defer files.Discard()
		content, err := P(&in).content()
		if err != nil {
			return err
		}
		if err := mayReach(c, P(&in).target(), content); err != nil {
			return err
		}
		if err := a.attach(c, files, content); err != nil {
			return err
		}
		defer detach(content)
		return a.sendContent(c, P(&in).target(), content)
	}
}

// sendContent sends checked content and answers with the stored message. The
// request's Idempotency-Key begins when the message leaves.
func (a *API) sendContent(c *rest.Call, t *sendTarget, content event.Content) error {
	when, err := t.Options.when(a.Store.Now())
	if err != nil {
		return err
	}
	out, err := a.outgoing(c, t, content)
	if err != nil {
		return err
	}
	if err := a.Store.Admit(); err != nil {
		return err
	}
	if when != nil {
		return a.schedule(c, out, t.Options.attributes(), when)
	}
	if out.MentionAll {
		if err := a.Supervisor.MaySend(c.Instance.ID, out); err != nil {
			return err
		}
		return a.sendLater(c, out, t.Options.attributes())
	}
	return a.sendNow(c, http.StatusOK, out, t.Options.attributes(), nil)
}

// sendNow sends a message and answers with it as stored or, if that is the status, without a body. A non-nil also is
// called with the message in the commit that stores it.
func (a *API) sendNow(c *rest.Call, status int, out event.Outgoing, attributes event.Attributes, also func(*store.Tx, event.Message) error) error {
	if out.Audience == nil { // whose entries were checked
		if err := c.MayWriteTo(out.To); err != nil {
			return err
		}
	}
	ctx, done := c.SendContext()
	defer done()
	out.Leaving, out.Warn = c.Begin, c.Warn
	keep := rest.KeepInCommit[event.Message](c, status)
	sent, err := a.Supervisor.SendAndStore(ctx, c.Instance.ID, out, instance.Keeping{
		Attributes: attributes, RequestID: c.RequestID, InCommit: both(keep, also),
	})
	if err != nil {
		return err
	}
	if status == http.StatusNoContent {
		return c.NoContent()
	}
	return c.Response.JSON(status, sent)
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

// acceptedSend is the answer to a send that is performed later.
type acceptedSend struct {
	StatusCode   int    `json:"statusCode"`
	Status       string `json:"status" doc:"Always processing; distinguishes this answer from one with the message." example:"processing" rules:"enum=processing"`
	Message      string `json:"message" doc:"What happens, for people." example:"the message is being sent"`
	ProcessID    string `json:"processId" doc:"The processId of the event send.message with the result." example:"$uuid"`
	InstanceName string `json:"instanceName"`
}

// sendLater accepts a send to many people; the event send.message reports its result.
func (a *API) sendLater(c *rest.Call, out event.Outgoing, attributes event.Attributes) error {
	if err := a.mayMentionAll(c, out); err != nil {
		return err
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
		InstanceName: c.Instance.Name,
	}
	d := later.Deferred{Instance: c.Instance.ID, Out: out, Attributes: attributes, RequestID: c.RequestID, OwnUpload: ownUpload}
	if keep := rest.KeepInCommit[acceptedSend](c, http.StatusAccepted); keep != nil {
		d.InCommit = func(tx *store.Tx, process string) error {
			kept := answer
			kept.ProcessID = process
			return keep(tx, kept)
		}
	}
	process, err := a.Processor.Accept(c.Request.Context(), d)
	if err != nil {
		a.dropUpload(c, d)
		return err
	}
	answer.ProcessID = process
	return c.Response.JSON(http.StatusAccepted, answer)
}

// mayMentionAll refuses a message to everybody for a key with recipients.
func (a *API) mayMentionAll(c *rest.Call, out event.Outgoing) error {
	if out.MentionAll && c.Key != nil && c.Key.Recipients != nil {
		return rest.RecipientNotAllowed("a key with recipients cannot mention everybody of a group")
	}
	return nil
}

// dropUpload removes the file of a send that was not accepted.
func (a *API) dropUpload(c *rest.Call, d later.Deferred) {
	if !d.OwnUpload {
		return
	}
	err := a.Store.Update(context.WithoutCancel(c.Request.Context()), func(tx *store.Tx) error {
		return media.Release(tx, d.Instance, d.Out.Content.Media.UploadID)
	})
	if err != nil {
		c.Log().Warn("the upload of a refused send could not be removed; it expires by itself", "instance", c.Instance.Name, "error", err)
	}
}

// outgoing returns the message of a request.
func (a *API) outgoing(c *rest.Call, t *sendTarget, content event.Content) (event.Outgoing, error) {
	to, err := t.Destination()
	if err != nil {
		return event.Outgoing{}, err
	}
	if err := c.MayWriteTo(to.JID()); err != nil { // before a quoted message says whether it is there
		return event.Outgoing{}, err
	}
	if to.IsChannel() {
		if err := t.Options.forChannel(content); err != nil {
			return event.Outgoing{}, err
		}
	}
	if err := t.Options.check(content); err != nil {
		return event.Outgoing{}, err
	}
	mentions, err := t.Options.mentioned(c, content)
	if err != nil {
		return event.Outgoing{}, err
	}
	for i, file := range content.Files() {
		if err := ref.CheckUpload(c, a.Media, c.Instance.ID, file); err != nil {
			if content.Album != nil {
				err = fmt.Errorf("items[%d]: %w", i, err)
			}
			return event.Outgoing{}, err
		}
	}
	if t.Options.MentionAll && !to.IsGroup() {
		return event.Outgoing{}, fmt.Errorf("%w: options.mentionAll is for groups", event.ErrContent)
	}
	quoted, err := a.quoted(c, t.Options)
	if err != nil {
		return event.Outgoing{}, err
	}
	out := event.Outgoing{
		ID: a.NewMessageID(), To: to.JID(), Content: content,
		Presence: t.Options.Presence, Delay: time.Duration(t.Options.Delay) * time.Millisecond,
		Quoted: quoted, MentionAll: t.Options.MentionAll, Mentions: mentions,
		LinkPreview: t.Options.LinkPreview && (content.Text != nil || content.Link != nil), // existing clients give it with every kind
	}
	if out.Presence == event.PresenceAuto {
		showAsTyped(&out)
	}
	return out, nil
}

// Bounds of the time that a message with presence auto takes.
const (
	minTyping = time.Second
	maxTyping = 15 * time.Second
	perLetter = time.Second / 10
)

// showAsTyped shows a text as typed, and a voice message as recorded, before it is sent: for its delay, or for
// as long as its length needs. Other messages show nothing.
func showAsTyped(out *event.Outgoing) {
	m := out.Content.Media
	switch {
	case out.Content.Text != nil:
		out.Presence = event.PresenceComposing
	case m != nil && m.Kind == event.MediaVoice:
		out.Presence = event.PresenceRecording
	default:
		out.Presence = ""
		return
	}
	out.Pause = true
	if out.Delay == 0 {
		letters := 0
		if text := out.Content.Text; text != nil {
			letters = utf8.RuneCountInString(text.Text)
		}
		out.Delay = min(max(time.Duration(letters)*perLetter, minTyping), maxTyping)
	}
}

// presences are those that options.presence takes; the first is none.
func presences() []event.Presence { return append(rest.Presences(), event.PresenceAuto) }

// maxMentions is how many people one message can mention.
const maxMentions = 1024

// mentioned returns the JIDs of options.mentions.
func (o *sendOptions) mentioned(c *rest.Call, content event.Content) (all []string, err error) {
	m := content.Media
	switch {
	case o.Mentions == nil:
		return nil, nil
	case o.MentionAll:
		return nil, &strict.Error{Code: rest.CodeDuplicateField, Path: "options.mentions", Text: "cannot be given with mentionAll, which mentions everybody"}
	case len(o.Mentions) == 0 || len(o.Mentions) > maxMentions:
		return nil, fmt.Errorf("%w: options.mentions must have 1 to %d entries", event.ErrContent, maxMentions)
	case content.Text == nil && content.Link == nil && (m == nil || m.Kind == event.MediaVoice || m.Kind == event.MediaSticker):
		return nil, fmt.Errorf("%w: options.mentions is for messages with a text or a caption", event.ErrContent)
	}
	for i, name := range o.Mentions {
		if err := mentionable(c, &name); err != nil {
			return nil, fmt.Errorf("options.mentions[%d]: %w", i, err)
		}
		all = append(all, name)
	}
	return all, nil
}

// mentionable replaces a person by their JID.
func mentionable(c *rest.Call, who *string) error {
	r, err := event.ParseRecipient(*who)
	if err == nil && r.IsGroup() {
		err = fmt.Errorf("%w: it must be a person", event.ErrRecipient)
	}
	if err != nil {
		return err
	}
	*who = r.JID()
	return c.MayWriteTo(*who)
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
		return fmt.Errorf("%w: options.presence %.100q is not one of: %s", event.ErrContent, o.Presence, rest.Joined(presences()[1:]))
	}
	if o.QuotedMessage.given() && o.QuotedMessageID.Given() {
		return fmt.Errorf("%w: give one of options.quotedMessageId and options.quotedMessage", event.ErrContent)
	}
	return nil
}

func (o *sendOptions) attributes() event.Attributes {
	if o.ExternalAttributes == nil {
		return nil
	}
	return event.Attributes(*o.ExternalAttributes)
}

// quoted returns the message that a send replies to, nil if there is none.
func (a *API) quoted(c *rest.Call, o sendOptions) (*event.Original, error) {
	switch {
	case o.QuotedMessage.given():
		return o.QuotedMessage.original()
	case o.QuotedMessageID.Given():
		if err := c.MayShow("options.quotedMessageId"); err != nil { // before the answer says whether it is there
			return nil, err
		}
		m, err := ref.Find(a.Messages, c.Instance.ID, o.QuotedMessageID.Message)
		if errors.Is(err, messages.ErrNoMessage) {
			return nil, rest.Refuse(http.StatusUnprocessableEntity, ref.CodeNoQuoted, "options.quotedMessageId names no stored message")
		}
		if err != nil {
			return nil, err
		}
		return ref.Original(m), nil
	}
	return nil, nil //nolint:nilnil // most messages answer none
}
