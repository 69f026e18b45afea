package httpapi

import (
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"github.com/google/uuid"

	"postern/batch"
	"postern/event"
)

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
	f := batch.Filter{InstanceName: in.InstanceName, Name: in.Name, Query: in.Query, Opens: c.opens()}
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
	found, err := list(f, batch.Page(page))
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
