package instance

import (
	"context"

	"postern/event"
)

// Groups acts on groups. A group is identified by its JID, a person by a phone or LID
// JID.
//
// WhatsApp reports every change to all members, including the one who made it, so the
// account's own changes are also reported by group events, each once.
type Groups interface {
	// CreateGroup creates a group. People who cannot be added cause no error.
	CreateGroup(ctx context.Context, g event.NewGroup) (event.CreatedGroup, error)
	Group(ctx context.Context, group string) (event.GroupUpsert, error)
	// JoinedGroups returns all groups that the account is a member of.
	JoinedGroups(ctx context.Context) ([]event.GroupUpsert, error)
	LeaveGroup(ctx context.Context, group string) error

	// ChangeMembers applies one change to several people and returns the result for each,
	// in WhatsApp's order.
	ChangeMembers(ctx context.Context, group string, action event.ParticipantAction, people []string) ([]event.MemberResult, error)

	SetSubject(ctx context.Context, group, subject string) error
	// SetDescription removes the description if the text is empty.
	SetDescription(ctx context.Context, group, description string) error
	// SetGroupPicture sets a JPEG, or removes the picture if jpeg is empty, and returns
	// the new picture's id.
	SetGroupPicture(ctx context.Context, group string, jpeg []byte) (id string, err error)
	// ChangeSettings applies the settings one by one; WhatsApp accepts or rejects each
	// separately. An error names those changed before it.
	ChangeSettings(ctx context.Context, group string, s event.GroupSettings) error

	// InviteCode returns the code that joins the group; reset replaces it and invalidates
	// the old one.
	InviteCode(ctx context.Context, group string, reset bool) (string, error)
	// InvitedGroup returns the group of an invite code. Non-members see little of it.
	InvitedGroup(ctx context.Context, code string) (event.GroupUpsert, error)
	// JoinGroup returns the group and whether the account is now a member; if not, an
	// admin has to approve.
	JoinGroup(ctx context.Context, code string) (group string, joined bool, err error)

	// JoinRequests returns the people waiting for an admin's approval.
	JoinRequests(ctx context.Context, group string) ([]event.JoinRequest, error)
	// DecideRequests approves or rejects join requests and returns the result for each,
	// in WhatsApp's order.
	DecideRequests(ctx context.Context, group string, approve bool, people []string) ([]event.MemberResult, error)
}
