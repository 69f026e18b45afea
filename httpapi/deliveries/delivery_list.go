package deliveries

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"postern/batch"
	"postern/delivery"
	"postern/event"
	"postern/httpapi/rest"
	"postern/instance/webhooks"
	"postern/internal/nearest"
)

// Limits of the filters.
const (
	maxDeliveryQuery = 255
	maxDurationMs    = 86_400_000
)

// listDeliveries lists the deliveries of the instance, or all for the operator, newest first.
func (a *API) listDeliveries(c *rest.Call) error {
	q, err := c.Query([]string{
		"event", "target", "endpointId", "from", "to", "minDurationMs", "query", "limit", "nextCursor", "previousCursor",
	}, "state")
	if err != nil {
		return err
	}
	filter, err := deliveryFilter(q)
	if err != nil {
		return err
	}
	page, err := rest.ReadPage(q)
	if err != nil {
		return err
	}
	filter.Instance, filter.NoGlobal = c.Instance.ID, c.Instance.ID != 0
	found, err := a.Deliveries.List(c.Request.Context(), filter, page.Next+page.Previous, page.Limit)
	if err != nil {
		return err
	}
	out := batch.List[DeliveryRecord]{
		NextCursor: event.OrNull(found.Next), PreviousCursor: event.OrNull(found.Previous), TotalRecords: found.Total,
		Records: make([]DeliveryRecord, len(found.Records)),
	}
	for i, r := range found.Records {
		out.Records[i] = NewDeliveryRecord(r)
	}
	return c.Response.JSON(http.StatusOK, out)
}

// deliveryFilter reads the filters of a list. The error names the first that breaks its rule.
func deliveryFilter(q url.Values) (f delivery.Filter, err error) {
	if f.States, err = deliveryStates(rest.QueryList(q, "state"), delivery.States()); err != nil {
		return f, rest.InvalidQuery(err.Error())
	}
	if f.Event, err = deliveryEvent("event", q.Get("event")); err != nil {
		return f, rest.InvalidQuery(err.Error())
	}
	var endpoint *string
	if q.Has("endpointId") {
		endpoint = new(string)
		*endpoint = q.Get("endpointId")
	}
	if f.Target, f.Endpoint, err = deliveryTarget(q.Get("target"), endpoint); err != nil {
		return f, rest.InvalidQuery(err.Error())
	}
	if f.From, f.To, err = span(q.Get("from"), q.Get("to")); err != nil {
		return f, err
	}
	if q.Has("minDurationMs") {
		ms, err := strconv.ParseInt(q.Get("minDurationMs"), 10, 64)
		if err != nil || ms < 0 || ms > maxDurationMs {
			return f, rest.InvalidQuery("minDurationMs must be a whole number from 0 to " + strconv.Itoa(maxDurationMs))
		}
		f.MinDuration = time.Duration(ms) * time.Millisecond
	}
	if f.Query = q.Get("query"); len(f.Query) > maxDeliveryQuery {
		return f, rest.InvalidQuery("query must have at most " + strconv.Itoa(maxDeliveryQuery) + " characters")
	}
	return f, nil
}

// rule returns the text of a violated rule, for the answer.
type rule string

func (r rule) Error() string { return string(r) }

// deliveryStates checks states by their names.
func deliveryStates(names []string, allowed []delivery.State) (all []delivery.State, err error) {
	for _, name := range rest.Distinct(names) {
		if !slices.Contains(allowed, delivery.State(name)) {
			return nil, rule("state " + strconv.Quote(event.Cut(name)) + " is not one of " + rest.Joined(allowed))
		}
		all = append(all, delivery.State(name))
	}
	return all, nil
}

// deliveryEvent checks the name of an event; empty means all.
func deliveryEvent(field, name string) (event.Kind, error) {
	if name == "" {
		return "", nil
	}
	if _, known := event.Lookup(event.Kind(name)); !known {
		var all []string
		for _, d := range event.Catalogue() {
			all = append(all, string(d.Kind))
		}
		return "", rule(field + " " + strconv.Quote(event.Cut(name)) + " is not an event; the nearest is " + strconv.Quote(nearest.Of(name, all)))
	}
	return event.Kind(name), nil
}

// deliveryTarget checks a target and the id of an endpoint; empty means all.
func deliveryTarget(target string, endpoint *string) (event.Target, *string, error) {
	targets := []event.Target{event.TargetWebhook, event.TargetGlobal, event.TargetEndpoint}
	if target != "" && !slices.Contains(targets, event.Target(target)) {
		return "", nil, rule("target " + strconv.Quote(event.Cut(target)) + " is not one of " + rest.Joined(targets))
	}
	if endpoint != nil && !webhooks.IsEndpointID(*endpoint) {
		return "", nil, rule("endpointId must have 1 to 64 characters of A–Z a–z 0–9 . _ -")
	}
	return event.Target(target), endpoint, nil
}

// span reads the range of creation times.
func span(from, to string) (begin, end time.Time, err error) {
	if begin, err = rest.ParseTime("from", from); err != nil {
		return begin, end, err
	}
	if end, err = rest.ParseTime("to", to); err != nil {
		return begin, end, err
	}
	if !begin.IsZero() && !end.IsZero() && begin.After(end) {
		return begin, end, rest.InvalidQuery("from must not be after to")
	}
	return begin, end, nil
}
