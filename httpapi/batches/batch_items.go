package batches

import (
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"postern/batch"
	"postern/batch/record"
	"postern/event"
	"postern/httpapi/rest"
)

func (a *API) listItems(c *rest.Call) error {
	statuses := []string{
		string(record.ItemPending), string(record.ItemSending), string(record.ItemSuccess),
		string(record.ItemFailed), string(record.ItemSkipped), string(record.ItemUnknown),
	}
	return listRecords(c, statuses, a.shown(c).Items)
}

func (a *API) listAttempts(c *rest.Call) error {
	statuses := []string{
		string(record.AttemptSending), string(record.AttemptSuccess), string(record.AttemptFailed),
		string(record.AttemptUnavailable), string(record.AttemptUnknown),
	}
	return listRecords(c, statuses, a.shown(c).Attempts)
}

// listRecords answers with one page of the items or attempts of a batch.
func listRecords[T any](
	c *rest.Call, statuses []string,
	list func(id uuid.UUID, f batch.ItemFilter, p batch.Page) (batch.List[T], error),
) error {
	f, page, err := itemFilter(c, statuses)
	if err != nil {
		return err
	}
	id, err := c.UUID("id", batch.ErrNotFound)
	if err != nil {
		return err
	}
	records, err := list(id, f, page)
	if err != nil {
		return err
	}
	return c.Response.JSON(http.StatusOK, records)
}

// itemFilter reads the query of the lists of items and attempts.
func itemFilter(c *rest.Call, statuses []string) (batch.ItemFilter, batch.Page, error) {
	var f batch.ItemFilter
	q, err := c.Query([]string{"recipient", "instanceName", "limit", "nextCursor", "previousCursor"}, "status")
	if err != nil {
		return f, batch.Page{}, err
	}
	f = batch.ItemFilter{Status: rest.Distinct(rest.QueryList(q, "status")), Recipient: q.Get("recipient"), InstanceName: q.Get("instanceName")}
	for _, s := range f.Status {
		if !slices.Contains(statuses, s) {
			return f, batch.Page{}, rest.InvalidQuery("status " + strconv.Quote(event.Cut(s)) + " is not one of " + strings.Join(statuses, ", "))
		}
	}
	page, err := rest.ReadPage(q)
	return f, batch.Page(page), err
}
