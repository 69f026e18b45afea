package operator

import (
	"fmt"
	"net/http"
	"unicode/utf8"

	"postern/access"
	"postern/event"
	"postern/httpapi/rest"
)

// AuditRecord is one change with its actor.
type AuditRecord struct {
	ID      uint64     `json:"id" doc:"The number of the record." example:"42"`
	At      event.Time `json:"at" doc:"When the change was made." example:"$time"`
	Actor   string     `json:"actor"` // a key's id, global, instance:NAME or user:UUID
	Action  string     `json:"action" doc:"What was done." example:"instance.create"`
	Subject string     `json:"subject" doc:"What was changed: the name of an instance, or an id; empty for the program itself." example:"$name"`
	From    string     `json:"from" doc:"The address that the request came from." example:"192.0.2.7"`
	Count   int        `json:"count,omitempty"` // changes that a record of the action audit.more combines
}

// AuditList is a page of the log, newest first.
type AuditList struct {
	NextCursor     *string       `json:"nextCursor"`     // null at the end
	PreviousCursor *string       `json:"previousCursor"` // null at the beginning
	TotalRecords   *int          `json:"totalRecords" doc:"How many records the log has; null with a filter." example:"120" rules:"minimum=0"`
	Records        []AuditRecord `json:"records"`
}

// maxAuditFilter is the maximum length of a filter, in characters.
const maxAuditFilter = 255

// listAudit lists the audit log, newest first.
func (a *API) listAudit(c *rest.Call) error {
	words := []string{"actor", "action", "subject"}
	q, err := c.Query(append([]string{"since", "until", "limit", "nextCursor", "previousCursor"}, words...))
	if err != nil {
		return err
	}
	for _, name := range words {
		if n := utf8.RuneCountInString(q.Get(name)); q.Has(name) && (n < 1 || n > maxAuditFilter) {
			return rest.InvalidQuery(fmt.Sprintf("%s must have 1 to %d characters", name, maxAuditFilter))
		}
	}
	f := access.Filter{Actor: q.Get("actor"), Action: q.Get("action"), Subject: q.Get("subject")}
	if f.Since, err = rest.ParseTime("since", q.Get("since")); err != nil {
		return err
	}
	if f.Until, err = rest.ParseTime("until", q.Get("until")); err != nil {
		return err
	}
	page, err := rest.ReadPage(q)
	if err != nil {
		return err
	}
	before, err := rest.ReadCursor(page.Next)
	if err != nil {
		return err
	}
	after, err := rest.ReadCursor(page.Previous)
	if err != nil {
		return err
	}
	found, err := a.Access.Book.List(f, uint64(before), uint64(after), page.Limit) //nolint:gosec // neither is below 0
	if err != nil {
		return err
	}
	out := AuditList{NextCursor: rest.CursorAt(int64(found.Older)), PreviousCursor: rest.CursorAt(int64(found.Newer)), Records: make([]AuditRecord, len(found.Records))} //nolint:gosec // counted from 1
	for i, r := range found.Records {
		out.Records[i] = AuditRecord{r.ID, event.At(r.At), r.Actor, r.Action, r.Subject, r.From, r.Count}
	}
	if f == (access.Filter{}) {
		out.TotalRecords = &found.Total
	}
	return c.Response.JSON(http.StatusOK, out)
}
