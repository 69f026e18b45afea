package httpapi

import (
	"context"
	"net/http"

	"postern/event"
	"postern/httpapi/alerts"
	"postern/instance"
	"postern/store"
)

// maxNotification has room for the alerts that a post may have, with 2 KB each.
const maxNotification = 4 << 20

// notifyAnswer is the answer to a notification: how many of its alerts are in a text that
// was sent, and how many were sent before. A title and message counts as one.
type notifyAnswer struct {
	Sent       int `json:"sent"`
	Suppressed int `json:"suppressed"`
	// Unknown is how many of Suppressed were in a text with an unknown outcome.
	Unknown int `json:"unknown,omitempty"`
}

// notify sends one text with the alerts of the body that were not sent yet; see package
// alerts for its guarantees.
func (a *api) notify(c *call) error {
	c.once.Names(c.r.URL.RawQuery)
	var in alerts.Notification
	if err := c.decodeForeign(&in, maxNotification, alerts.MaxAlerts+1); err != nil {
		return err
	}
	q, err := c.query([]string{"to"})
	if err != nil {
		return err
	}
	if !q.Has("to") {
		return invalidQuery("to is required: the number or JID that gets the text")
	}
	if err := in.Check(); err != nil {
		return err
	}
	number := q.Get("to")
	target := &sendTarget{oneRecipient: oneRecipient{Number: &number}}
	to, err := target.recipient()
	if err != nil {
		return err
	}
	if err := c.mayWriteTo(to.JID()); err != nil { // before the answer reveals what was sent
		return err
	}
	release, err := a.Alerts.Turn(c.r.Context(), c.instance.ID, to.JID())
	if err != nil {
		return err
	}
	defer release()
	marks := in.Marks(to.JID())
	known, err := a.Alerts.Known(c.instance.ID, to.JID(), marks)
	if err != nil {
		return err
	}
	answer := notifyAnswer{Sent: len(known.New), Suppressed: len(marks) - len(known.New), Unknown: known.Unknown}
	if known.Unknown > 0 {
		c.log().Warn("alerts are not sent again, although it is unknown whether they arrived; look at the alert manager", "instance", c.instance.Name, "alerts", known.Unknown, "request_id", c.requestID)
	}
	switch {
	case len(marks) == 0:
		answer.Sent = 1
	case answer.Sent == 0:
		return c.w.json(http.StatusOK, answer)
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

// sendAlerts sends the text, and notes it before the send and in the commit that stores it.
func (a *api) sendAlerts(c *call, out event.Outgoing, marks []alerts.Mark, answer notifyAnswer) error {
	ctx, done := c.patience()
	defer done()
	var note *alerts.Note
	out.Leaving = func() (err error) {
		if err = c.begin(); err == nil {
			note, err = a.Alerts.Begin(ctx, c.instance.ID, out.To, marks, instance.There)
		}
		return err
	}
	keep := keepInCommit[notifyAnswer](c, http.StatusOK)
	_, err := a.Supervisor.SendAndStore(ctx, c.instance.ID, out, instance.Keeping{
		RequestID: c.requestID,
		InCommit: func(tx *store.Tx, _ event.Message) error {
			if err := note.Sent(tx); err != nil || keep == nil {
				return err
			}
			return keep(tx, answer)
		},
	})
	if err == nil {
		return c.w.json(http.StatusOK, answer)
	}
	if r, known := c.answerTo(err); known && !r.keepsKey() { // nothing left
		if undo := note.Undo(context.WithoutCancel(ctx)); undo != nil {
			c.log().Error("a note of alerts that were not sent could not be removed; they are suppressed for a day", "instance", c.instance.Name, "error", undo)
		}
	}
	return err
}
