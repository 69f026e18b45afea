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

// The "action" of contact events, one fixed value for each event.
const (
	ContactUpdated  = "updated"  // contacts.update
	ContactUpserted = "upserted" // contacts.upsert
)

// ContactSource is the "source" of a contacts.update item: which name changed.
type ContactSource string

// The sources of contacts.update.
const (
	SourcePushName     ContactSource = "pushName"
	SourceBusinessName ContactSource = "businessName"
)

func (ContactSource) values() []string { return list(SourcePushName, SourceBusinessName) }

// ContactUpdate is one item of the data of contacts.update, an array.
type ContactUpdate struct {
	ID           int64         `json:"id" doc:"The contact's id here." example:"7"`
	RemoteJID    string        `json:"remoteJid"`
	LID          *string       `json:"lid"`
	PushName     *string       `json:"pushName,omitempty" schema:"null"`
	BusinessName *string       `json:"businessName,omitempty" schema:"null"`
	Action       string        `json:"action" schema:"const=updated" doc:"What happened to the contact."`
	Source       ContactSource `json:"source" doc:"Which name changed." example:"pushName"`
}

func (c ContactUpdate) about() About { return ofPerson(c.RemoteJID, orEmpty(c.LID)) }

// ContactUpsert is the data of contacts.upsert.
type ContactUpsert struct {
	ID            int64   `json:"id" doc:"The contact's id here." example:"7"`
	RemoteJID     string  `json:"remoteJid"`
	LID           *string `json:"lid"`
	PushName      *string `json:"pushName"`
	ProfilePicURL *string `json:"profilePicUrl"` // null: WhatsApp sends no picture with a contact
	Action        string  `json:"action" schema:"const=upserted" doc:"What happened to the contact."`
}

func (c ContactUpsert) about() About { return ofPerson(c.RemoteJID, orEmpty(c.LID)) }
