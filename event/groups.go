package event

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// ParticipantAction is the "action" of groups.participants.update.
type ParticipantAction string

// The actions of groups.participants.update.
const (
	ParticipantAdd     ParticipantAction = "add"
	ParticipantRemove  ParticipantAction = "remove"
	ParticipantPromote ParticipantAction = "promote"
	ParticipantDemote  ParticipantAction = "demote"
)

func (ParticipantAction) values() []string {
	return list(ParticipantAdd, ParticipantRemove, ParticipantPromote, ParticipantDemote)
}

// GroupRole is the "admin" of a participant who is one.
type GroupRole string

// The roles of a participant with rights.
const (
	RoleAdmin      GroupRole = "admin"
	RoleSuperAdmin GroupRole = "superadmin" // made the group, cannot be removed
)

func (GroupRole) values() []string { return list(RoleAdmin, RoleSuperAdmin) }

// Participant is a member of a group.
type Participant struct {
	ID           string     `json:"id" doc:"The JID of the member: the phone JID where it is known, else the LID." example:"$jid"`
	Admin        *GroupRole `json:"admin" doc:"The role of the member; null for an ordinary member." example:"admin"`
	IsAdmin      bool       `json:"isAdmin" doc:"Whether the member is an admin." example:"false"`
	IsSuperAdmin bool       `json:"isSuperAdmin" doc:"Whether the member created the group." example:"false"`
	LID          string     `json:"lid,omitempty"`
}

// Participants is a list of members that is an array even when it is nil.
type Participants []Participant

// MarshalJSON writes the array, or [].
func (p Participants) MarshalJSON() ([]byte, error) {
	if p == nil {
		return []byte("[]"), nil
	}
	return json.Marshal([]Participant(p))
}

// GroupParticipantsUpdate is the data of groups.participants.update.
type GroupParticipantsUpdate struct {
	ID string `json:"id" doc:"The JID of the group." example:"$group"`
	// empty when unknown, yet present
	Author       string            `json:"author" doc:"The JID of who did it; empty when unknown." example:"$jid"`
	AuthorPN     string            `json:"authorPn,omitempty" doc:"The phone JID of who did it, where it is known." example:"$jid"`
	Participants Participants      `json:"participants" doc:"The participants concerned."`
	Action       ParticipantAction `json:"action" doc:"The change." example:"add"`
}

func (g GroupParticipantsUpdate) about() About { return ofChat(g.ID, false) }

// GroupMetadata is the metadata of a group in groups.upsert and groups.update. All fields
// are optional. Fields whose zero value is sent are pointers: a removed description is
// "", disappearing messages switched off are 0, a cleared flag is false; nil means
// unknown.
type GroupMetadata struct {
	Notify               string  `json:"notify,omitempty" doc:"The name that its creator chose." example:"Ada"`
	AddressingMode       string  `json:"addressingMode,omitempty" doc:"How its members address each other: by pn or lid." example:"lid"`
	Owner                string  `json:"owner,omitempty" doc:"The JID of the creator." example:"$jid"`
	OwnerPN              string  `json:"ownerPn,omitempty" doc:"The phone JID of the creator." example:"$jid"`
	OwnerUsername        string  `json:"ownerUsername,omitempty" doc:"The username of the creator." example:"ada"`
	OwnerCountryCode     string  `json:"ownerCountryCode,omitempty" doc:"The country of the creator." example:"DE"`
	SubjectOwner         string  `json:"subjectOwner,omitempty" doc:"The JID of who wrote the subject." example:"$jid"`
	SubjectOwnerPN       string  `json:"subjectOwnerPn,omitempty" doc:"The phone JID of who wrote the subject." example:"$jid"`
	SubjectOwnerUsername string  `json:"subjectOwnerUsername,omitempty" doc:"The username of who wrote the subject." example:"ada"`
	SubjectTime          int64   `json:"subjectTime,omitempty" doc:"When the subject was written, in Unix seconds." example:"1772366400"`
	Creation             int64   `json:"creation,omitempty" doc:"When it was created, in Unix seconds." example:"1772366400"`
	Desc                 *string `json:"desc,omitempty" doc:"Its description; empty when it was removed." example:"We meet at eight."`
	DescOwner            string  `json:"descOwner,omitempty" doc:"The JID of who wrote the description." example:"$jid"`
	DescOwnerPN          string  `json:"descOwnerPn,omitempty" doc:"The phone JID of who wrote the description." example:"$jid"`
	DescOwnerUsername    string  `json:"descOwnerUsername,omitempty" doc:"The username of who wrote the description." example:"ada"`
	DescID               string  `json:"descId,omitempty" doc:"WhatsApp's id of the description." example:"3EB0"`
	DescTime             int64   `json:"descTime,omitempty" doc:"When the description was written, in Unix seconds." example:"1772366400"`
	LinkedParent         *string `json:"linkedParent,omitempty" doc:"The JID of the community that it belongs to." example:"$group"`
	Restrict             *bool   `json:"restrict,omitempty"`
	Announce             *bool   `json:"announce,omitempty"`
	MemberAddMode        *bool   `json:"memberAddMode,omitempty"` // every member may add others
	JoinApprovalMode     *bool   `json:"joinApprovalMode,omitempty"`
	IsCommunity          *bool   `json:"isCommunity,omitempty" doc:"Whether it is a community." example:"false"`
	IsCommunityAnnounce  *bool   `json:"isCommunityAnnounce,omitempty" doc:"Whether it is the announcement group of a community." example:"false"`
	Size                 int     `json:"size,omitempty" doc:"How many members it has." example:"12" rules:"minimum=0"`
	EphemeralDuration    *int64  `json:"ephemeralDuration,omitempty"` // seconds
	InviteCode           string  `json:"inviteCode,omitempty"`
	Author               string  `json:"author,omitempty"`
	AuthorPN             string  `json:"authorPn,omitempty" doc:"The phone JID of who did it, where it is known." example:"$jid"`
	AuthorUsername       string  `json:"authorUsername,omitempty" doc:"The username of who did it." example:"ada"`
}

// GroupUpdate is one item of the data of groups.update, an array.
type GroupUpdate struct {
	Partial GroupPartial `json:"partial" doc:"What changed."`
}

func (g GroupUpdate) about() About { return ofChat(g.Partial.ID, false) }

// GroupPartial is what changed in a group.
type GroupPartial struct {
	ID      string `json:"id" doc:"The JID of the group." example:"$group"`
	Subject string `json:"subject,omitempty" doc:"The new subject." example:"Winter party"`
	GroupMetadata
}

// GroupUpsert is one item of the data of groups.upsert, an array.
type GroupUpsert struct {
	ID           string       `json:"id" doc:"The JID of the group." example:"$group"`
	Subject      string       `json:"subject" doc:"Its subject." example:"Summer party"`
	Participants Participants `json:"participants" doc:"Its members."`
	GroupMetadata
}

func (g GroupUpsert) about() About { return ofChat(g.ID, false) }

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
