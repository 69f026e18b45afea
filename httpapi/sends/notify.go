package sends

import (
	"context"
	"net/http"

	"postern/event"
	"postern/httpapi/alerts"
	"postern/httpapi/rest"
	"postern/instance"
	"postern/store"
)

// MaxNotification has room for the maximum number of alerts in a post, with 2 KB each.
const MaxNotification = 4 << 20

// NotifyAnswer is the answer to a notification: the number of its alerts that were sent, and of those that were
// sent before. A title with a message counts as one.
type NotifyAnswer struct {
	Sent       int `json:"sent" doc:"The number of alerts in the text; 0: no text was sent." example:"1"`
	Suppressed int `json:"suppressed" doc:"The number of alerts already sent before." example:"0"`
	// Unknown is the number of those in Suppressed whose text has an unknown outcome.
	Unknown int `json:"unknown,omitempty" doc:"How many of those have an unknown outcome: they may not have arrived." example:"0"`
}

// notify sends one text with the alerts of the body that were not yet sent; see package alerts for its
// guarantees.
func (a *API) notify(c *rest.Call) error {
	c.Once.Names(c.Request.URL.RawQuery)
	var in alerts.Notification
	if err := c.DecodeForeign(&in, MaxNotification, alerts.MaxAlerts+1); err != nil {
		return err
	}
	q, err := c.Query([]string{"to"})
	if err != nil {
		return err
	}
	if !q.Has("to") {
		return rest.InvalidQuery("to is required: the number or JID that gets the text")
	}
	if err := in.Check(); err != nil {
		return err
	}
	number := q.Get("to")
	target := &sendTarget{OneRecipient: rest.OneRecipient{Number: &number}}
	to, err := target.Parse()
	if err != nil {
		return err
	}
	if err := c.MayWriteTo(to.JID()); err != nil { // before the answer reveals what was sent
		return err
	}
	release, err := a.Alerts.Turn(c.Request.Context(), c.Instance.ID, to.JID())
	if err != nil {
		return err
	}
	defer release()
	marks := in.Marks(to.JID())
	known, err := a.Alerts.Known(c.Instance.ID, to.JID(), marks)
	if err != nil {
		return err
	}
	answer := NotifyAnswer{Sent: len(known.New), Suppressed: len(marks) - len(known.New), Unknown: known.Unknown}
	if known.Unknown > 0 {
		c.Log().Warn("alerts are not sent again, although it is unknown whether they arrived; look at the alert manager", "instance", c.Instance.Name, "alerts", known.Unknown, "request_id", c.RequestID)
	}
	switch {
	case len(marks) == 0:
		answer.Sent = 1
	case answer.Sent == 0:
		return c.Response.JSON(http.StatusOK, answer)
	}
	content, err := (&event.TextContent{Text: in.Text(known.New)}).Content()
	if err != nil {
		return err
	}
	out, err := a.outgoing(c, target, content)
	if err != nil {
		return err
	}
	if err := a.Store.Admit(); err != nil {
		return err
	}
	return a.sendAlerts(c, out, known.Marks, answer)
}

// sendAlerts sends the text. It records it before the send and in the commit that stores it.
func (a *API) sendAlerts(c *rest.Call, out event.Outgoing, marks []alerts.Mark, answer NotifyAnswer) error {
	ctx, done := c.SendContext()
	defer done()
	var note *alerts.Note
	out.Leaving = func() (err error) {
		if err = c.Begin(); err == nil {
			note, err = a.Alerts.Begin(ctx, c.Instance.ID, out.To, marks, instance.There)
		}
		return err
	}
	keep := rest.KeepInCommit[NotifyAnswer](c, http.StatusOK)
	_, err := a.Supervisor.SendAndStore(ctx, c.Instance.ID, out, instance.Keeping{
		RequestID: c.RequestID,
		InCommit: func(tx *store.Tx, _ event.Message) error {
			if err := note.Sent(tx); err != nil || keep == nil {
				return err
			}
			return keep(tx, answer)
		},
	})
	if err == nil {
		return c.Response.JSON(http.StatusOK, answer)
	}
	if r, known := c.AnswerTo(err); known && !r.KeepsKey() { // nothing left
		if undo := note.Undo(context.WithoutCancel(ctx)); undo != nil {
			c.Log().Error("a note of alerts that were not sent could not be removed; they are suppressed for a day", "instance", c.Instance.Name, "error", undo)
		}
	}
	return err
}
