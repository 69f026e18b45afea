package translate

import (
	"go.mau.fi/whatsmeow/proto/waHistorySync"

	"postern/event"
)

// History is the result of reading one piece of history, without its conversations.
type History struct {
	Rest          *waHistorySync.HistorySync
	Conversations int
	Messages      int
	Kept          bool // its messages are stored
	Stored        int  // number of new messages
}

// History returns how much a piece of history contains. The conversations are not
// included: they can have megabytes.
func (t Translator) History(h History) event.HistoryUpdate {
	up := event.HistoryUpdate{Type: event.HistorySyncType, DateTime: t.at(t.Now)}
	d := h.Rest
	if d == nil {
		return up
	}
	up.Data = &event.HistoryContent{
		SyncType:      d.GetSyncType().String(),
		Conversations: &h.Conversations,
		Messages:      &h.Messages,
		PushNames:     new(len(d.GetPushnames())),
		Extra:         event.Extra{},
	}
	if h.Kept {
		up.Data.Extra["stored"] = h.Stored
	}
	if d.Progress != nil {
		up.Data.Progress = new(int(d.GetProgress()))
	}
	if d.ChunkOrder != nil {
		up.Data.ChunkOrder = new(int(d.GetChunkOrder()))
	}
	for name, n := range map[string]int{
		"statusMessages": len(d.GetStatusV3Messages()), "pastParticipants": len(d.GetPastParticipants()),
		"callLogRecords": len(d.GetCallLogRecords()), "recentStickers": len(d.GetRecentStickers()),
	} {
		if n > 0 {
			up.Data.Extra[name] = n
		}
	}
	return up
}

// wholeHistory is a piece of history in memory.
func wholeHistory(d *waHistorySync.HistorySync) History {
	h := History{Rest: d, Conversations: len(d.GetConversations())}
	for _, c := range d.GetConversations() {
		h.Messages += len(c.GetMessages())
	}
	return h
}
