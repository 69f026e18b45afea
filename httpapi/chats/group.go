package chats

import (
	"context"
	"fmt"
	"net/http"
	"slices"

	"postern/event"
	"postern/httpapi/rest"
	"postern/httpapi/strict"
	"postern/instance"
)

// groupTarget is the part of a body that names a group. Routes without a body have it in the query.
type groupTarget struct {
	GroupJID string `json:"groupJid"`
}

// group returns the group that a request is about. The query may have other parameters too.
func groupOf(c *rest.Call, body groupTarget, others ...string) (string, error) {
	q, err := c.Query(append(others, "groupJid"))
	if err != nil {
		return "", err
	}
	given := body.GroupJID
	switch {
	case q.Has("groupJid") && given != "":
		return "", rest.InvalidQuery("groupJid is given twice: in the query and in the body")
	case q.Has("groupJid"):
		given = q.Get("groupJid")
	case given == "":
		return "", strict.Missing("groupJid", "is required, in the query or in the body")
	}
	group, err := event.ParseGroup(given)
	if err != nil {
		return "", fmt.Errorf("groupJid: %w", err)
	}
	return group, nil
}

type createGroupRequest struct {
	Subject      string   `json:"subject" strict:"required"`
	Description  string   `json:"description"`
	Participants []string `json:"participants" strict:"required"`
}

// createGroup takes an Idempotency-Key, because a repeated creation would make a second group.
func (a *API) createGroup(c *rest.Call) error {
	var in createGroupRequest
	if err := c.Decode(&in, rest.MaxBody); err != nil {
		return err
	}
	people, err := event.ParsePeople("participants", in.Participants)
	if err != nil {
		return err
	}
	if err := event.CheckSubject(in.Subject); err != nil {
		return err
	}
	if err := event.CheckDescription(in.Description); err != nil {
		return err
	}
	account, err := a.account(c)
	if err != nil {
		return err
	}
	ctx, done := c.SendContext()
	defer done()
	if err := c.Begin(); err != nil {
		return err
	}
	made, err := account.CreateGroup(ctx, event.NewGroup{Subject: in.Subject, Description: in.Description, Participants: people})
	if err != nil {
		return err
	}
	return c.Response.JSON(http.StatusCreated, made)
}

func (a *API) showGroup(c *rest.Call) error {
	group, err := groupOf(c, groupTarget{})
	if err != nil {
		return err
	}
	return tell(a, c, func(account instance.Account, ctx context.Context) (event.GroupUpsert, error) {
		return account.Group(ctx, group)
	})
}

func (a *API) listGroups(c *rest.Call) error {
	if _, err := c.Query(nil); err != nil {
		return err
	}
	return tell(a, c, instance.Account.JoinedGroups)
}

// details is the query parameter that requests an answer with a body.
const details = "details"

func (a *API) leaveGroup(c *rest.Call) error {
	if err := c.NoBody(); err != nil {
		return err
	}
	group, err := groupOf(c, groupTarget{})
	if err != nil {
		return err
	}
	account, err := a.account(c)
	if err != nil {
		return err
	}
	if err := account.LeaveGroup(c.Request.Context(), group); err != nil {
		return err
	}
	return c.NoContent()
}

type membersRequest struct {
	groupTarget

	Action       event.ParticipantAction `json:"action" strict:"required" doc:"The change." example:"add"`
	Participants []string                `json:"participants" strict:"required"`
}

// membersAnswer is sent if a change failed for some people, or on request.
type membersAnswer struct {
	GroupJID     string                  `json:"groupJid"`
	Action       event.ParticipantAction `json:"action" doc:"The change." example:"add"`
	Participants []event.MemberResult    `json:"participants" doc:"The result for each."`
}

func (a *API) changeMembers(c *rest.Call) error {
	var in membersRequest
	if err := c.Decode(&in, rest.MaxBody); err != nil {
		return err
	}
	group, err := groupOf(c, in.groupTarget, details)
	if err != nil {
		return err
	}
	inDetail, err := c.Flag(details, "groupJid")
	if err != nil {
		return err
	}
	known := []event.ParticipantAction{event.ParticipantAdd, event.ParticipantRemove, event.ParticipantPromote, event.ParticipantDemote}
	if !slices.Contains(known, in.Action) {
		return fmt.Errorf("%w: action %.100q is not one of: add, remove, promote, demote", event.ErrArgument, in.Action)
	}
	people, err := event.ParsePeople("participants", in.Participants)
	if err != nil {
		return err
	}
	account, err := a.account(c)
	if err != nil {
		return err
	}
	results, err := account.ChangeMembers(c.Request.Context(), group, in.Action, people)
	if err != nil {
		return err
	}
	failed := func(r event.MemberResult) bool { return r.Status != event.MemberChanged }
	if !inDetail && !slices.ContainsFunc(results, failed) {
		return c.NoContent()
	}
	return c.Response.JSON(http.StatusOK, membersAnswer{group, in.Action, results})
}

type inviteAnswer struct {
	Invitation string `json:"invitation" doc:"The link of the invitation." example:"https://chat.whatsapp.com/AbCdEfGhIjKlMnOpQrStUv" rules:"format=uri"`
	InviteCode string `json:"inviteCode"`
	GroupJID   string `json:"groupJid"`
}

func (a *API) showInvite(c *rest.Call) error {
	group, err := groupOf(c, groupTarget{})
	if err != nil {
		return err
	}
	code, err := a.inviteCode(c, group, false)
	if err != nil {
		return err
	}
	return c.Response.JSON(http.StatusOK, inviteAnswer{event.InviteLinkPrefix + code, code, group})
}

// newInvite is sent on request.
type newInvite struct {
	Invitation string `json:"invitation" doc:"The link of the new invitation." example:"https://chat.whatsapp.com/AbCdEfGhIjKlMnOpQrStUv" rules:"format=uri"`
}

func (a *API) revokeInvite(c *rest.Call) error {
	var in groupTarget
	if err := c.Decode(&in, rest.MaxBody); err != nil {
		return err
	}
	group, err := groupOf(c, in, details)
	if err != nil {
		return err
	}
	inDetail, err := c.Flag(details, "groupJid")
	if err != nil {
		return err
	}
	code, err := a.inviteCode(c, group, true)
	switch {
	case err != nil:
		return err
	case !inDetail:
		return c.NoContent()
	}
	return c.Response.JSON(http.StatusOK, newInvite{event.InviteLinkPrefix + code})
}

func (a *API) inviteCode(c *rest.Call, group string, reset bool) (string, error) {
	account, err := a.account(c)
	if err != nil {
		return "", err
	}
	return account.InviteCode(c.Request.Context(), group, reset)
}

// showInvited shows the group of an invite code, without joining it.
func (a *API) showInvited(c *rest.Call) error {
	q, err := c.Query([]string{"inviteCode"})
	if err != nil {
		return err
	}
	if !q.Has("inviteCode") {
		return rest.InvalidQuery("inviteCode is required")
	}
	code, err := event.ParseInvite(q.Get("inviteCode"))
	if err != nil {
		return err
	}
	return tell(a, c, func(account instance.Account, ctx context.Context) (event.GroupUpsert, error) {
		return account.InvitedGroup(ctx, code)
	})
}

// JoinRequest joins a group by its invitation.
type JoinRequest struct {
	InviteCode string `json:"inviteCode" strict:"required"`
}

// joinedGroup says whether the account is in the group, or waits for an admin's approval.
type joinedGroup struct {
	GroupJID string `json:"groupJid"`
	Joined   bool   `json:"joined" doc:"Whether the account is a member now; false while admins decide." example:"true"`
}

func (a *API) joinGroup(c *rest.Call) error {
	var in JoinRequest
	if err := c.Decode(&in, rest.MaxBody); err != nil {
		return err
	}
	code, err := event.ParseInvite(in.InviteCode)
	if err != nil {
		return err
	}
	account, err := a.account(c)
	if err != nil {
		return err
	}
	group, joined, err := account.JoinGroup(c.Request.Context(), code)
	if err != nil {
		return err
	}
	return c.Response.JSON(http.StatusOK, joinedGroup{group, joined})
}
