package event

// LabelTarget is the "type" of labels.association.
type LabelTarget string

// The targets of a label.
const (
	LabelOnChat    LabelTarget = "chat"
	LabelOnMessage LabelTarget = "message"
)

func (LabelTarget) values() []string { return list(LabelOnChat, LabelOnMessage) }

// LabelAction is the "action" of labels.association.
type LabelAction string

// The actions of labels.association.
const (
	LabelAdd    LabelAction = "add"
	LabelRemove LabelAction = "remove"
)

func (LabelAction) values() []string { return list(LabelAdd, LabelRemove) }

// LabelAssociation is the data of labels.association.
type LabelAssociation struct {
	Type    LabelTarget `json:"type" doc:"What has the label." example:"chat"`
	ChatJID string      `json:"chatJid"`
	// with LabelOnMessage
	MessageID string `json:"messageId,omitempty" doc:"The message's id at WhatsApp, where a message has the label." example:"$keyid"`
	LabelID   string `json:"labelId"`
	// empty if the source does not say
	Action   LabelAction `json:"action,omitempty" doc:"Whether it was added or removed." example:"add"`
	DateTime Time        `json:"dateTime"`
	Extra    Extra       `json:"-"`
}

func (l LabelAssociation) about() About { return ofChat(l.ChatJID, false) }

// MarshalJSON puts the extra keys behind the declared ones.
func (l LabelAssociation) MarshalJSON() ([]byte, error) {
	type plain LabelAssociation
	return flatten(plain(l), l.Extra)
}

// LabelEdit is the data of labels.edit, which has neither type nor time. Color
// is an index into WhatsApp's palette, where 0 is a colour too.
type LabelEdit struct {
	ID      string `json:"id" doc:"The label's id: digits." example:"4"`
	Name    string `json:"name,omitempty" doc:"Its name." example:"Paid"`
	Color   *int   `json:"color,omitempty"`
	Deleted *bool  `json:"deleted,omitempty" doc:"Whether it was deleted." example:"false"`
	Extra   Extra  `json:"-"`
}

func (LabelEdit) about() About { return About{} }

// MarshalJSON puts the extra keys behind the declared ones.
func (l LabelEdit) MarshalJSON() ([]byte, error) {
	type plain LabelEdit
	return flatten(plain(l), l.Extra)
}
