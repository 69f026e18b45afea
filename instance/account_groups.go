package instance

import (
	"context"

	"postern/event"
)

// Groups is what the account does in groups. A group is given by its JID, a
// person by a phone or LID JID.
//
// WhatsApp tells of every change to all members, whoever made it included, so
// that the account's own changes are told by the events of groups, each once.
type Groups interface {
	// CreateGroup makes a group. People who cannot be added are no error.
	CreateGroup(ctx context.Context, g event.NewGroup) (event.CreatedGroup, error)
	Group(ctx context.Context, group string) (event.GroupUpsert, error)
	// JoinedGroups are all groups that the account is in.
	JoinedGroups(ctx context.Context) ([]event.GroupUpsert, error)
	LeaveGroup(ctx context.Context, group string) error

	// ChangeMembers makes one change for several people and tells what became
	// of it for each, in WhatsApp's order.
	ChangeMembers(ctx context.Context, group string, action event.ParticipantAction, people []string) ([]event.MemberResult, error)

	SetSubject(ctx context.Context, group, subject string) error
	// SetDescription removes the description when the text is empty.
	SetDescription(ctx context.Context, group, description string) error
	// SetGroupPicture takes a JPEG, or nothing to remove the picture, and
	// returns the new one's id.
	SetGroupPicture(ctx context.Context, group string, jpeg []byte) (id string, err error)
	// ChangeSettings changes one after the other, each of which WhatsApp
	// decides about alone: an error names those that were changed before it.
	ChangeSettings(ctx context.Context, group string, s event.GroupSettings) error

	// InviteCode is what joins the group; reset makes a new one and ends the
	// old.
	InviteCode(ctx context.Context, group string, reset bool) (string, error)
	// InvitedGroup is the group of an invite code. Strangers see little of it.
	InvitedGroup(ctx context.Context, code string) (event.GroupUpsert, error)
	// JoinGroup returns the group and whether the account is in it now: when
	// joined is false, an admin has to approve.
	JoinGroup(ctx context.Context, code string) (group string, joined bool, err error)

	// JoinRequests are who waits for an admin's approval.
	JoinRequests(ctx context.Context, group string) ([]event.JoinRequest, error)
	// DecideRequests lets people in or turns them away, and tells what became
	// of it for each, in WhatsApp's order.
	DecideRequests(ctx context.Context, group string, approve bool, people []string) ([]event.MemberResult, error)
}
