package httpapi

import (
	"net/http"

	"postern/batch"
	"postern/event"
)

// auditRecord is one change, and who made it.
type auditRecord struct {
	ID      uint64     `json:"id"`
	At      event.Time `json:"at"`
	Actor   string     `json:"actor"` // a key's id, global, instance:NAME or user:UUID
	Action  string     `json:"action"`
	Subject string     `json:"subject"`
	From    string     `json:"from"` // the address
}

// listAudit lists what was changed, the newest first.
func (a *api) listAudit(c *call) error {
	q, err := c.query([]string{"limit", "nextCursor", "previousCursor"})
	if err != nil {
		return err
	}
	page, err := readPage(q)
	if err != nil {
		return err
	}
	before, err := readCursor(page.Next)
	if err != nil {
		return err
	}
	after, err := readCursor(page.Previous)
	if err != nil {
		return err
	}
	found, total, err := a.Access.Book.List(uint64(before), uint64(after), page.Limit+1) //nolint:gosec // neither is below 0
	if err != nil {
		return err
	}
	more := len(found) > page.Limit
	switch {
	case more && after > 0:
		found = found[len(found)-page.Limit:]
	case more:
		found = found[:page.Limit]
	}
	out := batch.List[auditRecord]{TotalRecords: total, Records: make([]auditRecord, len(found))}
	for i, r := range found {
		out.Records[i] = auditRecord{r.ID, event.At(r.At), r.Actor, r.Action, r.Subject, r.From}
	}
	if len(found) == 0 {
		return c.w.json(http.StatusOK, out)
	}
	if more || after > 0 {
		out.NextCursor = cursorAt(int64(found[len(found)-1].ID)) //nolint:gosec // counted from 1
	}
	if before > 0 || after > 0 && more {
		out.PreviousCursor = cursorAt(int64(found[0].ID)) //nolint:gosec // counted from 1
	}
	return c.w.json(http.StatusOK, out)
}
