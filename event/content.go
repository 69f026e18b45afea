package event

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// ErrContent is wrapped by every error about the content of an outgoing
// message: it breaks a rule, which the error names.
var ErrContent = errors.New("invalid message content")

// Content is the content of one outgoing message. Exactly one field is set.
type Content struct {
	Text     *TextContent
	Link     *LinkContent
	Media    *Media
	Contacts []ContactContent
	Location *LocationContent
	Reaction *ReactionContent
	Poll     *PollContent
	Status   *StatusContent
	Edit     *EditContent
	Delete   *MessageKey // for everyone
	Forward  *Original
	Pin      *PinContent
	Keep     *KeepContent
	Timer    *TimerContent
	Vote     *VoteContent
	Album    *AlbumContent
}

// Plain reports whether the content is a message that people read, and no change of another message or of a
// chat: a disappearing timer ends it, and it has a secret that changes of it are encrypted with.
func (c Content) Plain() bool {
	return c.Reaction == nil && c.Edit == nil && c.Delete == nil && c.Pin == nil && c.Keep == nil && c.Timer == nil && c.Vote == nil
}

// Postable reports whether a newsletter takes the content.
func (c Content) Postable() bool {
	return c.Text != nil || c.Link != nil || c.Media != nil || c.Poll != nil || c.Edit != nil || c.Delete != nil || c.Reaction != nil
}

// VoteContent votes in a poll. No options take the vote back.
type VoteContent struct {
	Poll    MessageKey
	Options []string
}

// AlbumContent begins an album: the message that says how many pictures and videos follow.
type AlbumContent struct {
	Files []*Media // in order; those without Shared are uploaded once, with it
}

// PinContent pins a message in its chat for everybody, or unpins it.
type PinContent struct {
	Key     MessageKey
	Pinned  bool
	Seconds uint32 // how long it is pinned
}

// KeepContent keeps a disappearing message for everybody, or lets it disappear.
type KeepContent struct {
	Key  MessageKey
	Keep bool
}

// TimerContent sets the disappearing timer of a direct chat.
type TimerContent struct {
	Seconds uint32 // 0: switched off
	Set     int64  // seconds since 1970
}

// Payload is the content of a message as a request carries it: JSON under
// section names such as textMessage, or the payload of a batch.
type Payload interface {
	// Content checks the values and returns what they mean. Errors wrap
	// ErrContent and name the field.
	Content() (Content, error)
}

// Types of message of a batch that are more than one message, or a stored one.
const (
	TypeAlbum   = "album"
	TypeForward = "forward"
)

// NewPayload returns an empty payload for the given one of a batch's message of
// that type, to be decoded into: text, link, media, audio (with its other names),
// contact, location, poll, sticker, album or forward. The error wraps ErrContent.
func NewPayload(kind string, payload []byte) (Payload, error) {
	switch kind {
	case "text":
		return &TextContent{}, nil
	case "link":
		return &LinkContent{}, nil
	case "media":
		return &MediaContent{}, nil
	case "audio", "ptt", "whatsapp-audio", "whatsapp_audio":
		return &AudioContent{}, nil
	case "contact":
		var several struct{ Contacts json.RawMessage }
		if json.Unmarshal(payload, &several) == nil && several.Contacts != nil {
			return &ContactsContent{}, nil
		}
		return &ContactContent{}, nil
	case "location":
		return &LocationContent{}, nil
	case "poll":
		return &PollContent{}, nil
	case "sticker":
		return &StickerContent{}, nil
	case TypeAlbum:
		return &AlbumItems{}, nil
	case TypeForward:
		return &ForwardContent{}, nil
	}
	return nil, fmt.Errorf("%w: type %.100q is not one of: text, link, media, audio, ptt, whatsapp-audio, whatsapp_audio, contact, location, poll, sticker, album, forward", ErrContent, kind)
}

// ParseContent reads and checks the payload of a batch's message. Unknown
// fields are refused. Errors wrap ErrContent and name the field.
func ParseContent(kind string, payload []byte) (Content, error) {
	p, err := NewPayload(kind, payload)
	if err != nil {
		return Content{}, err
	}
	dec := json.NewDecoder(bytes.NewReader(payload))
	dec.DisallowUnknownFields()
	if err := dec.Decode(p); err != nil {
		return Content{}, fmt.Errorf("%w: payload: %w", ErrContent, err)
	}
	c, err := p.Content()
	for _, m := range c.Files() {
		if m.Shared = true; m.Message != "" && err == nil {
			err = fmt.Errorf("%w: messageId is for sends; give a URL, or forward the message", ErrContent)
		}
	}
	return c, err
}

// Files returns the files of the content: that of a media message, or those of an album.
func (c Content) Files() []*Media {
	switch {
	case c.Media != nil:
		return []*Media{c.Media}
	case c.Album != nil:
		return c.Album.Files
	}
	return nil
}

// Presence is shown to the recipient before a message is sent.
type Presence string

// The presences of a chat, and those of the account, which all its contacts see.
const (
	PresenceComposing   Presence = "composing"
	PresenceRecording   Presence = "recording"
	PresencePaused      Presence = "paused"
	PresenceAvailable   Presence = "available"
	PresenceUnavailable Presence = "unavailable"
	PresenceAuto        Presence = "auto" // of requests: typing or recording for as long as the message needs
)

// OfAccount reports whether p is shown of the account and not in one chat.
func (p Presence) OfAccount() bool { return p == PresenceAvailable || p == PresenceUnavailable }

// Sender is on whose behalf a message is sent. An instance sends one message at
// a time, and the kinds of senders take turns.
type Sender uint8

// The senders of messages.
const (
	ByCall  Sender = iota // a request that waits for the answer
	ByQueue               // a request that was answered already
	ByBatch
	Senders // how many there are
)

// Outgoing is one message to send.
type Outgoing struct {
	ID      string // WhatsApp message id, chosen and stored before the send
	To      string // JID: digits@s.whatsapp.net, …@lid, …@g.us, …@newsletter or status@broadcast
	Content Content

	Presence   Presence      // shown before the send; empty: none
	Delay      time.Duration // how long to wait, showing it, before the send
	Quoted     *Original     // the message that this one answers
	Attributes Attributes    `json:",omitempty"` // kept with the message by who stores it for a batch; nil: {}
	MentionAll bool          // mention every participant; groups only
	Mentions   []string      `json:",omitempty"` // JIDs of the people that it mentions
	Pause      bool          `json:",omitempty"` // end Presence before the message

	Audience    []string `json:",omitempty"` // of a status: JIDs of those who get it; nil: whom the account's privacy says
	Album       string   `json:",omitempty"` // id of the message of its chat that begins the album it is part of; empty: none
	LinkPreview bool     `json:",omitempty"` // show a preview of the first link of a text, read from its page

	By     Sender  `json:"-"`
	Series *Series `json:"-"` // the messages that it belongs to; nil: none
	Holder string  `json:"-"` // holder of its reservation within the instance's limits; empty: none

	// Found, when set, is called once with the address that the message is sent to, before
	// anything leaves. It may differ from To, see Addressed. Its error, which the send
	// returns, keeps the message from being sent.
	Found func(ctx context.Context, jid string) error `json:"-"`

	// Turn, when set, is called once, when all is prepared and the message's turn
	// has come: no other of the instance's messages leaves before it returns. Its
	// error, which the send returns, keeps the message from being sent.
	Turn func(context.Context) error `json:"-"`

	// Timer, when set, is called once, after Turn, and returns the disappearing timer of the
	// chat; nil: none. Its error, which the send returns, keeps the message from being sent.
	Timer func() (*ChatTimer, error) `json:"-"`

	// Leaving, when set, is called once, when all is prepared, the message's turn
	// has come and nothing of it has been sent. Its error, which the send returns
	// together with ErrSendRefused, keeps it from being sent.
	Leaving func() error `json:"-"`

	// Left, when set, is called each time that the message's bytes are handed to the
	// connection: once, and again when the connection broke and they are repeated. Much
	// time may lie between Leaving and it: keys of a new recipient are fetched first.
	Left func() `json:"-"`

	// Warn, when set, is called with what does not go along with the message, such as
	// a presence that cannot be shown. The message itself leaves. It is called before
	// the send returns.
	Warn func(problem string) `json:"-"`
}

// Series keeps the turn of an account between messages that no other may come between. It is for one goroutine.
type Series struct{ pass func() }

// Held reports whether the turn is kept.
func (s *Series) Held() bool { return s != nil && s.pass != nil }

// Keep keeps a turn, which pass ends.
func (s *Series) Keep(pass func()) { s.pass = pass }

// End ends the turn, if it is kept.
func (s *Series) End() {
	if s.Held() {
		s.pass()
		s.pass = nil
	}
}

// Addressed returns the message for another address of its recipient, which its content names
// as well.
func (o Outgoing) Addressed(jid string) Outgoing {
	former := o.To
	o.To = jid
	if r := o.Content.Reaction; r != nil && r.Key.RemoteJID == former {
		moved := *r
		moved.Key.RemoteJID = jid
		o.Content.Reaction = &moved
	}
	if d := o.Content.Delete; d != nil && d.RemoteJID == former {
		moved := *d
		moved.RemoteJID = jid
		o.Content.Delete = &moved
	}
	if q := o.Quoted; q != nil && q.Key.RemoteJID == former {
		moved := *q
		moved.Key.RemoteJID = jid
		o.Quoted = &moved
	}
	return o
}

// MessageKey names one message at WhatsApp.
type MessageKey struct {
	RemoteJID   string `json:"remoteJid" strict:"required" doc:"The JID of the chat." example:"$jid" rules:"minLength=1"`
	ID          string `json:"id" strict:"required" doc:"The message's id at WhatsApp." example:"$keyid" rules:"minLength=1"`
	FromMe      bool   `json:"fromMe" doc:"Whether the account itself sent it." example:"false"`
	Participant string `json:"participant" doc:"The JID of the sender; needed in groups." example:"$jid"`
}

// check returns an error if the key, which has the given name in the request, is invalid.
func (k MessageKey) check(name string) error {
	if k.ID == "" {
		return fmt.Errorf("%w: %s.id must not be empty", ErrContent, name)
	}
	if _, err := ParseChat(k.RemoteJID); err != nil {
		return fmt.Errorf("%w: %s.remoteJid: %w", ErrContent, name, err)
	}
	if k.Participant == "" {
		return nil
	}
	if r, err := ParseRecipient(k.Participant); err != nil || r.Server == GroupServer {
		return fmt.Errorf("%w: %s.participant must be the JID of a person", ErrContent, name)
	}
	return nil
}

// Original is a message that was sent or received before, as it is stored or
// as a caller gives it: to be quoted or forwarded.
type Original struct {
	Key         MessageKey
	MessageType string          // as in [Message]
	Content     json.RawMessage // as in [Message]
}

// Check returns an error that wraps ErrContent if the key of the message, which has the
// given name in the request, is invalid.
func (o *Original) Check(name string) error { return o.Key.check(name) }

// Sent is what WhatsApp acknowledged.
type Sent struct {
	Message      *Message // ready to store: everything but the internal ID; nil: a reaction in a newsletter
	Participants int      // number of people whom MentionAll mentioned
}

// MapTexts returns c with the texts that may differ between the recipients of a batch
// replaced by what fn returns for each, in a fixed order: texts, captions, the titles and
// descriptions of links, file names, the names of contacts and the questions of polls. Its
// error wraps [ErrContent] and names a text that breaks a rule by then.
func (c Content) MapTexts(fn func(text string) string) (Content, error) {
	var err error
	to := func(name, text string, minimum, maximum int) string {
		text = fn(text)
		if err == nil {
			err = checkText(name, text, minimum, maximum)
		}
		return text
	}
	switch {
	case c.Text != nil:
		t := *c.Text
		t.Text = to("text", t.Text, 1, MaxText)
		c.Text = &t
	case c.Link != nil:
		l := *c.Link
		l.Title, l.Description = to("title", l.Title, 0, MaxName), to("description", l.Description, 0, MaxText)
		c.Link = &l
	case c.Media != nil:
		m := *c.Media
		m.Caption, m.FileName = to("caption", m.Caption, 0, MaxText), to("fileName", m.FileName, 0, MaxName)
		c.Media = &m
	case c.Album != nil:
		album := AlbumContent{make([]*Media, len(c.Album.Files))}
		for i, file := range c.Album.Files {
			m := *file
			m.Caption = to("caption", m.Caption, 0, MaxText)
			album.Files[i] = &m
		}
		c.Album = &album
	case c.Poll != nil:
		p := *c.Poll
		p.Name = to("name", p.Name, 1, MaxName)
		c.Poll = &p
	case c.Contacts != nil:
		all := make([]ContactContent, len(c.Contacts))
		for i, contact := range c.Contacts {
			contact.FullName = to("fullName", contact.FullName, 1, MaxName)
			all[i] = contact
		}
		c.Contacts = all
	}
	return c, err
}

// Summary returns the text by which a person knows the content again, such as a caption;
// empty if it has none.
func (c Content) Summary() string {
	var texts []string
	switch {
	case c.Text != nil:
		return c.Text.Text
	case c.Link != nil:
		texts = []string{c.Link.Title, c.Link.Link}
	case c.Media != nil:
		texts = []string{c.Media.Caption, c.Media.FileName}
	case c.Album != nil:
		for _, file := range c.Album.Files {
			texts = append(texts, file.Caption)
		}
	case c.Poll != nil:
		return c.Poll.Name
	case c.Location != nil:
		texts = []string{c.Location.Name, c.Location.Address}
	case len(c.Contacts) > 0:
		return c.Contacts[0].FullName
	}
	for _, t := range texts {
		if t != "" {
			return t
		}
	}
	return ""
}
