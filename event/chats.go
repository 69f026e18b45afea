package event

// ChatUpdateType is the "type" of chats.updated.
type ChatUpdateType string

// The types of chats.updated.
const (
	ChatBlocklist        ChatUpdateType = "blocklist"
	ChatBlocklistChange  ChatUpdateType = "blocklist.change"
	ChatArchive          ChatUpdateType = "archive"
	ChatUnarchiveSetting ChatUpdateType = "unarchive.setting"
	ChatClear            ChatUpdateType = "clear"
	ChatPin              ChatUpdateType = "pin"
	ChatMute             ChatUpdateType = "mute"
	ChatMarkRead         ChatUpdateType = "mark.read"
)

func (ChatUpdateType) values() []string {
	return list(ChatBlocklist, ChatBlocklistChange, ChatArchive, ChatUnarchiveSetting, ChatClear, ChatPin, ChatMute, ChatMarkRead)
}

// ChatUpdate is the data of chats.updated.
type ChatUpdate struct {
	Type         ChatUpdateType `json:"type" doc:"What happened."`
	DateTime     Time           `json:"dateTime"`
	ChatJID      string         `json:"chatJid,omitempty"`      // when the type is about one chat
	FromFullSync *bool          `json:"fromFullSync,omitempty"` // nil if the source does not say
	Extra        Extra          `json:"-"`
}

func (c ChatUpdate) about() About { return ofChat(c.ChatJID, false) }

// MarshalJSON puts the extra keys behind the declared ones.
func (c ChatUpdate) MarshalJSON() ([]byte, error) {
	type plain ChatUpdate
	return flatten(plain(c), c.Extra)
}

// ChatDelete is the data of chats.delete.
type ChatDelete struct {
	ChatJID     string `json:"chatJid"`
	DateTime    Time   `json:"dateTime"`
	DeleteMedia *bool  `json:"deleteMedia,omitempty"` // local media are deleted too; nil if the source does not say
	Extra       Extra  `json:"-"`
}

func (c ChatDelete) about() About { return ofChat(c.ChatJID, false) }

// MarshalJSON puts the extra keys behind the declared ones.
func (c ChatDelete) MarshalJSON() ([]byte, error) {
	type plain ChatDelete
	return flatten(plain(c), c.Extra)
}
