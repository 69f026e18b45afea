package event

// PresenceOfUser is the fixed "type" of a presence.updated that is about a
// person being online, and not about typing in a chat.
const PresenceOfUser = "presence"

// The typing states and media as WhatsApp names them. Others may come.
const (
	ChatComposing  = "composing"
	ChatPaused     = "paused"
	ChatMediaAudio = "audio" // recording a voice message
)

// PresenceUpdate is the data of presence.updated, which has two shapes: typing
// in a chat sets ChatJID, SenderJID, State and Media; a person coming or going
// sets Type, JID, Unavailable and, when shown, LastSeen.
type PresenceUpdate struct {
	Type        string `json:"type,omitempty" schema:"const=presence" doc:"Which of WhatsApp's notices it was."`
	ChatJID     string `json:"chatJid,omitempty"`
	SenderJID   string `json:"senderJid,omitempty"`
	State       string `json:"state,omitempty" doc:"What the person does in the chat." example:"composing"`
	Media       string `json:"media,omitempty" doc:"What is being recorded, if anything." example:"audio"`
	JID         string `json:"jid,omitempty"`
	Unavailable *bool  `json:"unavailable,omitempty" doc:"Whether the person is away." example:"false"`
	LastSeen    Time   `json:"lastSeen,omitzero" doc:"When the person was last seen, where it is known." example:"$time"`
	DateTime    Time   `json:"dateTime"`
	Extra       Extra  `json:"-"`
}

func (p PresenceUpdate) about() About {
	if p.ChatJID != "" {
		return ofChat(p.ChatJID, false)
	}
	return ofChat(p.JID, false)
}

// MarshalJSON puts the extra keys behind the declared ones.
func (p PresenceUpdate) MarshalJSON() ([]byte, error) {
	type plain PresenceUpdate
	return flatten(plain(p), p.Extra)
}

// PictureUpdate is the data of profile.picture.update.
type PictureUpdate struct {
	JID       string `json:"jid" doc:"The JID of the person or the group." example:"$jid"`
	Author    string `json:"author,omitempty"`
	DateTime  Time   `json:"dateTime"`
	Remove    bool   `json:"remove" doc:"Whether the picture was removed." example:"false"`
	PictureID string `json:"pictureId,omitempty"`
	IsGroup   bool   `json:"isGroup" doc:"Whether it is the picture of a group." example:"false"`
}

func (p PictureUpdate) about() About { return ofChat(p.JID, false) }

// AboutUpdate is the data of user.about.update.
type AboutUpdate struct {
	JID string `json:"jid"`
	// the about text, absent when it was removed
	Status   string `json:"status,omitempty" doc:"The new text about the person." example:"At work"`
	DateTime Time   `json:"dateTime"`
}

func (a AboutUpdate) about() About { return ofChat(a.JID, false) }

// IdentityChange is the data of identity.update: a contact has a new identity
// key, usually because of a new phone.
type IdentityChange struct {
	JID      string `json:"jid"`
	DateTime Time   `json:"dateTime"`
	Implicit bool   `json:"implicit" doc:"Whether it was inferred from a message rather than announced." example:"false"`
}

func (i IdentityChange) about() About { return ofChat(i.JID, false) }
