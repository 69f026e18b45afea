package httpapi

import (
	"net/http"

	"postern/event"
)

type subjectRequest struct {
	groupTarget

	Subject string `json:"subject" strict:"required"`
}

type subjectAnswer struct {
	GroupJID string `json:"groupJid"`
	Subject  string `json:"subject"`
}

func (a *api) changeSubject(c *call) error {
	var in subjectRequest
	if err := c.decode(&in, maxBody); err != nil {
		return err
	}
	group, err := c.group(in.groupTarget)
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
	if err := account.SetSubject(c.r.Context(), group, in.Subject); err != nil {
		return err
	}
	return c.w.json(http.StatusOK, subjectAnswer{group, in.Subject})
}

// descriptionRequest with an empty description removes it.
type descriptionRequest struct {
	groupTarget

	Description string `json:"description" strict:"required"`
}

type descriptionAnswer struct {
	GroupJID    string `json:"groupJid"`
	Description string `json:"description"`
}

func (a *api) changeDescription(c *call) error {
	var in descriptionRequest
	if err := c.decode(&in, maxBody); err != nil {
		return err
	}
	group, err := c.group(in.groupTarget)
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
	if err := account.SetDescription(c.r.Context(), group, in.Description); err != nil {
		return err
	}
	return c.w.json(http.StatusOK, descriptionAnswer{group, in.Description})
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

func (a *api) changeSettings(c *call) error {
	var in settingsRequest
	if err := c.decode(&in, maxBody); err != nil {
		return err
	}
	group, err := c.group(in.groupTarget)
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
	if err := account.ChangeSettings(c.r.Context(), group, in.GroupSettings); err != nil {
		return err
	}
	s := in.GroupSettings
	return c.w.json(http.StatusOK, settingsAnswer{group, s.Announce, s.Restrict, s.MemberAddMode, s.JoinApprovalMode, s.EphemeralDuration})
}
