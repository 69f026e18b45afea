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
