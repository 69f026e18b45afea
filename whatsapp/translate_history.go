package whatsapp

import (
	"go.mau.fi/whatsmeow/proto/waHistorySync"

	"postern/event"
)

// history returns how much a piece of history contains. The conversations are not
// included: they can have megabytes.
func (t translator) history(h history) event.HistoryUpdate {
	up := event.HistoryUpdate{Type: event.HistorySyncType, DateTime: t.at(t.now)}
	d := h.rest
	if d == nil {
		return up
	}
	up.Data = &event.HistoryContent{
		SyncType:      d.GetSyncType().String(),
		Conversations: &h.conversations,
		Messages:      &h.messages,
		PushNames:     new(len(d.GetPushnames())),
		Extra:         event.Extra{},
	}
	if h.kept {
		up.Data.Extra["stored"] = h.stored
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
func wholeHistory(d *waHistorySync.HistorySync) history {
	h := history{rest: d, conversations: len(d.GetConversations())}
	for _, c := range d.GetConversations() {
		h.messages += len(c.GetMessages())
	}
	return h
}
