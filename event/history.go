package event

// HistoryUpdate is the data of history.sync.
type HistoryUpdate struct {
	Type     string          `json:"type" schema:"const=history.sync"`
	DateTime Time            `json:"dateTime"`
	Data     *HistoryContent `json:"data,omitempty"`
}

func (HistoryUpdate) about() About { return About{} }

// HistorySyncType is the fixed "type" of history.sync.
const HistorySyncType = "history.sync"

// HistoryContent counts what a part of the history contained. It never has the
// conversations themselves, which can be tens of megabytes.
type HistoryContent struct {
	SyncType      string `json:"syncType,omitempty"` // as WhatsApp names it: INITIAL_BOOTSTRAP, RECENT …
	Progress      *int   `json:"progress,omitempty"` // percent
	ChunkOrder    *int   `json:"chunkOrder,omitempty"`
	Conversations *int   `json:"conversations,omitempty"`
	Messages      *int   `json:"messages,omitempty"`
	PushNames     *int   `json:"pushNames,omitempty"`
	Extra         Extra  `json:"-"`
}

// MarshalJSON puts the extra keys behind the declared ones.
func (h HistoryContent) MarshalJSON() ([]byte, error) {
	type plain HistoryContent
	return flatten(plain(h), h.Extra)
}
