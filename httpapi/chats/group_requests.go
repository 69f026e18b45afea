package chats

import (
	"context"
	"fmt"
	"net/http"

	"postern/event"
	"postern/httpapi/rest"
	"postern/instance"
)

func (a *API) listJoinRequests(c *rest.Call) error {
	group, err := groupOf(c, groupTarget{})
	if err != nil {
		return err
	}
	return tell(a, c, func(account instance.Account, ctx context.Context) ([]event.JoinRequest, error) {
		return account.JoinRequests(ctx, group)
	})
}

// decision is an admin's decision about people who asked to join.
type decision string

const (
	approve decision = "approve"
	reject  decision = "reject"
)

type decideRequest struct {
	groupTarget

	Action       decision `json:"action" strict:"required"`
	Participants []string `json:"participants" strict:"required"`
}

type decideAnswer struct {
	GroupJID     string               `json:"groupJid"`
	Action       decision             `json:"action"`
	Participants []event.MemberResult `json:"participants" doc:"The result for each."`
}

func (a *API) decideJoinRequests(c *rest.Call) error {
	var in decideRequest
	if err := c.Decode(&in, rest.MaxBody); err != nil {
		return err
	}
	group, err := groupOf(c, in.groupTarget)
	if err != nil {
		return err
	}
	if in.Action != approve && in.Action != reject {
		return fmt.Errorf("%w: action %.100q is not one of: approve, reject", event.ErrArgument, in.Action)
	}
	people, err := event.ParsePeople("participants", in.Participants)
	if err != nil {
		return err
	}
	account, err := a.account(c)
	if err != nil {
		return err
	}
	results, err := account.DecideRequests(c.Request.Context(), group, in.Action == approve, people)
	if err != nil {
		return err
	}
	return c.Response.JSON(http.StatusOK, decideAnswer{group, in.Action, results})
}
