package deliveries

import (
	"context"
	"encoding/base64"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"postern/batch"
	"postern/delivery/receivers"
	"postern/event"
	"postern/httpapi/rest"
	"postern/httpapi/strict"
)

// Receiver is a destination of webhooks with what is known of it.
type Receiver struct {
	ID            receivers.ID     `json:"id" doc:"The receiver, also after a change of its URL." example:"1:webhook"`
	URL           *string          `json:"url" doc:"Its address without the query; null for a consumer that pulls." example:"https://hooks.example.org/in"`
	Target        receivers.Target `json:"target"`
	EndpointID    *string          `json:"endpointId" doc:"The id of the endpoint, or the name of the consumer; null for others." example:"crm"`
	InstanceName  *string          `json:"instanceName" doc:"Its instance; null for the global webhook and for consumers of all events." example:"$name"`
	Durable       bool             `json:"durable" doc:"Whether its events are stored until they are delivered." example:"true"`
	State         receivers.State  `json:"state"`
	Since         *event.Time      `json:"since" doc:"When the state began; for FAILING the first failed attempt of the row. Null when IDLE." example:"$time"`
	Failures      int              `json:"failures" doc:"Attempts in a row that failed." example:"0" rules:"minimum=0"`
	LastSuccessAt *event.Time      `json:"lastSuccessAt" doc:"The last accepted attempt since the start; null: none." example:"$time"`
	LastAttemptAt *event.Time      `json:"lastAttemptAt" doc:"The last attempt since the start; null: none." example:"$time"`
	LastStatus    *int             `json:"lastStatus" doc:"The HTTP status of the last attempt; null without an answer." example:"503"`
	LastError     *string          `json:"lastError" doc:"Why the last attempt failed; null when it did not." example:"receiver answered 503"`
	NextAttemptAt *event.Time      `json:"nextAttemptAt" doc:"When the next attempt is due; null when none is." example:"$time"`
	Waiting       int              `json:"waiting" doc:"How many events wait for it." example:"60" rules:"minimum=0"`
	OldestAt      *event.Time      `json:"oldestWaitingAt" doc:"When the oldest of them was made." example:"$time"`
	PausedUntil   *event.Time      `json:"pausedUntil" doc:"The end of its pause; null when it is not paused." example:"$time"`
	Day           ReceiverDay      `json:"day" doc:"Attempts since the start, of 24 hours at most."`
	Hours         []ReceiverHour   `json:"hours,omitempty" doc:"The same by the hour, the running one last; only in the answer about one receiver."`
}

// ReceiverDay counts attempts of 24 hours.
type ReceiverDay struct {
	Since     event.Time `json:"since" doc:"Since when they are counted." example:"$time"`
	Delivered int        `json:"delivered" doc:"Accepted attempts." example:"120" rules:"minimum=0"`
	Failed    int        `json:"failed" doc:"Failed attempts." example:"2" rules:"minimum=0"`
	AverageMs *int64     `json:"averageMs" doc:"The average duration of the accepted ones in milliseconds; null: there were none." example:"35"`
}

// ReceiverHour counts attempts of an hour.
type ReceiverHour struct {
	At        event.Time `json:"at" doc:"Its beginning." example:"$time"`
	Delivered int        `json:"delivered" doc:"Accepted attempts." example:"12" rules:"minimum=0"`
	Failed    int        `json:"failed" doc:"Failed attempts." example:"0" rules:"minimum=0"`
}

func newReceiver(r receivers.Row) Receiver {
	v := Receiver{
		ID: r.ID, URL: event.OrNull(r.URL), Target: r.Target, EndpointID: event.OrNull(r.Endpoint), InstanceName: event.OrNull(r.Name), Durable: r.Durable,
		State: r.State, Since: event.AtPtr(r.Since), Failures: r.Failures, LastSuccessAt: event.AtPtr(r.Success), LastAttemptAt: event.AtPtr(r.Last),
		LastError: event.OrNull(r.Error), NextAttemptAt: event.AtPtr(r.Next), Waiting: r.Waiting, OldestAt: event.AtPtr(r.Oldest), PausedUntil: event.AtPtr(r.Paused),
		Day: ReceiverDay{Since: event.At(r.Day.Since), Delivered: r.Day.Delivered, Failed: r.Day.Failed},
	}
	if r.Status != 0 {
		v.LastStatus = &r.Status
	}
	if r.Day.Delivered > 0 {
		v.Day.AverageMs = new(r.Day.Average.Milliseconds())
	}
	if r.Target == receivers.TargetConsumer {
		v.Day.Since = event.At(time.Now())
	}
	for _, h := range r.Hours {
		v.Hours = append(v.Hours, ReceiverHour{event.At(h.At), h.Delivered, h.Failed})
	}
	return v
}

func (a *API) receiverRoutes() (all []rest.Route) {
	const about = "A receiver is one destination of one owner: the webhook of an instance, one of its endpoints, the global webhook, or a consumer that pulls."
	const testAbout = "The example is signed and has the headers of the receiver. It makes no record. An accepted test ends FAILING, and what waits is due at once."
	const pauseAbout = "What is durable waits, retries and replays too; `maxAge` goes on. The pause ends at its time, by resume, or when the receiver is removed."
	for _, of := range []struct {
		base, list, get, test, pause, resume, whose string

		auth rest.Scheme
	}{
		{"/receivers", "listAllReceivers", "getAnyReceiver", "testAnyReceiver", "pauseAnyReceiver", "resumeAnyReceiver", "all instances, and the global webhook", rest.GlobalKey},
		{"/instance/{i}/webhook/receivers", "listReceivers", "getReceiver", "testReceiver", "pauseReceiver", "resumeReceiver", "the instance", rest.InstanceBearer},
	} {
		filters := []string{"state", "origin"}
		if of.auth == rest.GlobalKey {
			filters = append(filters, "instance")
		}
		codes := rest.Codes{"RECEIVER_NOT_FOUND"}
		one := of.base + "/{receiver}"
		all = append(all, []rest.Route{
			{
				Method: "GET", Path: of.base, Auth: of.auth, Right: rest.ScopeDeliveries, Handle: a.listReceivers,
				ID: of.list, Summary: "List the receivers of " + of.whose + ", failing ones first.", About: about, Query: rest.Cursors(filters...),
				Out: rest.TypeOf[batch.List[Receiver]](), Codes: rest.Codes{rest.CodeNoCursor},
			},
			{
				Method: "GET", Path: one, Auth: of.auth, Right: rest.ScopeDeliveries, Handle: a.showReceiver,
				ID: of.get, Summary: "Show a receiver, with its attempts by the hour.", Out: rest.TypeOf[Receiver](), Codes: codes,
			},
			{
				Method: "POST", Path: one + "/test", Auth: of.auth, Right: rest.ScopeWebhook, Handle: rest.AuditedAs("receiver.test", receiverSubject, a.testReceiver),
				ID: of.test, Summary: "Send an example event to a receiver.", About: testAbout, In: rest.TypeOf[testRequest](), Example: `{"event":"messages.upsert"}`,
				Out: rest.TypeOf[TestAnswer](), Codes: codes.And("UNKNOWN_EVENT", "NO_ADDRESS", rest.CodeLimitReached),
			},
			{
				Method: "POST", Path: one + "/pause", Auth: of.auth, Right: rest.ScopeWebhook, Handle: rest.AuditedAs("receiver.pause", receiverSubject, a.pauseReceiver),
				ID: of.pause, Summary: "Pause the durable deliveries to a receiver.", About: pauseAbout, In: rest.TypeOf[pauseRequest](), Example: `{"expiresIn":3600}`,
				Out: rest.TypeOf[Receiver](), Codes: codes.And(rest.CodeExpiresIn, "NOT_DURABLE", "NO_ADDRESS"),
			},
			{
				Method: "POST", Path: one + "/resume", Auth: of.auth, Right: rest.ScopeWebhook, Handle: rest.AuditedAs("receiver.resume", receiverSubject, a.resumeReceiver),
				ID: of.resume, Summary: "End the pause of a receiver.", About: "A receiver that is not paused is answered as it is.", Out: rest.TypeOf[Receiver](), Codes: codes.And("NO_ADDRESS"),
			},
		}...)
	}
	return all
}

// receiverSubject is the subject of the audit log: the instance, or "global".
func receiverSubject(c *rest.Call) string {
	if name := c.Params.ByName("i"); name != "" {
		return name
	}
	if id := receivers.ID(c.Params.ByName("receiver")); id.Instance() == 0 {
		return "global"
	}
	return c.Params.ByName("receiver")
}

// mayShow reports whether a call may see a receiver: the instance's own in its list; else those of the key's
// instances, and the global webhook with a key for all.
func mayShow(c *rest.Call, id receivers.ID) bool {
	if c.Params.ByName("i") != "" {
		return id.Instance() == c.Instance.ID
	}
	opens := c.Opens()
	return opens == nil || id.Instance() != 0 && opens(id.Instance())
}

// maxReceivers is the limit of a page of receivers.
const maxReceivers = 1000

func (a *API) listReceivers(c *rest.Call) error {
	q, err := c.Query([]string{"origin", "instance", "limit", "nextCursor", "previousCursor"}, "state")
	if err != nil {
		return err
	}
	wanted, err := receiverFilter(q)
	if err != nil {
		return err
	}
	of := receivers.All
	if c.Params.ByName("i") != "" {
		if q.Has("instance") {
			return rest.InvalidQuery("instance is not a parameter of this list: the path names it")
		}
		of = c.Instance.ID
	}
	rows, err := a.Receivers.List(of)
	if err != nil {
		return err
	}
	rows = slices.DeleteFunc(rows, func(r receivers.Row) bool { return !mayShow(c, r.ID) || !wanted(r) })
	list, err := receiverPage(rows, q)
	if err != nil {
		return err
	}
	return c.Response.JSON(http.StatusOK, list)
}

// receiverFilter returns which rows a query selects.
func receiverFilter(q url.Values) (func(receivers.Row) bool, error) {
	var states []receivers.State
	for _, text := range q["state"] {
		s := receivers.State(strings.ToUpper(text))
		if !slices.Contains(receivers.States(), s) {
			return nil, rest.InvalidQuery("state must be one of " + rest.Joined(receivers.States()))
		}
		states = append(states, s)
	}
	origin := receivers.Origin(q.Get("origin"))
	if q.Has("origin") && origin == "" {
		return nil, rest.InvalidQuery("origin must be scheme, host and port, as in https://hooks.example.org")
	}
	return func(r receivers.Row) bool {
		return (states == nil || slices.Contains(states, r.State)) && (origin == "" || r.Origin == origin) && (!q.Has("instance") || r.Name == q.Get("instance"))
	}, nil
}

// receiverPage returns a page of rows. A cursor is the row beside which the page begins.
func receiverPage(rows []receivers.Row, q url.Values) (list batch.List[Receiver], err error) {
	list.Records, list.TotalRecords = []Receiver{}, len(rows)
	limit := rest.DefaultLimit
	if q.Has("limit") {
		if limit, err = strconv.Atoi(q.Get("limit")); err != nil || limit < 1 || limit > maxReceivers {
			return list, rest.InvalidQuery("limit must be 1 to " + strconv.Itoa(maxReceivers))
		}
	}
	if q.Has("nextCursor") && q.Has("previousCursor") {
		return list, rest.InvalidCursor()
	}
	begin, end := 0, min(limit, len(rows))
	for name, back := range map[string]bool{"nextCursor": false, "previousCursor": true} {
		if !q.Has(name) {
			continue
		}
		at, err := receiverAt(rows, q.Get(name))
		if err != nil {
			return list, err
		}
		switch {
		case at < 0:
		case back:
			begin, end = max(0, at-limit), at
		default:
			begin, end = at+1, min(at+1+limit, len(rows))
		}
	}
	for _, r := range rows[begin:end] {
		list.Records = append(list.Records, newReceiver(r))
	}
	cursor := func(r receivers.Row) *string {
		text := base64.RawURLEncoding.EncodeToString([]byte("r" + string(r.ID)))
		return &text
	}
	if end < len(rows) && end > begin {
		list.NextCursor = cursor(rows[end-1])
	}
	if begin > 0 && begin < len(rows) {
		list.PreviousCursor = cursor(rows[begin])
	}
	return list, nil
}

// receiverAt returns the index of the row of a cursor, -1 if it is gone: the page is then the first.
func receiverAt(rows []receivers.Row, text string) (int, error) {
	raw, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil || len(raw) < 2 || raw[0] != 'r' {
		return 0, rest.InvalidCursor()
	}
	at := slices.IndexFunc(rows, func(r receivers.Row) bool { return string(r.ID) == string(raw[1:]) })
	return at, nil
}

// receiver returns the id of the receiver that a call names. Errors: receivers.ErrNotFound.
func (a *API) receiver(c *rest.Call) (receivers.ID, error) {
	id := receivers.ID(c.Params.ByName("receiver"))
	if !mayShow(c, id) {
		return id, receivers.ErrNotFound
	}
	return id, nil
}

func (a *API) showReceiver(c *rest.Call) error {
	id, err := a.receiver(c)
	if err != nil {
		return err
	}
	r, err := a.Receivers.Row(id)
	if err != nil {
		return err
	}
	return c.Response.JSON(http.StatusOK, newReceiver(r))
}

type testRequest struct {
	Event string `json:"event,omitempty" doc:"The event whose example is sent; messages.upsert if it is missing." example:"messages.upsert"`
}

// TestAnswer is the outcome of a test.
type TestAnswer struct {
	Delivered  bool    `json:"delivered" doc:"Whether the receiver accepted it." example:"true"`
	StatusCode *int    `json:"statusCode" doc:"The HTTP status of the answer; null: there was none." example:"200"`
	DurationMs int64   `json:"durationMs" doc:"How long it took, in milliseconds." example:"35" rules:"minimum=0"`
	Error      *string `json:"error" doc:"Why it was not accepted; null when it was." example:"receiver answered 503"`
}

// testsPerMinute is how often a receiver is tested at most.
const testsPerMinute = 10

// tests remembers the tests of the last minute.
type tests struct {
	mu sync.Mutex
	of map[receivers.ID][]time.Time
}

// allow counts a test. It returns after how long another is allowed if there were too many.
func (t *tests) allow(id receivers.ID, now time.Time) (wait time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for other, made := range t.of {
		made = slices.DeleteFunc(made, func(at time.Time) bool { return now.Sub(at) >= time.Minute })
		if t.of[other] = made; len(made) == 0 {
			delete(t.of, other)
		}
	}
	if made := t.of[id]; len(made) >= testsPerMinute {
		return time.Minute - now.Sub(made[0])
	}
	if t.of == nil {
		t.of = map[receivers.ID][]time.Time{}
	}
	t.of[id] = append(t.of[id], now)
	return 0
}

func (a *API) testReceiver(c *rest.Call) error {
	var in testRequest
	if err := c.Decode(&in, rest.MaxBody); err != nil {
		return err
	}
	if in.Event == "" {
		in.Event = string(event.MessagesUpsert)
	}
	d, known := event.Lookup(event.Kind(in.Event))
	if !known || d.Family != event.Instance {
		return rest.Refuse(http.StatusBadRequest, "UNKNOWN_EVENT", "event is not an instance event")
	}
	id, err := a.receiver(c)
	if err != nil {
		return err
	}
	to, lanes, err := a.Receivers.Destination(id)
	if err != nil {
		return err
	}
	if wait := a.tests.allow(id, time.Now()); wait > 0 {
		return rest.TryLater(wait, rest.CodeLimitReached, "a receiver is tested at most ten times a minute")
	}
	notice, err := a.Example(id.Instance(), d.Kind, c.RequestID, to)
	if err != nil {
		return err
	}
	began := time.Now()
	status, err := a.Post(c.Request.Context(), notice)
	answer := TestAnswer{Delivered: err == nil, DurationMs: time.Since(began).Milliseconds()}
	if status != 0 {
		answer.StatusCode = &status
	}
	if err != nil {
		answer.Error = event.OrNull(err.Error())
		return c.Response.JSON(http.StatusOK, answer)
	}
	a.Receivers.Health.Note(id, receivers.Attempt{At: began, Took: time.Since(began), URL: to.URL, Status: status, Accepted: true})
	for _, lane := range lanes {
		err = errors.Join(err, a.Relay.Hasten(context.WithoutCancel(c.Request.Context()), lane))
	}
	if err != nil {
		return err
	}
	return c.Response.JSON(http.StatusOK, answer)
}

type pauseRequest struct {
	ExpiresIn int64 `json:"expiresIn" strict:"required" doc:"How long the pause lasts, in seconds." example:"3600" rules:"minimum=60,maximum=604800"`
}

func (a *API) pauseReceiver(c *rest.Call) error {
	var in pauseRequest
	err := c.Decode(&in, rest.MaxBody)
	if wrong, ok := errors.AsType[*strict.Error](err); ok && wrong.Path == "expiresIn" {
		in.ExpiresIn = 0 // absent or of another type, which has the same answer
	} else if err != nil {
		return err
	}
	least, most := int64(receivers.LeastPause/time.Second), int64(receivers.MostPause/time.Second)
	if in.ExpiresIn < least || in.ExpiresIn > most {
		return rest.Refuse(http.StatusUnprocessableEntity, rest.CodeExpiresIn, "expiresIn must be "+strconv.FormatInt(least, 10)+" to "+strconv.FormatInt(most, 10)+" seconds")
	}
	id, err := a.receiver(c)
	if err != nil {
		return err
	}
	r, err := a.Receivers.Pause(c.Request.Context(), id, time.Duration(in.ExpiresIn)*time.Second)
	if err != nil {
		return err
	}
	return c.Response.JSON(http.StatusOK, newReceiver(r))
}

func (a *API) resumeReceiver(c *rest.Call) error {
	if err := c.NoBody(); err != nil {
		return err
	}
	id, err := a.receiver(c)
	if err != nil {
		return err
	}
	r, err := a.Receivers.Resume(c.Request.Context(), id)
	if err != nil {
		return err
	}
	return c.Response.JSON(http.StatusOK, newReceiver(r))
}
