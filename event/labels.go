package event

import (
	"errors"
	"fmt"
	"unicode/utf8"
)

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

// ErrNoLabel is wrapped when the account has no label of that id.
var ErrNoLabel = errors.New("there is no such label")

// Bounds of a label.
const (
	MaxLabelName  = 100 // characters
	MaxLabelColor = 19  // the last of the palette of WhatsApp's clients
)

// Label is a label of a business account. Color is an index into the palette
// of WhatsApp's clients, 0 to 19.
type Label struct {
	ID    string `json:"id" doc:"The label's id: digits." example:"4"`
	Name  string `json:"name" doc:"The label's name." example:"Paid"`
	Color int    `json:"color"`
}

// LabelChange is a change of a label; nil leaves a field unchanged.
type LabelChange struct {
	Name  *string `json:"name"`
	Color *int64  `json:"color"`
}

// Check returns an error that wraps ErrArgument.
func (c LabelChange) Check() error {
	if c.Name != nil {
		if n := utf8.RuneCountInString(*c.Name); n < 1 || n > MaxLabelName {
			return fmt.Errorf("%w: name must have 1 to %d characters, this one has %d", ErrArgument, MaxLabelName, n)
		}
	}
	if c.Color != nil && (*c.Color < 0 || *c.Color > MaxLabelColor) {
		return fmt.Errorf("%w: color must be 0 to %d", ErrArgument, MaxLabelColor)
	}
	if c.Name == nil && c.Color == nil {
		return fmt.Errorf("%w: give at least one of name and color", ErrArgument)
	}
	return nil
}

// Apply returns the label after the change.
func (c LabelChange) Apply(l Label) Label {
	if c.Name != nil {
		l.Name = *c.Name
	}
	if c.Color != nil {
		l.Color = int(*c.Color)
	}
	return l
}

// CheckLabelID returns an error that wraps ErrArgument.
func CheckLabelID(id string) error {
	const longest = 9 // digits; the phone counts from 1
	if !allDigits(id) || len(id) > longest {
		return fmt.Errorf("%w: labelId must be a number of 1 to %d digits, as a string", ErrArgument, longest)
	}
	return nil
}
