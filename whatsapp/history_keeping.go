package whatsapp

import (
	"context"
	"time"

	"go.mau.fi/whatsmeow"
	"go.mau.fi/whatsmeow/proto/waHistorySync"
	"go.mau.fi/whatsmeow/types"

	"postern/event"
	"postern/whatsapp/translate"
)

// keeping stores the messages of one piece of history.
type keeping struct {
	hs     *historySync
	cli    *whatsmeow.Client
	kind   waHistorySync.HistorySync_HistorySyncType
	wish   HistoryWish
	since  time.Time
	any    bool // messages are stored
	stored int  // number of new messages
}

func (hs *historySync) newKeeping(cli *whatsmeow.Client, kind waHistorySync.HistorySync_HistorySyncType) *keeping {
	k := &keeping{hs: hs, cli: cli, kind: kind, wish: hs.conn.historyWish()}
	k.since, k.any = k.wish.wants(kind, time.Now())
	return k
}

// part stores some messages of a conversation.
func (k *keeping) part(ctx context.Context, c *waHistorySync.Conversation) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	inside := k.cli.DangerousInternals() //nolint:staticcheck // as in learn
	inside.StoreHistoricalMessageSecrets(ctx, []*waHistorySync.Conversation{c})
	chat, err := types.ParseJID(c.GetID())
	if err == nil {
		if timers := k.hs.conn.translator(k.cli).HistoryTimer(chat, c); len(timers) > 0 {
			if err := k.hs.facts.report(ctx, event.Fact{Timers: timers}); err != nil {
				return err
			}
		}
	}
	if err != nil || !k.any || !k.wish.chat(k.kind, chat) {
		return nil //nolint:nilerr // a chat without an address has no messages
	}
	part := &event.HistoryPart{}
	for _, m := range c.GetMessages() {
		if message, ok := k.message(chat, m); ok {
			part.Messages = append(part.Messages, message)
		}
	}
	if len(part.Messages) == 0 {
		return nil
	}
	err = k.hs.facts.report(ctx, event.Fact{Data: part})
	k.stored += part.Stored
	return err
}

// message returns a message of history in the form of one that arrived. ok is false for
// other entries.
func (k *keeping) message(chat types.JID, m *waHistorySync.HistorySyncMsg) (*event.Message, bool) {
	if m.GetMessage().GetMessage() == nil {
		return nil, false // an entry of the phone, such as a missed call
	}
	evt, err := k.cli.ParseWebMessage(chat, m.GetMessage())
	if err != nil || evt.Info.Timestamp.Before(k.since) {
		return nil, false
	}
	t := k.hs.conn.translator(k.cli)
	t.Source = translate.FromHistory
	f, ok := t.Message(k.cli, evt)
	if !ok {
		return nil, false
	}
	message, ok := f.Data.(*event.Message)
	return message, ok
}
