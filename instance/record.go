package instance

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"unicode/utf8"

	"github.com/google/uuid"

	"postern/event"
	"postern/instance/webhooks"
	"postern/internal/nesting"
)

// Limits of a record.
const (
	MaxName        = 255      // characters
	MaxDescription = 255      // characters
	MaxAttributes  = 64 << 10 // bytes of JSON
)

// Errors of the registry.
var (
	// ErrNotFound: there is no such instance.
	ErrNotFound = webhooks.ErrNoInstance
	// ErrExists: the name is taken.
	ErrExists = errors.New("an instance with this name exists")
	// ErrHasData: the instance has stored messages and is not deleted unless forced.
	ErrHasData = errors.New("the instance has stored messages; delete it with force=true")
	// ErrInvalid is wrapped by event.RuleErrors about a record.
	ErrInvalid = errors.New("invalid instance")
)

// Record is an instance as stored.
type Record struct {
	ID                 int64            `json:"id"`
	Name               string           `json:"name"`
	Description        string           `json:"description"`
	Status             event.State      `json:"status"`
	Reason             int              `json:"reason,omitempty"` // WhatsApp's code behind Status
	LastError          string           `json:"lastError,omitempty"`
	OwnerJID           string           `json:"ownerJid,omitempty"` // empty until paired
	OwnerLID           string           `json:"ownerLid,omitempty"`
	PushName           string           `json:"pushName,omitempty"`
	ProfilePicURL      string           `json:"profilePicUrl,omitempty"`
	ExternalAttributes event.Attributes `json:"externalAttributes"`
	LastConnectedAt    event.Time       `json:"lastConnectedAt,omitzero"`
	CreatedAt          event.Time       `json:"createdAt"`
	UpdatedAt          event.Time       `json:"updatedAt"`
	Token              Token            `json:"token"`
	Restrictions       []Restriction    `json:"restrictions,omitempty"` // including expired ones; see Record.Restriction
	RedialedAt         event.Time       `json:"redialedAt,omitzero"`    // after refusals in a row
	Elsewhere          event.Network    `json:"elsewhere,omitempty"`    // network of its device, if the program is connected to another one
	StatusAt           event.Time       `json:"statusAt,omitzero"`      // since then it has its status; zero in records of earlier versions
	Tags               []string         `json:"tags,omitempty"`
	LoggedOutByCall    bool             `json:"loggedOutByCall,omitempty"` // a call of the API asked for it, not WhatsApp
	PhoneSeenAt        event.Time       `json:"phoneSeenAt,omitzero"`      // the account's phone gave a sign then, or at most an hour later
	MovedAt            event.Time       `json:"movedAt,omitzero"`          // to another file; it no longer connects here
	MovedBy            string           `json:"movedBy,omitempty"`         // the request that exported it; empty: a command
}

// Token is an instance's current credential.
type Token struct {
	Value     string     `json:"value"`
	CreatedAt event.Time `json:"createdAt"`
	UpdatedAt event.Time `json:"updatedAt"`
}

// Snapshot is the record's part of an envelope.
func (r Record) Snapshot() event.Snapshot {
	s := event.Snapshot{ID: r.ID, Name: r.Name, ConnectionStatus: r.Status, ExternalAttributes: r.ExternalAttributes}
	if r.OwnerJID != "" {
		s.OwnerJID = &r.OwnerJID
	}
	return s
}

// New describes an instance to create.
type New struct {
	Name               string // empty: "instance-" and a UUID
	Description        string
	ExternalAttributes json.RawMessage // a JSON object, or empty
	// Mint returns the token for the name; it is called once, before the
	// transaction.
	Mint func(name string) (string, error)
}

var namePattern = regexp.MustCompile(`^[A-Za-z0-9_-][A-Za-z0-9._-]*$`)

// reservedNames are words with another meaning in routes.
var reservedNames = []string{
	"create", "fetchInstances", "fetchInstance", "delete", "refreshToken", "connect", "connectionState", "logout", "events",
}

// CheckName returns an event.RuleError if name is not a valid instance name.
func CheckName(name string) error {
	switch {
	case len(name) > MaxName:
		return invalid("instanceName", "must have at most 255 characters")
	case !namePattern.MatchString(name):
		return invalid("instanceName", "must have 1 to 255 characters of A-Z a-z 0-9 . _ - and must not begin with a dot")
	case slices.Contains(reservedNames, name):
		return invalid("instanceName", "must not be the reserved word "+name)
	}
	return nil
}

// check validates n and fills in its defaults.
func (n *New) check() error {
	if n.Name == "" {
		n.Name = "instance-" + uuid.NewString()
	}
	if err := CheckName(n.Name); err != nil {
		return err
	}
	if utf8.RuneCountInString(n.Description) > MaxDescription {
		return invalid("description", "must have at most 255 characters")
	}
	if len(n.ExternalAttributes) > MaxAttributes {
		return invalid("externalAttributes", "must have at most 65536 bytes")
	}
	if nesting.Check(n.ExternalAttributes) != nil {
		return tooDeep("externalAttributes")
	}
	if len(bytes.TrimSpace(n.ExternalAttributes)) > 0 && !event.IsObject(n.ExternalAttributes) {
		return invalid("externalAttributes", "must be a JSON object")
	}
	return nil
}

// tooDeep is an event.RuleError that wraps nesting.ErrTooDeep.
func tooDeep(field string) error {
	return &event.RuleError{Field: field, Rule: fmt.Sprintf("nests objects and arrays more than %d deep", nesting.Max), Kind: nesting.ErrTooDeep}
}

func invalid(field, rule string) error {
	return &event.RuleError{Field: field, Rule: rule, Kind: ErrInvalid}
}
