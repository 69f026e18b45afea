package batches

import (
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"github.com/google/uuid"

	"postern/batch"
	"postern/event"
	"postern/httpapi/rest"
)

// BatchFilter is the body of POST /message/batches/list. GET /message/batches and GET /admin/batches take the same names
// as query parameters.
type BatchFilter struct {
	Status         OneOrMore `json:"status"`
	InstanceName   string    `json:"instanceName" doc:"Only those with this instance." example:"$name"`
	CreatedFrom    string    `json:"createdFrom" doc:"Only those created at this time or later." example:"$time" rules:"format=date-time"`
	CreatedTo      string    `json:"createdTo" doc:"Only those created at this time or earlier." example:"$time" rules:"format=date-time"`
	Name           string    `json:"name" doc:"Only those with this name." example:"Summer offer"`
	Query          string    `json:"query" doc:"Only those with this text in their name, in upper or lower case." example:"offer"`
	Limit          *int64    `json:"limit"`
	NextCursor     string    `json:"nextCursor"`
	PreviousCursor string    `json:"previousCursor"`
}

// OneOrMore is a string or an array of strings.
type OneOrMore []string

// UnmarshalJSON implements json.Unmarshaler.
func (o *OneOrMore) UnmarshalJSON(raw []byte) error {
	if raw[0] != '"' {
		return json.Unmarshal(raw, (*[]string)(o))
	}
	*o = make(OneOrMore, 1)
	return json.Unmarshal(raw, &(*o)[0])
}

func (a *API) listBatchesByBody(c *rest.Call) error {
	var in BatchFilter
	if err := c.Decode(&in, rest.MaxBody); err != nil {
		return err
	}
	return a.listBatches(c, in, a.ofUser(c.User))
}

func (a *API) listBatchesByQuery(c *rest.Call) error {
	in, _, err := batchQuery(c)
	if err != nil {
		return err
	}
	return a.listBatches(c, in, a.ofUser(c.User))
}

// listAllBatches lists the batches of all users, or of the user named in the query.
func (a *API) listAllBatches(c *rest.Call) error {
	in, q, err := batchQuery(c, "ownerUserId")
	if err != nil {
		return err
	}
	if !q.Has("ownerUserId") {
		return a.listBatches(c, in, a.Engine.AllBatches)
	}
	text := q.Get("ownerUserId")
	owner, err := uuid.Parse(text)
	if err != nil || len(text) != len(owner.String()) {
		return rest.InvalidQuery("ownerUserId must be a UUID in its usual form")
	}
	return a.listBatches(c, in, a.ofUser(owner))
}

// batchQuery reads the filters of a list of batches, and returns the query for the route's other parameters.
func batchQuery(c *rest.Call, more ...string) (BatchFilter, url.Values, error) {
	q, err := c.Query(append([]string{
		"instanceName", "createdFrom", "createdTo", "name", "query", "limit", "nextCursor", "previousCursor",
	}, more...), "status")
	if err != nil {
		return BatchFilter{}, nil, err
	}
	limit, err := rest.QueryLimit(q)
	if err != nil {
		return BatchFilter{}, nil, err
	}
	return BatchFilter{
		Status:         rest.QueryList(q, "status"),
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

// listBatches answers with one page of the batches of the caller or, for an operator, of the named user or of all.
func (a *API) listBatches(c *rest.Call, in BatchFilter, list batchLister) error {
	page, err := rest.PageRequest{Limit: in.Limit, Next: in.NextCursor, Previous: in.PreviousCursor}.Page()
	if err != nil {
		return err
	}
	f := batch.Filter{InstanceName: in.InstanceName, Name: in.Name, Query: in.Query, Opens: c.Opens()}
	for _, s := range rest.Distinct(in.Status) {
		if !slices.Contains(BatchStatuses(), event.BatchStatus(s)) {
			return rest.InvalidQuery("status " + strconv.Quote(event.Cut(s)) + " is not a status of a batch")
		}
		f.Status = append(f.Status, event.BatchStatus(s))
	}
	if f.CreatedFrom, err = rest.ParseTime("createdFrom", in.CreatedFrom); err != nil {
		return err
	}
	if f.CreatedTo, err = rest.ParseTime("createdTo", in.CreatedTo); err != nil {
		return err
	}
	found, err := list(f, batch.Page(page))
	if err != nil {
		return err
	}
	return c.Response.JSON(http.StatusOK, found)
}

// batchLister reads one page of batches.
type batchLister func(batch.Filter, batch.Page) (batch.List[batch.View], error)

// ofUser lists the batches of one user.
func (a *API) ofUser(owner uuid.UUID) batchLister {
	return func(f batch.Filter, p batch.Page) (batch.List[batch.View], error) {
		return a.Engine.Batches(owner, f, p)
	}
}

// BatchStatuses returns all statuses of a batch.
func BatchStatuses() []event.BatchStatus {
	return []event.BatchStatus{
		event.BatchDraft, event.BatchQueued, event.BatchIsScheduled, event.BatchProcessing,
		event.BatchWaitingForWindow, event.BatchPauseAsked, event.BatchIsPaused, event.BatchWaitingForInstance,
		event.BatchStopAsked, event.BatchIsStopped, event.BatchIsInterrupted, event.BatchIsCompleted,
		event.BatchIsWithErrors,
	}
}
