package event

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
