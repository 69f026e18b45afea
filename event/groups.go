package event

import "encoding/json"

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
	ID           string     `json:"id"`    // phone JID when known, else the LID
	Admin        *GroupRole `json:"admin"` // null for a plain member
	IsAdmin      bool       `json:"isAdmin"`
	IsSuperAdmin bool       `json:"isSuperAdmin"`
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
	ID           string            `json:"id"`     // group JID
	Author       string            `json:"author"` // empty when unknown, yet present
	AuthorPN     string            `json:"authorPn,omitempty"`
	Participants Participants      `json:"participants"`
	Action       ParticipantAction `json:"action"`
}

func (g GroupParticipantsUpdate) about() About { return ofChat(g.ID, false) }

// GroupMetadata is the metadata of a group in groups.upsert and groups.update. All fields
// are optional. Fields whose zero value is sent are pointers: a removed description is
// "", disappearing messages switched off are 0, a cleared flag is false; nil means
// unknown.
type GroupMetadata struct {
	Notify               string  `json:"notify,omitempty"`
	AddressingMode       string  `json:"addressingMode,omitempty"` // "pn" or "lid"
	Owner                string  `json:"owner,omitempty"`
	OwnerPN              string  `json:"ownerPn,omitempty"`
	OwnerUsername        string  `json:"ownerUsername,omitempty"`
	OwnerCountryCode     string  `json:"ownerCountryCode,omitempty"`
	SubjectOwner         string  `json:"subjectOwner,omitempty"`
	SubjectOwnerPN       string  `json:"subjectOwnerPn,omitempty"`
	SubjectOwnerUsername string  `json:"subjectOwnerUsername,omitempty"`
	SubjectTime          int64   `json:"subjectTime,omitempty"` // Unix seconds
	Creation             int64   `json:"creation,omitempty"`    // Unix seconds
	Desc                 *string `json:"desc,omitempty"`
	DescOwner            string  `json:"descOwner,omitempty"`
	DescOwnerPN          string  `json:"descOwnerPn,omitempty"`
	DescOwnerUsername    string  `json:"descOwnerUsername,omitempty"`
	DescID               string  `json:"descId,omitempty"`
	DescTime             int64   `json:"descTime,omitempty"` // Unix seconds
	LinkedParent         *string `json:"linkedParent,omitempty"`
	Restrict             *bool   `json:"restrict,omitempty"`
	Announce             *bool   `json:"announce,omitempty"`
	MemberAddMode        *bool   `json:"memberAddMode,omitempty"` // every member may add others
	JoinApprovalMode     *bool   `json:"joinApprovalMode,omitempty"`
	IsCommunity          *bool   `json:"isCommunity,omitempty"`
	IsCommunityAnnounce  *bool   `json:"isCommunityAnnounce,omitempty"`
	Size                 int     `json:"size,omitempty"`
	EphemeralDuration    *int64  `json:"ephemeralDuration,omitempty"` // seconds
	InviteCode           string  `json:"inviteCode,omitempty"`
	Author               string  `json:"author,omitempty"`
	AuthorPN             string  `json:"authorPn,omitempty"`
	AuthorUsername       string  `json:"authorUsername,omitempty"`
}

// GroupUpdate is one item of the data of groups.update, an array.
type GroupUpdate struct {
	Partial GroupPartial `json:"partial"`
}

func (g GroupUpdate) about() About { return ofChat(g.Partial.ID, false) }

// GroupPartial is what changed in a group.
type GroupPartial struct {
	ID      string `json:"id"` // group JID
	Subject string `json:"subject,omitempty"`
	GroupMetadata
}

// GroupUpsert is one item of the data of groups.upsert, an array.
type GroupUpsert struct {
	ID           string       `json:"id"` // group JID
	Subject      string       `json:"subject"`
	Participants Participants `json:"participants"`
	GroupMetadata
}

func (g GroupUpsert) about() About { return ofChat(g.ID, false) }
