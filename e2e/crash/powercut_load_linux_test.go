package crash

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"nhooyr.io/websocket"

	"postern/cli/consumer"
	"postern/e2e/rig"
	"postern/event"
)

// hookOfFacts is the receiver of the webhooks. What it gets is a fact.
type hookOfFacts struct{ *httptest.Server }

func newHookOfFacts(w *watched) *hookOfFacts {
	h := &hookOfFacts{httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		if id := r.Header.Get("Webhook-Id"); id != "" {
			w.note("durable event", id, func(d *afterCut) error { return d.hasDurable(id, string(body)) })
		}
		switch kind := r.Header.Get("X-Webhook-Event"); {
		case strings.HasPrefix(kind, "message.batch."):
			w.note("webhook of a batch", string(body), func(d *afterCut) error { return d.hasBody(string(body)) })
		case kind == string(event.SendMessage), kind == string(event.MessagesUpsert):
			if text, found := cutText(body); found {
				w.note("webhook of a message", text, func(d *afterCut) error { return d.hasText(text) })
			}
		}
	}))}
	w.t.Cleanup(h.Close)
	return h
}

// cutText finds the text of a message of this load.
func cutText(body []byte) (text string, found bool) {
	i := bytes.Index(body, []byte("cut-text-"))
	if i < 0 {
		return "", false
	}
	text, _, found = strings.Cut(string(body[i:]), `"`)
	return text, found
}

// call makes a request that may fail, since the program may be busy or gone.
func (w *watched) call(cred consumer.Credential, method, path string, in any, headers ...string) []byte {
	var body io.Reader
	if in != nil {
		body = jsonBody(in)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, w.api.Base+path, body)
	if err != nil {
		w.t.Error(err)
		return nil
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set(cred.Name, cred.Value)
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	resp, err := w.api.HTTP.Do(req)
	if err != nil {
		return nil
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode/100 != 2 {
		return nil
	}
	return answer
}

func (w *watched) createInstance(name string) (token string) {
	var made struct{ Auth struct{ Token string } }
	answer := w.call(consumer.Key(w.key), http.MethodPost, "/instance", map[string]any{"instanceName": name})
	if answer == nil || json.Unmarshal(answer, &made) != nil {
		return ""
	}
	w.note("instance", name, func(d *afterCut) error { return d.hasInstance(name) })
	return made.Auth.Token
}

// listener is a user who makes batches and hears of them.
type listener struct {
	*watched
	id    uuid.UUID
	token string

	heard   atomic.Int64 // the newest of its events
	mu      sync.Mutex
	batches []uuid.UUID
}

// load does everything at once for a while, and ends when all have their
// answers.
func (w *watched) load(while time.Duration) {
	ctx, cancel := context.WithTimeout(w.t.Context(), while)
	defer cancel()
	var actors sync.WaitGroup
	act := func(do func(rng *rand.Rand), pause time.Duration) {
		rng := rand.New(rand.NewPCG(w.seed, rand.Uint64()))
		actors.Go(func() {
			for rest(ctx, rng, pause) {
				do(rng)
			}
		})
	}
	for _, u := range w.users {
		act(u.create, 400*time.Millisecond)
		act(u.watch, 5*time.Millisecond)
		act(u.watch, 5*time.Millisecond)
		act(u.stop, 500*time.Millisecond)
		act(func(*rand.Rand) { u.listen(ctx) }, 5*time.Millisecond)
		act(func(*rand.Rand) { u.listen(ctx) }, 5*time.Millisecond)
	}
	act(w.send, 20*time.Millisecond)
	act(w.receive, 40*time.Millisecond)
	act(w.list, 10*time.Millisecond)
	act(w.configure, 20*time.Millisecond)
	act(w.readConfiguration, 5*time.Millisecond)
	act(w.readOutbox, 5*time.Millisecond)
	act(w.createAndDelete, 50*time.Millisecond)
	act(w.readDeliveries, 5*time.Millisecond)
	act(func(*rand.Rand) { w.follow(ctx) }, 5*time.Millisecond)
	actors.Wait()
}

func (u *listener) create(rng *rand.Rand) {
	recipients := make([]string, 1+rng.IntN(8))
	for i := range recipients {
		recipients[i] = fmt.Sprintf("4917100%06d", 1+rng.IntN(400))
	}
	key := uuid.NewString()
	answer := u.call(consumer.Bearer(u.token), http.MethodPost, "/message/batches", map[string]any{
		"name": key, "instances": []string{"red"}, "recipients": recipients,
		"message": map[string]any{"type": "text", "payload": map[string]any{"text": "for " + key}},
		"options": map[string]any{"delay": map[string]any{"minMs": 0, "maxMs": 0}},
	}, "Idempotency-Key", key)
	var made rig.BatchAnswer
	if answer == nil || json.Unmarshal(answer, &made) != nil {
		return
	}
	u.note("batch", made.ID.String(), func(d *afterCut) error { return d.hasBatch(u.id, made.ID, 0) })
	u.note("key", key, func(d *afterCut) error { return d.hasKey(key, answer) })
	u.mu.Lock()
	defer u.mu.Unlock()
	u.batches = append(u.batches, made.ID)
}

// recent is one of the newest batches.
func (u *listener) recent(rng *rand.Rand) (id uuid.UUID, found bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	n := len(u.batches)
	if n == 0 {
		return id, false
	}
	return u.batches[n-1-rng.IntN(min(n, 4))], true
}

// stop stops a batch. What is final stays so.
func (u *listener) stop(rng *rand.Rand) {
	id, found := u.recent(rng)
	var b rig.BatchAnswer
	if !found || json.Unmarshal(u.call(consumer.Bearer(u.token), http.MethodPost, "/message/batches/"+id.String()+"/stop", nil), &b) != nil || !ended(b.Status) {
		return
	}
	u.note("stop", id.String(), func(d *afterCut) error { return d.hasEnded(u.id, id, b.Status) })
}

// watch looks at a batch.
func (u *listener) watch(rng *rand.Rand) {
	id, found := u.recent(rng)
	if !found {
		return
	}
	path := "/message/batches/" + id.String()
	if rng.IntN(2) == 0 {
		var b rig.BatchAnswer
		if answer := u.call(consumer.Bearer(u.token), http.MethodGet, path, nil); answer == nil || json.Unmarshal(answer, &b) != nil {
			return
		}
		u.note("count", fmt.Sprint(id, b.Counts.Processed), func(d *afterCut) error { return d.hasBatch(u.id, id, b.Counts.Processed) })
		return
	}
	var page struct{ Records []rig.ItemAnswer }
	if answer := u.call(consumer.Bearer(u.token), http.MethodGet, path+"/items?limit=200", nil); answer == nil || json.Unmarshal(answer, &page) != nil {
		return
	}
	for _, item := range page.Records {
		switch item.Status {
		case "SUCCESS", "FAILED", "UNKNOWN", "SKIPPED":
			u.note("item", item.ID, func(d *afterCut) error { return d.hasItem(u.id, id, item.ID, item.Status) })
		}
	}
}

// listen continues with the user's events over one WebSocket for a moment.
func (u *listener) listen(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
	defer cancel()
	since := max(0, u.heard.Load()-2) // some again
	url := fmt.Sprintf("%s/ws/global/events?event=*&since=%d", strings.Replace(u.api.Base, "http", "ws", 1), since)
	conn, resp, err := websocket.Dial(ctx, url, &websocket.DialOptions{HTTPHeader: http.Header{"Authorization": {"Bearer " + u.token}}})
	if err != nil {
		return
	}
	defer conn.CloseNow()
	conn.SetReadLimit(1 << 20)
	if newest, err := strconv.ParseUint(resp.Header.Get("X-Event-Sequence"), 10, 64); err == nil && newest > 0 {
		u.note("newest event", fmt.Sprint(u.id, newest), func(d *afterCut) error { return d.hasEvent(u.id, newest, "") })
	}
	for seq := since + 1; ; seq++ {
		_, body, err := conn.Read(ctx)
		if err != nil {
			return
		}
		u.note("event on a WebSocket", fmt.Sprint(u.id, seq, string(body)), func(d *afterCut) error { return d.hasEvent(u.id, uint64(seq), string(body)) })
		if old := u.heard.Load(); old < seq {
			u.heard.CompareAndSwap(old, seq)
		}
	}
}

// textNumbers makes texts unique.
var textNumbers atomic.Int64

func (w *watched) send(rng *rand.Rand) {
	text := fmt.Sprintf("cut-text-%d", textNumbers.Add(1))
	body := map[string]any{"number": fmt.Sprintf("4917100%06d", 1+rng.IntN(400)), "textMessage": map[string]any{"text": text}}
	if answer := w.call(consumer.Bearer(w.instance.token), http.MethodPost, "/instance/red/send/text", body, "Idempotency-Key", text); answer != nil {
		w.note("send", text, func(d *afterCut) error { return d.hasText(text) })
		w.note("key", text, func(d *afterCut) error { return d.hasKey(text, answer) })
	}
}

// receive lets a stranger write to the instance. The text is a fact once it is
// reported.
func (w *watched) receive(*rand.Rand) {
	w.call(consumer.Key(w.key), http.MethodPost, "/sandbox/phones/"+stranger+"/act", map[string]any{
		"do": "text", "to": w.instance.number, "text": fmt.Sprintf("cut-text-%d", textNumbers.Add(1)),
	})
}

// list reads the newest messages.
func (w *watched) list(*rand.Rand) {
	answer := w.call(consumer.Bearer(w.instance.token), http.MethodPost, "/instance/red/db/messages", map[string]any{})
	for text, found := cutText(answer); found; text, found = cutText(answer) {
		w.note("listed message", text, func(d *afterCut) error { return d.hasText(text) })
		answer = answer[bytes.Index(answer, []byte(text))+len(text):]
	}
}

func (w *watched) configure(*rand.Rand) {
	n := textNumbers.Add(1)
	body := map[string]any{"url": fmt.Sprintf("%s/%d", w.hook.URL, n), "events": map[string]any{"sendMessage": true, "messagesUpsert": true}}
	if w.call(consumer.Bearer(w.instance.token), http.MethodPut, "/instance/red/webhook", body) != nil {
		w.note("webhook set", fmt.Sprint(n), func(d *afterCut) error { return d.hasWebhook(n) })
	}
}

func (w *watched) readConfiguration(*rand.Rand) {
	var hook struct{ URL string }
	answer := w.call(consumer.Bearer(w.instance.token), http.MethodGet, "/instance/red/webhook", nil)
	if answer == nil || json.Unmarshal(answer, &hook) != nil {
		return
	}
	if n, err := strconv.ParseInt(hook.URL[strings.LastIndex(hook.URL, "/")+1:], 10, 64); err == nil {
		w.note("webhook read", fmt.Sprint(n), func(d *afterCut) error { return d.hasWebhook(n) })
	}
}

func (w *watched) readOutbox(*rand.Rand) {
	var page struct {
		Records []struct {
			ID    uint64
			State string
		}
	}
	answer := w.call(consumer.Key(w.key), http.MethodGet, "/outbox?limit=5", nil)
	if answer == nil || json.Unmarshal(answer, &page) != nil {
		return
	}
	for _, e := range page.Records {
		w.note("outbox", fmt.Sprint(e.ID, e.State), func(d *afterCut) error { return d.hasEntry(e.ID, e.State) })
	}
}

func (w *watched) createAndDelete(rng *rand.Rand) {
	name := fmt.Sprintf("short-%d", textNumbers.Add(1))
	token := w.createInstance(name)
	if token == "" || rng.IntN(2) == 0 {
		return
	}
	w.end("instance", name)
	if w.call(consumer.Bearer(token), http.MethodDelete, "/instance/"+name+"?force=true", nil) != nil {
		w.note("deletion", name, func(d *afterCut) error { return d.hasNoInstance(name) })
	}
}
