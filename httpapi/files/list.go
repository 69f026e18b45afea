package files

import (
	"errors"
	"net/http"
	"net/url"
	"slices"

	"postern/batch"
	"postern/event"
	"postern/httpapi/rest"
	"postern/media/display"
	"postern/media/kept"
	"postern/messages"
)

// KeptFile is the record of a file, with the message that it belongs to.
type KeptFile struct {
	MessageID int64           `json:"messageId" doc:"The message's id here." example:"42" rules:"minimum=1"`
	KeyID     string          `json:"keyId"`
	Chat      string          `json:"chat" doc:"The JID of the chat." example:"$jid"`
	Kind      event.MediaKind `json:"kind" doc:"The kind of file." example:"image"`
	MimeType  string          `json:"mimetype" doc:"The media type that the sender declared." example:"image/jpeg"`
	FileName  string          `json:"fileName" doc:"The name that the file is downloaded under." example:"cat.jpg"`
	Size      int64           `json:"size" doc:"The size in bytes: the file's where it is kept, else the sender's." example:"48213" rules:"minimum=0"`
	SHA256    string          `json:"sha256" doc:"The SHA-256 of the file, in hexadecimal." example:"9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"`
	State     kept.State      `json:"state"`
	Reason    *kept.Reason    `json:"reason"`
	Attempts  int             `json:"attempts" doc:"How often a fetch was tried." example:"1" rules:"minimum=0"`
	StoredAt  *event.Time     `json:"storedAt" doc:"When the file was stored; null if it never was." example:"$time"`
	ExpiresAt *event.Time     `json:"expiresAt" doc:"When the retention ends; null if it does not, or no file is kept." example:"$time"`
}

// listFiles lists the records of the files of an instance.
func (a *API) listFiles(c *rest.Call) error {
	q, err := c.Query([]string{"state", "limit", "nextCursor", "previousCursor"})
	if err != nil {
		return err
	}
	want, err := queryOf(q)
	if err != nil {
		return err
	}
	page, err := a.Kept.List(c.Request.Context(), c.Instance.ID, want)
	if err != nil {
		return err
	}
	list := batch.List[KeptFile]{TotalRecords: page.Total, TotalIsMinimum: page.Minimum, Records: []KeptFile{}}
	for _, e := range page.Entries {
		m, err := a.Messages.Message(c.Instance.ID, e.Message)
		if errors.Is(err, messages.ErrNoMessage) {
			continue // deleted meanwhile
		}
		if err != nil {
			return err
		}
		list.Records = append(list.Records, a.view(e, &m))
	}
	if page.Older != 0 {
		list.NextCursor = rest.CursorAt(page.Older)
	}
	if page.Newer != 0 {
		list.PreviousCursor = rest.CursorAt(page.Newer)
	}
	return c.Response.JSON(http.StatusOK, list)
}

func queryOf(q url.Values) (want kept.Query, err error) {
	if q.Has("state") {
		if want.State = kept.State(q.Get("state")); !slices.Contains(kept.States(), want.State) {
			return want, rest.InvalidQuery("state must be one of " + rest.Joined(kept.States()))
		}
	}
	page, err := rest.ReadPage(q)
	if err != nil {
		return want, err
	}
	want.Limit = page.Limit
	if page.Next != "" {
		want.Before, err = rest.ReadCursor(page.Next)
	} else if page.Previous != "" {
		want.After, err = rest.ReadCursor(page.Previous)
	}
	return want, err
}

func (a *API) view(e kept.Entry, m *event.Message) KeptFile {
	v := KeptFile{
		MessageID: e.Message, KeyID: m.KeyID, State: e.State, Reason: event.OrNull(e.Reason), Attempts: e.Attempts,
		StoredAt: event.AtPtr(e.StoredAt.Time), ExpiresAt: event.AtPtr(a.Kept.ExpiresAt(e.Record)),
	}
	for _, chat := range []*string{m.KeyLID, m.KeyRemoteJID} {
		if chat != nil {
			v.Chat = *chat
		}
	}
	if f, err := display.Of(m); err == nil {
		v.Kind, v.MimeType, v.FileName, v.Size, v.SHA256 = f.Kind, f.MimeType, f.Name, f.Size, f.Hex()
	}
	if e.State == kept.Stored {
		v.Size = e.Size
	}
	return v
}
