package phone

import (
	"context"
	"time"

	"go.mau.fi/whatsmeow/proto/waE2E"
	"go.mau.fi/whatsmeow/types"
	"google.golang.org/protobuf/proto"
)

// timers are the disappearing timers of a phone's direct chats, and what broke them. Its phone's mutex
// guards it; those of groups belong to the network.
type timers struct {
	chats   map[types.JID]timer // by LID
	without int                 // messages that came without the timer of their chat
}

type timer struct {
	seconds uint32
	set     time.Time
}

// SetTimer sets the disappearing timer of a direct chat and tells its members; 0 ends it. Errors are those
// of Send.
func (p *Phone) SetTimer(ctx context.Context, to types.JID, seconds uint32) (id string, err error) {
	now := time.Now()
	_, lid, ok := p.net.IdentityOf(to.ToNonAD())
	if !ok {
		return "", ErrNoAccount
	}
	id, err = p.Send(ctx, to, &waE2E.Message{ProtocolMessage: &waE2E.ProtocolMessage{
		Type: waE2E.ProtocolMessage_EPHEMERAL_SETTING.Enum(), EphemeralExpiration: &seconds, EphemeralSettingTimestamp: new(now.Unix()),
	}}, SendOptions{})
	if err == nil {
		p.mu.Lock()
		p.setTimer(lid, timer{seconds, now})
		p.mu.Unlock()
	}
	return id, err
}

// setTimer requires p.mu.
func (p *Phone) setTimer(chat types.JID, t timer) {
	if p.timers.chats == nil {
		p.timers.chats = map[types.JID]timer{}
	}
	p.timers.chats[chat] = t
}

// WithoutTimer returns how many messages came without the timer of their chat: the phone shows a warning
// with each.
func (p *Phone) WithoutTimer() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.timers.without
}

// timerOf returns the timer of a chat, by LID. The caller must not hold p.mu.
func (p *Phone) timerOf(chat types.JID) timer {
	if chat.Server == types.GroupServer {
		seconds, set := p.net.TimerOf(chat)
		return timer{seconds, set}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.timers.chats[chat]
}

// noteTimer takes a received setting, and counts a message without the timer of its chat.
func (p *Phone) noteTimer(chat types.JID, m *waE2E.Message) {
	if chat.Server != types.GroupServer {
		if _, lid, ok := p.net.IdentityOf(chat); ok {
			chat = lid
		}
	}
	if s := m.GetProtocolMessage(); s.GetType() == waE2E.ProtocolMessage_EPHEMERAL_SETTING && s.EphemeralExpiration != nil && chat.Server != types.GroupServer {
		p.mu.Lock()
		p.setTimer(chat, timer{s.GetEphemeralExpiration(), time.Now()})
		p.mu.Unlock()
		return
	}
	if !disappears(m) || hasManyReaders(chat) && chat.Server != types.GroupServer || p.timerOf(chat).seconds == 0 {
		return
	}
	if info := contextOf(unwrapped(m), false); info.GetExpiration() == 0 {
		p.mu.Lock()
		p.timers.without++
		p.mu.Unlock()
	}
}

// timed returns a message with the timer of its chat, as phones send it.
func (p *Phone) timed(chat types.JID, m *waE2E.Message) *waE2E.Message {
	if m == nil || !disappears(m) {
		return m
	}
	t := p.timerOf(chat)
	if t.seconds == 0 {
		return m
	}
	m = proto.Clone(m).(*waE2E.Message) //nolint:errcheck,forcetypeassert // a clone has the type of its original
	if m.Conversation != nil {
		m.ExtendedTextMessage, m.Conversation = &waE2E.ExtendedTextMessage{Text: m.Conversation}, nil
	}
	if info := contextOf(unwrapped(m), true); info != nil && info.Expiration == nil {
		info.Expiration, info.EphemeralSettingTimestamp = &t.seconds, new(t.set.Unix())
	}
	return m
}

// disappears reports whether a message is one of those that the timer of a chat ends.
func disappears(m *waE2E.Message) bool {
	m = unwrapped(m)
	return m.GetProtocolMessage() == nil && m.GetReactionMessage() == nil && m.GetEncReactionMessage() == nil && m.GetPollUpdateMessage() == nil &&
		m.GetPinInChatMessage() == nil && m.GetKeepInChatMessage() == nil && m.GetSenderKeyDistributionMessage() == nil && m.GetSecretEncryptedMessage() == nil
}

// contextOf returns the context of the content of a message; nil if it has none, and the content cannot
// have one or must not get it.
func contextOf(m *waE2E.Message, create bool) *waE2E.ContextInfo {
	r := m.ProtoReflect()
	fields := r.Descriptor().Fields()
	for i := range fields.Len() {
		f := fields.Get(i)
		if f.Message() == nil || f.IsList() || f.IsMap() || !r.Has(f) {
			continue
		}
		body := r.Get(f).Message()
		place := body.Descriptor().Fields().ByName("contextInfo")
		if place == nil || !create && !body.Has(place) {
			continue
		}
		info, _ := body.Mutable(place).Message().Interface().(*waE2E.ContextInfo)
		return info
	}
	return nil
}
