package sends

import (
	"fmt"
	"net/http"
	"time"

	"github.com/google/uuid"

	"postern/batch"
	"postern/event"
	"postern/httpapi/rest"
	"postern/instance/later"
	"postern/store"
)

// laterOptions have a message sent at a later time.
type laterOptions struct {
	SendAt  string `json:"sendAt"`
	LateMax *int64 `json:"lateMax"`
}

// appointment is when a message is to be sent.
type appointment struct {
	at      time.Time
	lateMax time.Duration
}

// when returns the time of a send, nil for now.
func (o laterOptions) when(now time.Time) (*appointment, error) {
	if o.SendAt == "" {
		if o.LateMax != nil {
			return nil, fmt.Errorf("%w: options.lateMax is for sends with options.sendAt", event.ErrContent)
		}
		return nil, nil //nolint:nilnil // most messages are sent now
	}
	at, err := time.Parse(time.RFC3339, o.SendAt)
	if err != nil {
		return nil, fmt.Errorf("%w: options.sendAt must be an RFC 3339 time, such as %s", event.ErrContent, event.At(now.Add(time.Hour)))
	}
	if at = at.Truncate(time.Millisecond).UTC(); !at.After(now) {
		return nil, fmt.Errorf("%w: options.sendAt is past: it is %s; leave it out to send now", event.ErrContent, event.At(now))
	}
	if at.After(now.Add(later.MaxAhead)) {
		return nil, fmt.Errorf("%w: options.sendAt must be at most %d days ahead", event.ErrContent, int(later.MaxAhead.Hours())/24)
	}
	a := &appointment{at, later.DefaultLateMax}
	if o.LateMax != nil {
		if *o.LateMax < later.MinLateMax.Milliseconds() || *o.LateMax > later.MaxLateMax.Milliseconds() {
			return nil, fmt.Errorf("%w: options.lateMax must be %d to %d milliseconds", event.ErrContent, later.MinLateMax.Milliseconds(), later.MaxLateMax.Milliseconds())
		}
		a.lateMax = time.Duration(*o.LateMax) * time.Millisecond
	}
	return a, nil
}

// acceptedLater is the answer to a send at a later time.
type acceptedLater struct {
	ScheduledID uuid.UUID  `json:"scheduledId" doc:"The id of the send until it ends, and in the event send.message with its end." example:"$uuid"`
	Status      string     `json:"status" doc:"Always scheduled; distinguishes this answer from the others." example:"scheduled" rules:"enum=scheduled"`
	SendAt      event.Time `json:"sendAt" doc:"When it is sent, in UTC." example:"$time"`
}

// schedule accepts a message for a later time, whether or not the instance is connected. The event send.message
// reports its end.
func (a *API) schedule(c *rest.Call, out event.Outgoing, attributes event.Attributes, when *appointment) error {
	if err := a.mayMentionAll(c, out); err != nil {
		return err
	}
	if err := a.outlives(c, out, when); err != nil {
		return err
	}
	answer := func(id uuid.UUID) acceptedLater {
		return acceptedLater{ScheduledID: id, Status: "scheduled", SendAt: event.At(when.at)}
	}
	d := later.Send{
		Instance: c.Instance.ID, Out: out, At: when.at, LateMax: when.lateMax, Attributes: attributes, RequestID: c.RequestID, Key: c.ScopedKey(),
	}
	if keep := rest.KeepInCommit[acceptedLater](c, http.StatusAccepted); keep != nil {
		d.InCommit = func(tx *store.Tx, id uuid.UUID) error { return keep(tx, answer(id)) }
	}
	id, err := a.Scheduled.Accept(c.KeyContext(), d)
	if err != nil {
		return err
	}
	return c.Response.JSON(http.StatusAccepted, answer(id))
}

// outlives refuses an upload that expires before the message can be sent.
func (a *API) outlives(c *rest.Call, out event.Outgoing, when *appointment) error {
	m := out.Content.Media
	if m == nil || m.UploadID == "" {
		return nil
	}
	u, err := a.Media.Upload(c.Instance.ID, m.UploadID)
	if err != nil {
		return err
	}
	if last := when.at.Add(when.lateMax); u.Expired(last) {
		return fmt.Errorf("%w: the upload of mediaUploadId expires at %s, before options.sendAt and lateMax; give a URL or the file itself", event.ErrContent, u.ExpiresAt)
	}
	return nil
}

// ScheduledView is a send that has not ended.
type ScheduledView struct {
	ScheduledID        uuid.UUID        `json:"scheduledId" doc:"Its id." example:"$uuid"`
	SendAt             event.Time       `json:"sendAt" doc:"When it is sent." example:"$time"`
	LateMax            int64            `json:"lateMax" doc:"How many milliseconds after that it may be sent at the latest." example:"600000" rules:"minimum=0"`
	Status             string           `json:"status" doc:"waiting, or sending once the message may have left." example:"waiting" rules:"enum=waiting|sending"`
	ChatJID            string           `json:"chatJid"`
	Type               string           `json:"type" doc:"The kind of its content." example:"text"`
	Text               string           `json:"text" doc:"The beginning of its text or caption, empty where it has none." example:"Your order is on its way."`
	MentionAll         bool             `json:"mentionAll"`
	ExternalAttributes event.Attributes `json:"externalAttributes"`
	CreatedAt          event.Time       `json:"createdAt"`
}

func viewScheduled(one later.Scheduled) ScheduledView {
	v := ScheduledView{
		ScheduledID: one.ID, SendAt: event.At(one.At), LateMax: one.LateMax.Milliseconds(), Status: "waiting", ChatJID: one.Out.To,
		MentionAll: one.Out.MentionAll, ExternalAttributes: one.Attributes, CreatedAt: one.CreatedAt,
	}
	if one.Begun {
		v.Status = "sending"
	}
	if v.ExternalAttributes == nil {
		v.ExternalAttributes = event.Attributes("{}")
	}
	v.Type, v.Text = describe(one.Out.Content)
	v.Text = event.Cut(v.Text)
	return v
}

// describe returns the kind of a content and its text.
func describe(c event.Content) (kind, text string) {
	switch {
	case c.Text != nil:
		return "text", c.Text.Text
	case c.Link != nil:
		return "link", c.Link.Link
	case c.Media != nil && c.Media.Kind == "":
		return "media", c.Media.Caption
	case c.Media != nil:
		return string(c.Media.Kind), c.Media.Caption
	case c.Contacts != nil:
		return "contact", c.Contacts[0].FullName
	case c.Location != nil:
		return "location", c.Location.Name
	case c.Reaction != nil:
		return "reaction", c.Reaction.Reaction
	case c.Poll != nil:
		return "poll", c.Poll.Name
	case c.Status != nil:
		return "status", c.Status.Text
	}
	return "forward", ""
}

func (a *API) listScheduled(c *rest.Call) error {
	q, err := c.Query(rest.Cursors())
	if err != nil {
		return err
	}
	at, err := rest.ReadPage(q)
	if err != nil {
		return err
	}
	want := later.Query{Limit: at.Limit}
	if want.After, err = uploadCursor(at.Next); err != nil {
		return err
	}
	if want.Before, err = uploadCursor(at.Previous); err != nil {
		return err
	}
	page, err := a.Scheduled.List(c.Request.Context(), c.Instance.ID, want)
	if err != nil {
		return err
	}
	list := batch.List[ScheduledView]{TotalRecords: page.Total, Records: []ScheduledView{}}
	for _, one := range page.Sends {
		list.Records = append(list.Records, viewScheduled(one))
	}
	if page.Next != uuid.Nil {
		list.NextCursor = event.OrNull(page.Next.String())
	}
	if page.Previous != uuid.Nil {
		list.PreviousCursor = event.OrNull(page.Previous.String())
	}
	return c.Response.JSON(http.StatusOK, list)
}

func (a *API) deleteScheduled(c *rest.Call) error {
	if err := c.NoBody(); err != nil {
		return err
	}
	id, err := uuid.Parse(c.Params.ByName("id"))
	if err != nil {
		return later.ErrNotFound
	}
	err = a.Scheduled.Delete(c.Request.Context(), c.Instance.ID, id, func(jid string) error {
		if c.MayWriteTo(jid) != nil {
			return later.ErrNotFound // a key learns nothing of what is not for its recipients
		}
		return nil
	})
	if err != nil {
		return err
	}
	return c.NoContent()
}
