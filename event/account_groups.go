package event

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// ErrArgument is wrapped by errors of requests to an account, other than sends, that have
// an invalid value. The text names the field.
var ErrArgument = errors.New("invalid argument")

// Bounds of a group, as WhatsApp has them.
const (
	MaxSubject     = 100  // characters
	MaxDescription = 2048 // characters
	MaxMembers     = 1024 // including the creator
)

// InviteLinkPrefix stands before the code in a link to a group.
const InviteLinkPrefix = "https://chat.whatsapp.com/"

// ParseGroup reads the JID of a group. The error wraps ErrRecipient.
func ParseGroup(s string) (string, error) {
	r, err := ParseRecipient(s)
	if err == nil && !r.IsGroup() {
		err = fmt.Errorf("%w: the JID of a group ends in @g.us", ErrRecipient)
	}
	return r.JID(), err
}

// ParseInvite returns the code of an invitation, given alone or as a link. The
// error wraps ErrArgument.
func ParseInvite(s string) (string, error) {
	code := strings.TrimPrefix(s, InviteLinkPrefix)
	code, _, _ = strings.Cut(code, "?")
	if !isCode(code) {
		return "", fmt.Errorf("%w: inviteCode must be a code of letters, digits, - and _, or the link that ends in it", ErrArgument)
	}
	return code, nil
}

// isCode reports whether a text may be an invite code. WhatsApp's have 22 characters;
// the bound only excludes what cannot be one.
func isCode(s string) bool {
	const longest = 64
	for _, r := range s {
		if !strings.ContainsRune("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_", r) {
			return false
		}
	}
	return s != "" && len(s) <= longest
}

// CheckSubject returns an error that wraps ErrArgument.
func CheckSubject(s string) error {
	if n := utf8.RuneCountInString(s); n < 1 || n > MaxSubject {
		return fmt.Errorf("%w: subject must have 1 to %d characters, this one has %d", ErrArgument, MaxSubject, n)
	}
	return nil
}

// CheckDescription returns an error that wraps ErrArgument.
func CheckDescription(s string) error {
	if n := utf8.RuneCountInString(s); n > MaxDescription {
		return fmt.Errorf("%w: description must have at most %d characters, this one has %d", ErrArgument, MaxDescription, n)
	}
	return nil
}

// ParsePeople reads phone numbers or JIDs of people, each once. Errors wrap
// ErrArgument, or ErrRecipient with the index of the bad one.
func ParsePeople(field string, given []string) ([]string, error) {
	if len(given) < 1 || len(given) >= MaxMembers {
		return nil, fmt.Errorf("%w: %s must have 1 to %d entries", ErrArgument, field, MaxMembers-1)
	}
	people, seen := make([]string, 0, len(given)), map[string]bool{}
	for i, text := range given {
		r, err := ParseRecipient(text)
		if err == nil && r.IsGroup() {
			err = fmt.Errorf("%w: a group is no person", ErrRecipient)
		}
		if err != nil {
			return nil, fmt.Errorf("%s[%d]: %w", field, i, err)
		}
		if jid := r.JID(); !seen[jid] {
			seen[jid] = true
			people = append(people, jid)
		}
	}
	return people, nil
}

// NewGroup is a group to create. The account that creates it is its first
// member and admin.
type NewGroup struct {
	Subject      string
	Description  string   // empty: none
	Participants []string // JIDs of the others
}

// CreatedGroup is a new group, with the parts of the request that failed.
type CreatedGroup struct {
	GroupUpsert

	NotAdded         []MemberResult `json:"notAdded" doc:"The people who were not added, and why."`
	DescriptionError string         `json:"descriptionError,omitempty" doc:"Why the description could not be set; absent when it was, or none was given." example:"refused"`
}

// Codes of a MemberResult, as WhatsApp gives them.
const (
	MemberChanged = 200 // the change was made
	MemberPrivate = 403 // the person takes invitations only
)

// MemberResult is the result of a change for one participant.
type MemberResult struct {
	JID string `json:"jid"` // phone JID when known, else the LID
	LID string `json:"lid,omitempty"`
	// MemberChanged, or WhatsApp's code for the refusal
	Status int `json:"status" doc:"200 on success, else WhatsApp's code for the refusal." example:"200"`

	// Invitation is what the account may send to a person who can only be
	// invited; nil for others.
	Invitation *Invitation `json:"invitation,omitempty" doc:"An invitation to send to a person who cannot be added directly."`
}

// Invitation lets one person join a group.
type Invitation struct {
	Code      string `json:"code" doc:"The code of the invitation." example:"AbCdEfGh"`
	ExpiresAt Time   `json:"expiresAt"`
}

// JoinRequest is a person who asked to join a group.
type JoinRequest struct {
	JID         string `json:"jid"` // phone JID when known, else the LID
	LID         string `json:"lid,omitempty"`
	RequestedAt Time   `json:"requestedAt" doc:"When the person asked." example:"$time"`
}

// GroupSettings are changes of a group; nil leaves a setting as it is.
type GroupSettings struct {
	EphemeralDuration *int64 `json:"ephemeralDuration"` // seconds until messages disappear, 0: never
	Announce          *bool  `json:"announce"`          // only admins write
	Restrict          *bool  `json:"restrict"`          // only admins change subject, description and picture
	MemberAddMode     *bool  `json:"memberAddMode"`     // every member may add others
	JoinApprovalMode  *bool  `json:"joinApprovalMode"`  // admins decide who joins by the link
}

// Check returns an error that wraps ErrArgument.
func (s GroupSettings) Check() error {
	if s == (GroupSettings{}) {
		return fmt.Errorf("%w: give at least one of ephemeralDuration, announce, restrict, memberAddMode and joinApprovalMode", ErrArgument)
	}
	if d := s.EphemeralDuration; d != nil {
		switch *d {
		case 0, 86_400, 604_800, 7_776_000: // the choices of WhatsApp's clients
		default:
			return fmt.Errorf("%w: ephemeralDuration must be 0, 86400, 604800 or 7776000 seconds", ErrArgument)
		}
	}
	return nil
}
