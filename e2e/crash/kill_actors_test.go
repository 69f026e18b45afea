package crash

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"postern/e2e/rig"
	"postern/event"
)

// ledger is what the program was asked, and what it answered.
type ledger struct {
	next atomic.Int64 // makes names and texts unique

	mu       sync.Mutex
	batches  map[string]*intent // by name, which is the text too
	texts    []*sentText
	ends     map[string]string // what was reported of asynchronous sends, by process
	inbound  []inboundText
	accepted map[string]int // batch events that the receiver took, by body
	offered  map[string]int // all that reached it
}

func newLedger() ledger {
	return ledger{batches: map[string]*intent{}, ends: map[string]string{}, accepted: map[string]int{}, offered: map[string]int{}}
}

// intent is a creation that was asked for.
type intent struct {
	owner      *user
	recipients int
	large      bool
	scheduled  bool // a window that is over refuses it
	answered   bool // 201
	id         uuid.UUID
	stopped    bool // a stop was answered
	deleting   bool // a deletion was asked for
	deleted    bool // and answered
}

type inboundText struct {
	line     *account
	id, text string
}

func (l *ledger) name(prefix string) string { return fmt.Sprintf("%s-%d", prefix, l.next.Add(1)) }

func (l *ledger) note(fn func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	fn()
}

// ask sends a request; status 0 means that no whole answer came.
func (s *siege) ask(token, method, path string, body io.Reader) (status int, answer []byte) {
	return s.askUnder("", token, method, path, body)
}

// insist posts under an Idempotency-Key until there is an answer, or the load
// ends.
func (s *siege) insist(ctx context.Context, rng *rand.Rand, token, path string, body any) (status int, answer []byte) {
	key := uuid.NewString()
	for {
		status, answer = s.askUnder(key, token, http.MethodPost, path, jsonBody(body))
		if unanswered := status == 0 || status == http.StatusConflict; !unanswered || !rest(ctx, rng, 20*time.Millisecond) {
			return status, answer
		}
	}
}

func (s *siege) askUnder(key, token, method, path string, body io.Reader) (status int, answer []byte) {
	return s.askAs("application/json", key, token, method, path, body)
}

func (s *siege) askAs(contentType, key, token, method, path string, body io.Reader) (status int, answer []byte) {
	// Not the context of the load: it would cut off requests whose answers count.
	req, err := http.NewRequestWithContext(context.WithoutCancel(s.ctx), method, s.API.Base+path, body)
	if err != nil {
		s.T.Error(err)
		return 0, nil
	}
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("Content-Type", contentType)
	if key != "" {
		req.Header.Set("Idempotency-Key", key)
	}
	status, answer = s.send(req)
	if status >= 500 && status != http.StatusServiceUnavailable {
		s.T.Errorf("%s %s: %d %s", method, path, status, answer)
	}
	return status, answer
}

func (s *siege) send(req *http.Request) (status int, answer []byte) {
	resp, err := s.client.Do(req)
	if err != nil {
		return 0, nil
	}
	defer resp.Body.Close()
	if answer, err = io.ReadAll(resp.Body); err != nil {
		return 0, nil
	}
	return resp.StatusCode, answer
}

func jsonBody(v any) io.Reader {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return bytes.NewReader(raw)
}

// user owns batches.
type user struct {
	*siege
	id    uuid.UUID
	token string
	heard []heardEvent // from its WebSockets, by follow and then by catchUp
	at    uint64       // the position in its events
	gaps  map[uint64]uint64
}

// heardEvent is an event of a user and its number, as a client counts it.
type heardEvent struct {
	sequence uint64
	body     string
}

// work creates batches and starts, pauses and stops them, a handful at a time.
func (u *user) work(ctx context.Context, rng *rand.Rand) {
	const handful = 5
	var open []*intent
	for rest(ctx, rng, 40*time.Millisecond) {
		if len(open) < handful {
			if in := u.create(ctx, rng); in != nil {
				open = append(open, in)
			}
			continue
		}
		in := open[rng.IntN(len(open))]
		if final := u.meddle(rng, in); final {
			open = slices.DeleteFunc(open, func(o *intent) bool { return o == in })
		}
	}
}

// create asks for a batch of any kind and returns it when that was answered.
func (u *user) create(ctx context.Context, rng *rand.Rand) *intent {
	if rng.IntN(12) == 0 {
		return u.createLarge(rng)
	}
	name := u.ledger.name("batch")
	request := u.request(rng, name)
	in := &intent{owner: u, recipients: len(request["recipients"].([]string))}
	_, in.scheduled = request["schedule"]
	keyed := rng.IntN(2) == 0
	return u.created(name, in, func() (int, []byte) {
		if keyed {
			return u.insist(ctx, rng, u.token, "/message/batches", request)
		}
		return u.ask(u.token, http.MethodPost, "/message/batches", jsonBody(request))
	})
}

// created keeps a creation in the ledger, before it is asked for and after.
func (u *user) created(name string, in *intent, post func() (int, []byte)) *intent {
	u.ledger.note(func() { u.ledger.batches[name] = in })
	status, answer := post()
	if status == 0 || status == http.StatusConflict || status == http.StatusServiceUnavailable || in.scheduled && status == http.StatusUnprocessableEntity {
		return nil
	}
	var made rig.BatchAnswer
	if err := json.Unmarshal(answer, &made); status != http.StatusCreated || err != nil {
		u.T.Errorf("create %s: %d %s", name, status, answer)
		return nil
	}
	u.ledger.note(func() { in.answered, in.id = true, made.ID })
	return in
}

func (u *user) request(rng *rand.Rand, name string) map[string]any {
	recipients := slices.Clone(u.numbers)
	rng.Shuffle(len(recipients), func(i, j int) { recipients[i], recipients[j] = recipients[j], recipients[i] })
	recipients = recipients[:1+rng.IntN(30)]
	accounts := []string{u.accounts[rng.IntN(siegeAccounts)].name, u.accounts[rng.IntN(siegeAccounts)].name}
	request := map[string]any{
		"name": name, "instances": accounts, "recipients": recipients,
		"message": u.contentOf(rng, name),
	}
	switch rng.IntN(8) {
	case 0:
		request["options"] = map[string]any{"delay": map[string]any{"minMs": 0, "maxMs": 25}}
	case 1:
		request["options"] = map[string]any{"delay": map[string]any{"minMs": 20, "maxMs": 60}}
		request["autoResume"] = false
	case 2:
		request["autoStart"] = false
	case 3:
		begin := time.Now().Add(time.Duration(rng.IntN(1500)-500) * time.Millisecond)
		end := begin.Add(600*time.Millisecond + time.Duration(rng.IntN(2000))*time.Millisecond)
		request["schedule"] = map[string]any{"windowStartAt": begin.UTC(), "windowEndAt": end.UTC(), "recurrence": "NONE"}
	case 4:
		request["autoResume"] = false
	case 5: // no account has a number that ends in 0000
		request["recipients"] = append(recipients, "491600000000")
		request["options"] = map[string]any{"skipUnregistered": rng.IntN(2) == 0}
	}
	return request
}

// createLarge asks for a draft whose creation takes several commits, with a
// body that is sent in pieces.
func (u *user) createLarge(rng *rand.Rand) *intent {
	const size = 1500
	name := u.ledger.name("large")
	in := &intent{owner: u, recipients: size, large: true}
	reader, writer := io.Pipe()
	later := time.Duration(rng.IntN(40)) * time.Millisecond
	u.load.Go(func() {
		_, _ = fmt.Fprintf(writer, `{"name":%q,"instances":["line-1"],"autoStart":false,"message":{"type":"text","payload":{"text":%q}},"recipients":["4918000000"`, name, name)
		for i := range size - 1 {
			if i == size/2 {
				u.trap.pass(inBody)
			}
			_, _ = fmt.Fprintf(writer, `,"4917%07d"`, i+1)
		}
		_, _ = io.WriteString(writer, "]}")
		_ = writer.Close()
		if u.trap.armed(afterBody) {
			time.Sleep(later) // the commits of the creation
			u.trap.pass(afterBody)
		}
	})
	return u.created(name, in, func() (int, []byte) {
		defer reader.Close()
		return u.ask(u.token, http.MethodPost, "/message/batches", reader)
	})
}

// meddle looks at a batch and may do something to it; it reports whether the
// batch is at its end.
func (u *user) meddle(rng *rand.Rand, in *intent) (final bool) {
	path := "/message/batches/" + in.id.String()
	status, answer := u.ask(u.token, http.MethodGet, path, nil)
	if status == 0 {
		return false
	}
	var b rig.BatchAnswer
	if status == http.StatusNotFound && in.deleting { // by a request whose answer was lost
		u.ledger.note(func() { in.deleted = true })
		return true
	}
	if err := json.Unmarshal(answer, &b); status != http.StatusOK || err != nil {
		u.T.Errorf("a batch that was answered 201: %d %s", status, answer)
		return true
	}
	do := ""
	switch n := rng.IntN(20); {
	case ended(b.Status):
		return rng.IntN(3) > 0 || u.remove(in)
	case in.large || n == 0:
		do = "stop"
	case n < 4:
		do = "pause"
	case n < 12 && (b.Status == event.BatchDraft || b.Status == event.BatchIsPaused || b.Status == event.BatchIsInterrupted):
		do = "start"
	default:
		return false
	}
	status, answer = u.ask(u.token, http.MethodPost, path+"/"+do, nil)
	if status != 0 && status != http.StatusOK && status != http.StatusConflict {
		u.T.Errorf("%s: %d %s", do, status, answer)
	}
	if do == "stop" && status == http.StatusOK {
		u.ledger.note(func() { in.stopped = true })
	}
	return false
}

// remove deletes a batch that has ended; it reports whether that was answered.
func (u *user) remove(in *intent) (answered bool) {
	u.ledger.note(func() { in.deleting = true })
	status, answer := u.ask(u.token, http.MethodDelete, "/message/batches/"+in.id.String(), nil)
	switch status {
	case http.StatusNoContent, http.StatusNotFound:
		u.ledger.note(func() { in.deleted = true })
		return true
	case 0, http.StatusServiceUnavailable:
	default:
		u.T.Errorf("delete: %d %s", status, answer)
	}
	return false
}

func ended(s event.BatchStatus) bool {
	return s == event.BatchIsStopped || s == event.BatchIsCompleted || s == event.BatchIsWithErrors
}

// configure changes an instance's webhook, and after each loss of an answer
// looks which of the two configurations there is.
func (s *siege) configure(ctx context.Context, rng *rand.Rand, l *account) {
	path := "/instance/" + l.name + "/webhook"
	possible := []string{""}
	for rest(ctx, rng, 60*time.Millisecond) {
		if len(possible) == 1 && rng.IntN(3) > 0 {
			url := "http://" + s.site.addr + "/" + s.ledger.name("instance")
			switch status, answer := s.ask(l.token, http.MethodPut, path, jsonBody(map[string]any{"url": url, "events": map[string]any{"messagesUpsert": true, "sendMessage": true}})); status {
			case http.StatusOK:
				possible = []string{url}
			case 0, http.StatusServiceUnavailable:
				possible = append(possible, url)
			default:
				s.T.Errorf("webhook of %s: %d %s", l.name, status, answer)
			}
			continue
		}
		status, answer := s.ask(l.token, http.MethodGet, path, nil)
		var hook struct{ URL string }
		if status == 0 || status == http.StatusOK && json.Unmarshal(answer, &hook) != nil {
			continue
		}
		if !slices.Contains(possible, hook.URL) {
			s.T.Errorf("webhook of %s: %d %q, and it can only be one of %q", l.name, status, hook.URL, possible)
		}
		possible = []string{hook.URL}
	}
}
