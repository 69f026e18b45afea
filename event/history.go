package event

// HistoryUpdate is the data of history.sync.
type HistoryUpdate struct {
	Type     string          `json:"type" schema:"const=history.sync" doc:"That it is history."`
	DateTime Time            `json:"dateTime"`
	Data     *HistoryContent `json:"data,omitempty" doc:"The contents of this chunk."`
}

func (HistoryUpdate) about() About { return About{} }

// HistorySyncType is the fixed "type" of history.sync.
const HistorySyncType = "history.sync"

// HistoryContent counts what a part of the history contained. It never has the
// conversations themselves, which can be tens of megabytes.
type HistoryContent struct {
	// as WhatsApp names it: INITIAL_BOOTSTRAP, RECENT …
	SyncType      string `json:"syncType,omitempty" doc:"WhatsApp's name for the kind of history." example:"RECENT"`
	Progress      *int   `json:"progress,omitempty" doc:"The progress, in percent." example:"50" rules:"minimum=0,maximum=100"`
	ChunkOrder    *int   `json:"chunkOrder,omitempty" doc:"The number of this chunk." example:"1" rules:"minimum=0"`
	Conversations *int   `json:"conversations,omitempty" doc:"How many chats." example:"3" rules:"minimum=0"`
	Messages      *int   `json:"messages,omitempty" doc:"How many messages." example:"120" rules:"minimum=0"`
	PushNames     *int   `json:"pushNames,omitempty" doc:"How many names." example:"40" rules:"minimum=0"`
	Extra         Extra  `json:"-"`
}

// MarshalJSON puts the extra keys behind the declared ones.
func (h HistoryContent) MarshalJSON() ([]byte, error) {
	type plain HistoryContent
	return flatten(plain(h), h.Extra)
}
