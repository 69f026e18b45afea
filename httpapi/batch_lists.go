package httpapi

import (
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"postern/batch"
	"postern/event"
)

// Bounds of the length of a page.
const (
	defaultLimit = 50
	maxLimit     = 200
)

// pageRequest is the part that the filters of all lists share.
type pageRequest struct {
	limit          *int64
	next, previous string
}

// page checks the bounds; the cursors are the engine's to read.
func (p pageRequest) page() (batch.Page, error) {
	limit := int64(defaultLimit)
	if p.limit != nil {
		limit = *p.limit
	}
	if limit < 1 || limit > maxLimit {
		return batch.Page{}, invalidQuery("limit must be between 1 and 200")
	}
	if p.next != "" && p.previous != "" {
		return batch.Page{}, invalidQuery("nextCursor and previousCursor exclude each other")
	}
	return batch.Page{Limit: int(limit), Next: p.next, Previous: p.previous}, nil
}

// batchFilter is the body of POST /message/batches/list, and as query
// parameters of the same names that of GET /message/batches and /admin/batches.
type batchFilter struct {
	Status         oneOrMore `json:"status"`
	InstanceName   string    `json:"instanceName"`
	CreatedFrom    string    `json:"createdFrom"`
	CreatedTo      string    `json:"createdTo"`
	Name           string    `json:"name"`
	Query          string    `json:"query"`
	Limit          *int64    `json:"limit"`
	NextCursor     string    `json:"nextCursor"`
	PreviousCursor string    `json:"previousCursor"`
}

// oneOrMore is a string or an array of strings.
type oneOrMore []string

// UnmarshalJSON implements json.Unmarshaler.
func (o *oneOrMore) UnmarshalJSON(raw []byte) error {
	if raw[0] != '"' {
		return json.Unmarshal(raw, (*[]string)(o))
	}
	*o = make(oneOrMore, 1)
	return json.Unmarshal(raw, &(*o)[0])
}

func (a *api) listBatchesByBody(c *call) error {
	var in batchFilter
	if err := c.decode(&in, maxBody); err != nil {
		return err
	}
	return a.listBatches(c, in, a.ofUser(c.user))
}

func (a *api) listBatchesByQuery(c *call) error {
	in, _, err := c.batchQuery()
	if err != nil {
		return err
	}
	return a.listBatches(c, in, a.ofUser(c.user))
}

// listAllBatches lists the batches of all users, or of the one that the query
// names.
func (a *api) listAllBatches(c *call) error {
	in, q, err := c.batchQuery("ownerUserId")
	if err != nil {
		return err
	}
	if !q.Has("ownerUserId") {
		return a.listBatches(c, in, a.Engine.AllBatches)
	}
	text := q.Get("ownerUserId")
	owner, err := uuid.Parse(text)
	if err != nil || len(text) != len(owner.String()) {
		return invalidQuery("ownerUserId must be a UUID in its usual form")
	}
	return a.listBatches(c, in, a.ofUser(owner))
}

// batchQuery reads the filters of a list of batches, and returns the query for
// what else the route takes.
func (c *call) batchQuery(more ...string) (batchFilter, url.Values, error) {
	q, err := c.query(append([]string{
		"instanceName", "createdFrom", "createdTo", "name", "query", "limit", "nextCursor", "previousCursor",
	}, more...), "status")
	if err != nil {
		return batchFilter{}, nil, err
	}
	limit, err := queryLimit(q)
	if err != nil {
		return batchFilter{}, nil, err
	}
	return batchFilter{
		Status:         manyOf(q, "status"),
		InstanceName:   q.Get("instanceName"),
		CreatedFrom:    q.Get("createdFrom"),
		CreatedTo:      q.Get("createdTo"),
		Name:           q.Get("name"),
		Query:          q.Get("query"),
		Limit:          limit,
		NextCursor:     q.Get("nextCursor"),
		PreviousCursor: q.Get("previousCursor"),
	}, q, nil
}

// listBatches answers with one page of the batches of the caller or, for an
// operator, of the user that is named, or of all.
func (a *api) listBatches(c *call, in batchFilter, list batchLister) error {
	page, err := pageRequest{in.Limit, in.NextCursor, in.PreviousCursor}.page()
	if err != nil {
		return err
	}
	f := batch.Filter{InstanceName: in.InstanceName, Name: in.Name, Query: in.Query}
	for _, s := range distinct(in.Status) {
		if !slices.Contains(batchStatuses(), event.BatchStatus(s)) {
			return invalidQuery("status " + strconv.Quote(event.Cut(s)) + " is not a status of a batch")
		}
		f.Status = append(f.Status, event.BatchStatus(s))
	}
	if f.CreatedFrom, err = instant("createdFrom", in.CreatedFrom); err != nil {
		return err
	}
	if f.CreatedTo, err = instant("createdTo", in.CreatedTo); err != nil {
		return err
	}
	found, err := list(f, page)
	if err != nil {
		return err
	}
	return c.w.json(http.StatusOK, found)
}

// batchLister reads one page of batches.
type batchLister func(batch.Filter, batch.Page) (batch.List[batch.View], error)

// ofUser lists the batches of one user.
func (a *api) ofUser(owner uuid.UUID) batchLister {
	return func(f batch.Filter, p batch.Page) (batch.List[batch.View], error) {
		return a.Engine.Batches(owner, f, p)
	}
}

func batchStatuses() []event.BatchStatus {
	return []event.BatchStatus{
		event.BatchDraft, event.BatchQueued, event.BatchIsScheduled, event.BatchProcessing,
		event.BatchWaitingForWindow, event.BatchPauseAsked, event.BatchIsPaused, event.BatchWaitingForInstance,
		event.BatchStopAsked, event.BatchIsStopped, event.BatchIsInterrupted, event.BatchIsCompleted,
		event.BatchIsWithErrors,
	}
}

func (a *api) listItems(c *call) error {
	statuses := []string{
		string(batch.ItemPending), string(batch.ItemSending), string(batch.ItemSuccess),
		string(batch.ItemFailed), string(batch.ItemSkipped), string(batch.ItemUnknown),
	}
	return listRecords(c, statuses, a.Engine.Items)
}

func (a *api) listAttempts(c *call) error {
	statuses := []string{
		string(batch.AttemptSending), string(batch.AttemptSuccess), string(batch.AttemptFailed),
		string(batch.AttemptUnavailable), string(batch.AttemptUnknown),
	}
	return listRecords(c, statuses, a.Engine.Attempts)
}

// listRecords answers with one page of the items or attempts of a batch.
func listRecords[T any](
	c *call, statuses []string,
	list func(owner, id uuid.UUID, f batch.ItemFilter, p batch.Page) (batch.List[T], error),
) error {
	f, page, err := c.itemFilter(statuses)
	if err != nil {
		return err
	}
	id, err := c.uuid("id")
	if err != nil {
		return err
	}
	records, err := list(c.user, id, f, page)
	if err != nil {
		return err
	}
	return c.w.json(http.StatusOK, records)
}

// itemFilter reads the query of the lists of items and attempts.
func (c *call) itemFilter(statuses []string) (batch.ItemFilter, batch.Page, error) {
	var f batch.ItemFilter
	q, err := c.query([]string{"recipient", "instanceName", "limit", "nextCursor", "previousCursor"}, "status")
	if err != nil {
		return f, batch.Page{}, err
	}
	f = batch.ItemFilter{Status: distinct(manyOf(q, "status")), Recipient: q.Get("recipient"), InstanceName: q.Get("instanceName")}
	for _, s := range f.Status {
		if !slices.Contains(statuses, s) {
			return f, batch.Page{}, invalidQuery("status " + strconv.Quote(event.Cut(s)) + " is not one of " + strings.Join(statuses, ", "))
		}
	}
	limit, err := queryLimit(q)
	if err != nil {
		return f, batch.Page{}, err
	}
	page, err := pageRequest{limit, q.Get("nextCursor"), q.Get("previousCursor")}.page()
	return f, page, err
}

// distinct drops what is there again: every record is held against each of the
// values, and a body has room for a hundred thousand.
func distinct(values []string) []string {
	values = slices.Clone(values)
	slices.Sort(values)
	return slices.Compact(values)
}

// manyOf reads a query parameter that may be repeated or hold a list with
// commas.
func manyOf(q url.Values, name string) []string {
	var all []string
	for _, v := range q[name] {
		all = append(all, strings.Split(v, ",")...)
	}
	return all
}

func queryLimit(q url.Values) (*int64, error) {
	if !q.Has("limit") {
		return nil, nil
	}
	n, err := strconv.ParseInt(q.Get("limit"), 10, 64)
	if err != nil {
		return nil, invalidQuery("limit must be an integer")
	}
	return &n, nil
}

// limitOf is queryLimit with its default and bounds.
func limitOf(q url.Values) (int, error) {
	limit, err := queryLimit(q)
	if err != nil {
		return 0, err
	}
	page, err := pageRequest{limit: limit}.page()
	return page.Limit, err
}

func instant(name, text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return time.Time{}, invalidQuery(name + " must be an RFC 3339 time")
	}
	return t, nil
}
