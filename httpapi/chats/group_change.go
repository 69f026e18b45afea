package chats

import (
	"net/http"

	"postern/event"
	"postern/httpapi/rest"
)

type subjectRequest struct {
	groupTarget

	Subject string `json:"subject" strict:"required"`
}

type subjectAnswer struct {
	GroupJID string `json:"groupJid"`
	Subject  string `json:"subject"`
}

func (a *API) changeSubject(c *rest.Call) error {
	var in subjectRequest
	if err := c.Decode(&in, rest.MaxBody); err != nil {
		return err
	}
	group, err := groupOf(c, in.groupTarget)
	if err != nil {
		return err
	}
	if err := event.CheckSubject(in.Subject); err != nil {
		return err
	}
	account, err := a.account(c)
	if err != nil {
		return err
	}
	if err := account.SetSubject(c.Request.Context(), group, in.Subject); err != nil {
		return err
	}
	return c.Response.JSON(http.StatusOK, subjectAnswer{group, in.Subject})
}

// descriptionRequest with an empty description removes it.
type descriptionRequest struct {
	groupTarget

	Description string `json:"description" strict:"required"`
}

type descriptionAnswer struct {
	GroupJID    string `json:"groupJid"`
	Description string `json:"description" doc:"The group's description now." example:"We meet at eight."`
}

func (a *API) changeDescription(c *rest.Call) error {
	var in descriptionRequest
	if err := c.Decode(&in, rest.MaxBody); err != nil {
		return err
	}
	group, err := groupOf(c, in.groupTarget)
	if err != nil {
		return err
	}
	if err := event.CheckDescription(in.Description); err != nil {
		return err
	}
	account, err := a.account(c)
	if err != nil {
		return err
	}
	if err := account.SetDescription(c.Request.Context(), group, in.Description); err != nil {
		return err
	}
	return c.Response.JSON(http.StatusOK, descriptionAnswer{group, in.Description})
}

type settingsRequest struct {
	groupTarget
	event.GroupSettings
}

// settingsAnswer has the settings that were changed.
type settingsAnswer struct {
	GroupJID          string `json:"groupJid"`
	Announce          *bool  `json:"announce,omitempty"`
	Restrict          *bool  `json:"restrict,omitempty"`
	MemberAddMode     *bool  `json:"memberAddMode,omitempty"`
	JoinApprovalMode  *bool  `json:"joinApprovalMode,omitempty"`
	EphemeralDuration *int64 `json:"ephemeralDuration,omitempty"`
}

func (a *API) changeSettings(c *rest.Call) error {
	var in settingsRequest
	if err := c.Decode(&in, rest.MaxBody); err != nil {
		return err
	}
	group, err := groupOf(c, in.groupTarget)
	if err != nil {
		return err
	}
	if err := in.Check(); err != nil {
		return err
	}
	account, err := a.account(c)
	if err != nil {
		return err
	}
	if err := account.ChangeSettings(c.Request.Context(), group, in.GroupSettings); err != nil {
		return err
	}
	s := in.GroupSettings
	return c.Response.JSON(http.StatusOK, settingsAnswer{group, s.Announce, s.Restrict, s.MemberAddMode, s.JoinApprovalMode, s.EphemeralDuration})
}
