package instance

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"postern/event"
	"postern/messages"
	"postern/store"
)

// Send sends a message without storing it. Errors: ErrNotFound, or one that wraps a send
// error of package event.
func (s *Supervisor) Send(ctx context.Context, id int64, out event.Outgoing) (event.Sent, error) {
	k, err := s.keeper(ctx, id)
	if err != nil && !errors.Is(err, ErrNotFound) && !errors.Is(err, event.ErrNotConnected) {
		err = fmt.Errorf("%w: %w", event.ErrNotConnected, err) // no session, so nothing left
	}
	if err != nil {
		return event.Sent{}, err
	}
	if err := k.session.WrongNetwork(); err != nil {
		return event.Sent{}, fmt.Errorf("instance %d: %w", id, err)
	}
	if !k.session.Online() {
		return event.Sent{}, fmt.Errorf("instance %d: %w", id, event.ErrNotConnected)
	}
	asked := out.To
	if out, err = s.address(ctx, k, id, out); err != nil {
		return event.Sent{}, err
	}
	out.Timer = func() (*event.ChatTimer, error) { return s.timerOf(id, out.To) }
	pass, err := s.pace(id, &out)
	if err != nil {
		return event.Sent{}, fmt.Errorf("instance %d: %w", id, err)
	}
	sent, err := k.session.Send(ctx, out)
	pass.End(left(err))
	err = k.judge(ctx, out.To, err)
	if err == nil && sent.Message != nil {
		s.reg.cfg.Messages.NameVote(id, sent.Message)
	}
	if err == nil && asked != out.To {
		number, _, _ := strings.Cut(asked, "@")
		sent.Message.Metadata = withMetadata(sent.Message.Metadata, "askedNumber", number)
	}
	if err == nil {
		k.mu.Lock()
		k.lastSent = time.Now()
		k.mu.Unlock()
		s.reg.countSent(id)
	}
	return sent, err
}

// address returns the message for the address of the account that a look-up of its recipient's
// number answers with. A message that the limits refuse for every recipient makes no look-up.
func (s *Supervisor) address(ctx context.Context, k *keeper, id int64, out event.Outgoing) (event.Outgoing, error) {
	if s.cfg.Pacer != nil && paced(out.Content) && out.Holder == "" {
		if err := s.cfg.Pacer.Ask(id, ""); err != nil {
			return out, fmt.Errorf("instance %d: %w", id, err)
		}
	}
	to, err := k.session.Resolve(ctx, out.To)
	if err != nil {
		return out, k.judge(ctx, out.To, err)
	}
	if out.Found != nil {
		if err := out.Found(ctx, to); err != nil {
			return out, fmt.Errorf("instance %d: %w", id, err)
		}
	}
	if to != out.To {
		out = out.Addressed(to)
	}
	return out, nil
}

// timerOf returns the disappearing timer of a chat, nil if it has none.
func (s *Supervisor) timerOf(id int64, chat string) (*event.ChatTimer, error) {
	if event.IsChannel(chat) {
		return nil, nil //nolint:nilnil // posts of newsletters do not disappear
	}
	return s.reg.cfg.Messages.TimerOf(id, s.namesOf(chat))
}

// Owner returns the addresses of the account of an instance, empty if none was ever linked.
func (s *Supervisor) Owner(id int64) (p event.Person) {
	if rec, err := s.reg.ByID(id); err == nil {
		p.JID = rec.OwnerJID
		if rec.OwnerLID != "" {
			p.LID = &rec.OwnerLID
		}
	}
	return p
}

// namesOf returns the addresses of a chat.
func (s *Supervisor) namesOf(chat string) []string {
	if s.reg.cfg.Twin != nil {
		if twin := s.reg.cfg.Twin(chat); twin != "" {
			return []string{chat, twin}
		}
	}
	return []string{chat}
}

// SetTimer sets the disappearing timer of a person's chat, by a message, or of a group, and keeps it. messageID
// is that of the message. It returns the address of the chat. Errors are those of Send, and of
// [Groups.ChangeGroup].
func (s *Supervisor) SetTimer(ctx context.Context, id int64, chat, messageID string, seconds uint32) (string, error) {
	timer := event.ChatTimer{Seconds: seconds} // of a group: what WhatsApp answers now
	to, err := event.ParseRecipient(chat)
	if err == nil && to.IsGroup() {
		var account Account
		if account, err = s.Account(ctx, id); err == nil {
			err = account.ChangeSettings(ctx, chat, event.GroupSettings{EphemeralDuration: new(int64(seconds))})
		}
	} else if err == nil {
		chat, timer, err = s.setTimer(ctx, id, chat, messageID, seconds)
	}
	if err != nil {
		return chat, err
	}
	// It is set: keep it even if the caller gives up.
	timer.Chat = s.namesOf(chat)
	return chat, s.reg.cfg.Messages.LearnTimers(context.WithoutCancel(ctx), id, []event.ChatTimer{timer})
}

// setTimer sends the setting of a person's chat. It returns the address of the account that got it, and the setting
// that was made.
func (s *Supervisor) setTimer(ctx context.Context, id int64, chat, messageID string, seconds uint32) (to string, made event.ChatTimer, err error) {
	to = chat
	content := event.TimerContent{Seconds: seconds}
	found := func(_ context.Context, jid string) (err error) {
		to = jid
		content.Set, err = s.reg.cfg.Messages.TimeOfSetting(id, s.namesOf(jid))
		return err
	}
	sent, err := s.Send(ctx, id, event.Outgoing{ID: messageID, To: chat, Content: event.Content{Timer: &content}, Found: found})
	if err != nil {
		return to, made, err
	}
	return to, event.ChatTimer{Seconds: seconds, Set: content.Set, At: sent.Message.MessageTimestamp}, nil
}

// Keeping describes how a sent message is stored.
type Keeping struct {
	Attributes event.Attributes // stored and published with the message; nil: {}
	RequestID  string           // of the sending call, for the event
	Scheduled  string           // id of the scheduled send that it was; empty: none
	// Again is asked, when set, after the message could not be stored, and reports whether
	// to try that again. It may wait.
	Again func(err error) bool
	// InCommit is called with the stored message in its commit, possibly twice. Its error
	// aborts the commit, and the send ends with ErrNotStored. It may be nil.
	InCommit func(tx *store.Tx, stored event.Message) error
}

// SendAndStore sends a message, stores it and publishes send.message. It returns the
// stored message. Errors: those of Send, and ErrNotStored.
func (s *Supervisor) SendAndStore(ctx context.Context, id int64, out event.Outgoing, k Keeping) (stored event.Message, err error) {
	var found int64 // 0: not stored
	done := s.reg.cfg.Messages.Departing(s.reg.source(id), out.ID)
	defer func() { done(found) }()
	if stored, err = s.sendAndStore(ctx, id, out, k); err == nil {
		found = stored.ID
	}
	return stored, err
}

func (s *Supervisor) sendAndStore(ctx context.Context, id int64, out event.Outgoing, k Keeping) (event.Message, error) {
	sent, err := s.Send(ctx, id, out)
	if err != nil {
		return event.Message{}, err
	}
	if k.Attributes == nil {
		k.Attributes = event.Attributes("{}")
	}
	sent.Message.InstanceID, sent.Message.ExternalAttributes = id, k.Attributes
	if k.Scheduled != "" {
		sent.Message.Metadata = withMetadata(sent.Message.Metadata, "scheduledId", k.Scheduled)
	}
	// The message was sent: store it even if the caller gives up.
	ctx = context.WithoutCancel(ctx)
	keep := messages.Keeping{Kind: event.SendMessage, RequestID: k.RequestID, Awaited: s.reg.awaitsReceipt(id, out.Content, sent.Message), InCommit: k.InCommit}
	stored, _, err := s.reg.cfg.Messages.Keep(ctx, s.reg.source(id), sent.Message, keep)
	for err != nil && k.Again != nil && k.Again(err) {
		stored, _, err = s.reg.cfg.Messages.Keep(ctx, s.reg.source(id), sent.Message, keep)
	}
	if err != nil {
		return *sent.Message, fmt.Errorf("%w: %w", ErrNotStored, err)
	}
	return stored, nil
}

// Sent prepares storing m, which the instance has sent with that content, in another commit.
func (r *Registry) Sent(id int64, c event.Content, m *event.Message) *messages.Sent {
	return r.cfg.Messages.Sent(r.source(id), m, r.awaitsReceipt(id, c, m))
}

// awaitsReceipt reports whether the recipient's devices acknowledge a message: it is for one other person, and no
// change of another message.
func (r *Registry) awaitsReceipt(id int64, c event.Content, m *event.Message) bool {
	rec, err := r.ByID(id)
	if err != nil || !c.Plain() || m.IsGroup || m.KeyRemoteJID == nil && m.KeyLID == nil {
		return false
	}
	for _, jid := range []*string{m.KeyRemoteJID, m.KeyLID} {
		if jid == nil {
			continue
		}
		if to, err := event.ParseRecipient(*jid); err != nil || to.IsGroup() || *jid == rec.OwnerJID || *jid == rec.OwnerLID {
			return false
		}
	}
	return true
}

// Undelivered is [messages.Undelivered].
type Undelivered = messages.Undelivered

// Undelivered counts the messages of an instance to single people that have no receipt.
func (s *Supervisor) Undelivered(id int64) (Undelivered, error) {
	return s.reg.cfg.Messages.Undelivered(id, s.cfg.UndeliveredAfter)
}
