package phone

import (
	"context"
	"slices"
	"time"

	"go.mau.fi/whatsmeow/proto/waCommon"
	"go.mau.fi/whatsmeow/proto/waE2E"
	"go.mau.fi/whatsmeow/proto/waHistorySync"
	"go.mau.fi/whatsmeow/proto/waWeb"
	"go.mau.fi/whatsmeow/types"
)

// PastMessage is a message of a chat from before the first link.
type PastMessage struct {
	ID      string
	FromMe  bool
	Sender  types.JID // its sender in a group, unless FromMe
	Message *waE2E.Message
	At      time.Time // in whole seconds
}

// Recall adds messages to the phone's history of a chat.
func (p *Phone) Recall(chat types.JID, past []PastMessage) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.past == nil {
		p.past = map[types.JID][]PastMessage{}
	}
	all := append(p.past[chat], past...)
	slices.SortStableFunc(all, func(a, b PastMessage) int { return a.At.Compare(b.At) })
	p.past[chat] = all
}

// GiveFiles makes every piece of the phone's history a file, even if it is small.
func (p *Phone) GiveFiles() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.pastFiles = true
}

// Past returns the phone's history of its chats since a time, as a piece of history of
// that kind; nil if there is none.
func (p *Phone) Past(kind waHistorySync.HistorySync_HistorySyncType, since time.Time) *waHistorySync.HistorySync {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.past) == 0 {
		return nil
	}
	h := &waHistorySync.HistorySync{SyncType: &kind, Progress: new(uint32(100)), ChunkOrder: new(uint32(0))}
	for chat, all := range p.past {
		from := slices.IndexFunc(all, func(m PastMessage) bool { return !m.At.Before(since) })
		if from >= 0 {
			h.Conversations = append(h.Conversations, p.conversation(chat, all[from:]))
		}
	}
	return h
}

// conversation returns the newest message first, as phones send it. The other address
// of the person follows the messages.
func (p *Phone) conversation(chat types.JID, all []PastMessage) *waHistorySync.Conversation {
	c := &waHistorySync.Conversation{ID: new(chat.String())}
	if pn, lid, ok := p.net.IdentityOf(chat); ok && chat.Server != types.GroupServer {
		c.PnJID, c.LidJID = new(pn.String()), new(lid.String())
	}
	t := p.timers.chats[chat]
	if _, lid, ok := p.net.IdentityOf(chat); ok && chat.Server != types.GroupServer {
		t = p.timers.chats[lid]
	}
	if t.seconds > 0 {
		c.EphemeralExpiration, c.EphemeralSettingTimestamp = &t.seconds, new(t.set.Unix())
	}
	for i, m := range slices.Backward(all) {
		w := &waWeb.WebMessageInfo{
			Key:              &waCommon.MessageKey{RemoteJID: c.ID, FromMe: &m.FromMe, ID: &m.ID},
			MessageTimestamp: new(uint64(m.At.Unix())), //nolint:gosec // after 1970
			Message:          m.Message,
		}
		if !m.Sender.IsEmpty() && !m.FromMe {
			w.Participant = new(m.Sender.String())
		}
		c.Messages = append(c.Messages, &waHistorySync.HistorySyncMsg{Message: w, MsgOrderID: new(uint64(i))}) //nolint:gosec // an index
	}
	return c
}

// answerHistory sends a linked device the newest messages of a chat before the one that
// the device names, as many as it requests.
func (p *Phone) answerHistory(ctx context.Context, device types.JID, request string, r *waE2E.PeerDataOperationRequestMessage_HistorySyncOnDemandRequest) {
	asked, err := types.ParseJID(r.GetChatJID())
	if err != nil {
		return
	}
	names := []types.JID{asked}
	if pn, lid, ok := p.net.IdentityOf(asked); ok && asked.Server != types.GroupServer {
		names = []types.JID{pn, lid}
	}
	h := &waHistorySync.HistorySync{SyncType: waHistorySync.HistorySync_ON_DEMAND.Enum(), ChunkOrder: new(uint32(0))}
	p.mu.Lock()
	for _, chat := range names {
		before := slices.DeleteFunc(slices.Clone(p.past[chat]), func(m PastMessage) bool {
			return m.At.Unix() > r.GetOldestMsgTimestampMS() || m.ID == r.GetOldestMsgID() // seconds, despite the name
		})
		if n := int(r.GetOnDemandMsgCount()); len(before) > n {
			before = before[len(before)-n:]
		}
		if len(before) > 0 {
			h.Conversations = append(h.Conversations, p.conversation(chat, before))
		}
	}
	p.mu.Unlock()
	_ = p.SendHistory(ctx, device, h, request)
}

// SendHistory sends a linked device a piece of history; request is the message that
// requested it, or empty. Errors: those of SendPeer, or of encoding.
func (p *Phone) SendHistory(ctx context.Context, device types.JID, h *waHistorySync.HistorySync, request string) error {
	p.mu.Lock()
	file := p.pastFiles
	p.mu.Unlock()
	n, err := p.net.SealHistory(h, file)
	if err != nil {
		return err
	}
	if request != "" {
		n.PeerDataRequestSessionID = &request
	}
	return p.SendPeer(ctx, device, &waE2E.ProtocolMessage{
		Type: waE2E.ProtocolMessage_HISTORY_SYNC_NOTIFICATION.Enum(), HistorySyncNotification: n,
	})
}
