package instances

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"golang.org/x/text/runes"
	"golang.org/x/text/transform"
	"golang.org/x/text/unicode/norm"

	"postern/batch"
	"postern/console/trouble"
	"postern/event"
	"postern/httpapi/rest"
	"postern/instance"
	"postern/instance/webhooks"
)

// Facts are what a list shows of an instance beside its record.
type Facts struct {
	Troubles       []trouble.Kind
	LastReceivedAt event.Time // zero: nothing since the start
}

// Listed returns an instance as GET /instance lists it, but without its token. hook is nil if it has no
// webhook.
func Listed(rec instance.Record, hook *webhooks.Webhook, f Facts) ListedInstance {
	row := ListedInstance{instanceView: viewOf(rec), Tags: rec.Tags, Troubles: f.Troubles, Webhook: hook}
	if row.Tags == nil {
		row.Tags = []string{}
	}
	if row.Troubles == nil {
		row.Troubles = []trouble.Kind{}
	}
	if rec.OwnerJID != "" {
		row.LastReceivedAt = event.AtPtr(f.LastReceivedAt.Time)
	}
	return row
}

// maxInstances is the limit of a page of instances.
const maxInstances = 1000

// listInstances answers with an array or, if the query asks for a page, with a page by id.
func (a *API) listInstances(c *rest.Call) error {
	q, err := c.Query([]string{"instanceName", "query", "limit", "nextCursor", "previousCursor"}, "state", "trouble", "tag")
	if err != nil {
		return err
	}
	wanted, err := a.instanceFilter(q)
	if err != nil {
		return err
	}
	troubles := a.Troubles()
	var found []instance.Record
	for _, rec := range a.Registry.List() {
		if (c.Key == nil || c.Key.Opens(rec.ID)) && wanted(rec, a.shown(c, troubles[rec.ID])) {
			found = append(found, rec)
		}
	}
	total := len(found)
	paged := q.Has("limit") || q.Has("nextCursor") || q.Has("previousCursor")
	var list batch.List[ListedInstance]
	if paged {
		if found, list, err = instancePage(found, q); err != nil {
			return err
		}
	}
	all := []ListedInstance{}
	for _, rec := range found {
		hook, err := a.shownWebhook(c, rec.ID)
		if err != nil {
			return err
		}
		row := Listed(rec, hook, Facts{a.shown(c, troubles[rec.ID]), a.Supervisor.Received(rec.ID)})
		if c.MayHaveTokens() {
			row.Auth = authOf(rec)
		}
		all = append(all, row)
	}
	if !paged {
		return c.Response.JSON(http.StatusOK, all)
	}
	list.Records, list.TotalRecords = all, total
	return c.Response.JSON(http.StatusOK, list)
}

// shown returns those of the troubles of an instance that a call may see.
func (a *API) shown(c *rest.Call, kinds []trouble.Kind) (all []trouble.Kind) {
	for _, k := range kinds {
		if a.MaySeeTrouble(c, k) {
			all = append(all, k)
		}
	}
	return all
}

// instanceFilter returns which instances a query selects: equal parameters are alternatives, except for tag.
func (a *API) instanceFilter(q url.Values) (func(instance.Record, []trouble.Kind) bool, error) {
	var states []event.State
	for _, text := range q["state"] {
		s := event.State(strings.ToLower(text))
		if !slices.Contains(event.States(), s) {
			return nil, rest.InvalidQuery("state must be one of " + rest.Joined(event.States()))
		}
		states = append(states, s)
	}
	var kinds []trouble.Kind
	for _, text := range q["trouble"] {
		k := trouble.Kind(strings.ToUpper(text))
		if !slices.Contains(trouble.Kinds(), k) {
			return nil, rest.InvalidQuery("trouble must be one of " + rest.Joined(trouble.Kinds()))
		}
		kinds = append(kinds, k)
	}
	text := fold(strings.TrimSpace(q.Get("query")))
	return func(rec instance.Record, has []trouble.Kind) bool {
		switch {
		case q.Has("instanceName") && rec.Name != q.Get("instanceName"),
			states != nil && !slices.Contains(states, rec.Status),
			kinds != nil && !slices.ContainsFunc(kinds, func(k trouble.Kind) bool { return slices.Contains(has, k) }),
			slices.ContainsFunc(q["tag"], func(tag string) bool { return !slices.Contains(rec.Tags, strings.TrimSpace(tag)) }):
			return false
		case text == "":
			return true
		}
		number, _, _ := strings.Cut(rec.OwnerJID, "@")
		return slices.ContainsFunc(append([]string{rec.Name, rec.Description, number}, rec.Tags...), func(s string) bool { return strings.Contains(fold(s), text) })
	}, nil
}

// fold removes case and accents.
func fold(s string) string {
	plain, _, err := transform.String(transform.Chain(norm.NFD, runes.Remove(runes.In(unicode.Mn)), norm.NFC), s)
	if err != nil {
		plain = s
	}
	return strings.ToLower(plain)
}

// instancePage returns the instances of a page, by id.
func instancePage(all []instance.Record, q url.Values) (page []instance.Record, list batch.List[ListedInstance], err error) {
	limit := rest.DefaultLimit
	if q.Has("limit") {
		if limit, err = strconv.Atoi(q.Get("limit")); err != nil || limit < 1 || limit > maxInstances {
			return nil, list, rest.InvalidQuery("limit must be 1 to " + strconv.Itoa(maxInstances))
		}
	}
	if q.Has("nextCursor") && q.Has("previousCursor") {
		return nil, list, rest.InvalidCursor()
	}
	slices.SortFunc(all, func(a, b instance.Record) int { return int(a.ID - b.ID) })
	after, err := rest.ReadCursor(q.Get("nextCursor"))
	if err != nil {
		return nil, list, err
	}
	before, err := rest.ReadCursor(q.Get("previousCursor"))
	if err != nil {
		return nil, list, err
	}
	begin := slices.IndexFunc(all, func(r instance.Record) bool { return r.ID > after })
	if begin < 0 {
		begin = len(all)
	}
	end := min(begin+limit, len(all))
	if before > 0 {
		if end = slices.IndexFunc(all, func(r instance.Record) bool { return r.ID >= before }); end < 0 {
			end = len(all)
		}
		begin = max(0, end-limit)
	}
	page = all[begin:end]
	if end < len(all) && len(page) > 0 {
		list.NextCursor = rest.CursorAt(page[len(page)-1].ID)
	}
	if begin > 0 && len(page) > 0 {
		list.PreviousCursor = rest.CursorAt(page[0].ID)
	}
	return page, list, nil
}

type tagsRequest struct {
	Tags []string `json:"tags" strict:"required" doc:"All tags of the instance: 16 at most, of 1 to 40 characters without commas." example:"north,paying"`
}

type tagsAnswer struct {
	Tags []string `json:"tags" doc:"The tags as they are stored: trimmed, each once, in the order given." example:"north,paying"`
}

// setTags replaces the tags of an instance.
func (a *API) setTags(c *rest.Call) error {
	var in tagsRequest
	if err := c.Decode(&in, rest.MaxBody); err != nil {
		return err
	}
	tags, err := a.Registry.SetTags(c.Request.Context(), c.Instance.ID, in.Tags)
	if err != nil {
		return err
	}
	if tags == nil {
		tags = []string{}
	}
	return c.Response.JSON(http.StatusOK, tagsAnswer{tags})
}
