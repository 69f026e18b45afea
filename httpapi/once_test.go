package httpapi

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"postern/event"
	"postern/httpapi/idempotency"
	"postern/httpapi/rest"
	"postern/httpapi/sends"
	"postern/httpapi/tokens"
	"postern/instance"
	"postern/store"
)

const hello = `{"number":"4915112345678","textMessage":{"text":"hi"}}`

// answer is a completely read answer.
type answer struct {
	status   int
	body     string
	header   http.Header
	replayed bool
}

func read(t testing.TB, res *http.Response) answer {
	t.Helper()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer{res.StatusCode, string(body), res.Header, res.Header.Get("idempotency-replayed") == "true"}
}

// code returns the machine code of a refusal, "" for other answers.
func (a answer) code() string {
	var b struct{ Code string }
	_ = json.Unmarshal([]byte(a.body), &b)
	return b.Code
}

func (a answer) String() string {
	return fmt.Sprintf("%d %s (replayed %t)", a.status, a.body, a.replayed)
}

// keyed sends a request with a key.
func (r *rig) keyed(token, key, path, body string) answer {
	r.t.Helper()
	return read(r.t, do(r.h, keyedRequest(context.Background(), token, key, path, body)))
}

func keyedRequest(ctx context.Context, token, key, path, body string) *http.Request {
	req := httptest.NewRequestWithContext(ctx, "POST", path, strings.NewReader(body))
	if token == testKey {
		req.Header.Set("apikey", testKey)
	} else {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	req.Header.Set("Idempotency-Key", key)
	return req
}

// sender is a rig with a connected instance, and counts the sent messages.
func sender(t testing.TB) (r *rig, token string, left *atomic.Int64) {
	r = newRig(t)
	left = &atomic.Int64{}
	r.line.onSend = func(context.Context) error {
		left.Add(1)
		return nil
	}
	r.line.paired.Store(true)
	r.line.online.Store(true)
	return r, r.instance("a"), left
}

const sendPath = "/instance/a/send/text"

func TestSameKeyRepeatsTheAnswerExactly(t *testing.T) {
	r, token, left := sender(t)
	first := r.keyed(token, "k-1", sendPath, hello)
	if first.status != 200 || first.replayed {
		t.Fatal(first)
	}
	for _, path := range []string{sendPath, "/message/sendText/a"} { // an alias is the same route
		again := r.keyed(token, "k-1", path, hello)
		if again.status != 200 || !again.replayed || again.body != first.body {
			t.Errorf("%s:\n got %v\nwant %v", path, again, first)
		}
		if again.header.Get("Content-Type") != first.header.Get("Content-Type") || again.header.Get("x-request-id") == first.header.Get("x-request-id") {
			t.Errorf("headers %v, first %v", again.header, first.header)
		}
	}
	if left.Load() != 1 {
		t.Errorf("sent %d times", left.Load())
	}
}

// TestAlbumWithoutItsLastFileIsAnsweredAgain: no commit of a message had the answer.
func TestAlbumWithoutItsLastFileIsAnsweredAgain(t *testing.T) {
	r, token, left := sender(t)
	r.line.onSend = func(context.Context) error {
		if left.Add(1) == 3 {
			return event.ErrSendRefused
		}
		return nil
	}
	const path = "/instance/a/send/album"
	body := `{"number":"4915112345678","albumMessage":{"items":[{"mediatype":"image","media":"https://example.org/1.jpg"},{"mediatype":"image","media":"https://example.org/2.jpg"}]}}`
	first := r.keyed(token, "k", path, body)
	if first.status != 200 || !strings.Contains(first.body, event.SendMessageFailed) {
		t.Fatal(first)
	}
	if again := r.keyed(token, "k", path, body); again.status != 200 || !again.replayed || again.body != first.body || left.Load() != 3 {
		t.Errorf("%d messages: %v", left.Load(), again)
	}
}

func TestKeyWithAnotherBodyOrRouteIs409(t *testing.T) {
	r, token, left := sender(t)
	r.keyed(token, "k", sendPath, hello)
	for name, c := range map[string]struct{ path, body string }{
		"another text":        {sendPath, strings.Replace(hello, "hi", "ho", 1)},
		"other bytes, equal":  {sendPath, hello + "\n"},
		"another route":       {"/instance/a/send/location", `{"number":"4915112345678","locationMessage":{"latitude":1,"longitude":2}}`},
		"a body against rule": {sendPath, `{"number":"12","textMessage":{"text":"hi"}}`},
	} {
		if got := r.keyed(token, "k", c.path, c.body); got.status != 409 || got.code() != "IDEMPOTENCY_KEY_REUSED" || got.replayed {
			t.Errorf("%s: %v", name, got)
		}
	}
	if got := r.keyed(token, "k", sendPath, hello); !got.replayed || got.status != 200 {
		t.Errorf("the first request's answer is lost: %v", got)
	}
	if left.Load() != 1 {
		t.Errorf("sent %d times", left.Load())
	}
}

func TestTheSameBodyOnAnotherRouteIs409(t *testing.T) {
	r, token, _ := sender(t)
	twin := rest.Route{Method: "POST", Path: "/instance/{i}/twin", Auth: rest.InstanceBearer, Right: rest.Never, Handle: sends.Send[sends.SendTextRequest](r.api.sends), Once: true}
	a := r.api.Server
	a.Router.Add(twin.Method, twin.Path, a.Handler(twin))
	r.keyed(token, "k", sendPath, hello)
	if got := r.keyed(token, "k", "/instance/a/twin", hello); got.status != 409 || !strings.Contains(got.body, "another route") {
		t.Error(got)
	}
}

func TestAKeyBelongsToItsInstanceOrUser(t *testing.T) {
	r, token, left := sender(t)
	other := r.instance("b")
	_, stranger := r.newUser()
	r.keyed(token, "k", sendPath, hello)
	if got := r.keyed(other, "k", "/instance/b/send/text", hello); got.status != 200 || got.replayed || left.Load() != 2 {
		t.Errorf("another instance: %v", got)
	}
	for name, token := range map[string]string{"a user": r.token, "another user": stranger} {
		if got := r.keyed(token, "k", "/message/batches", batchBody("", "")); got.status != 201 || got.replayed {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestRecreatedInstanceHasNoKeys(t *testing.T) {
	r, token, left := sender(t)
	r.keyed(token, "k", sendPath, hello)
	in, err := r.registry.ByName("a")
	if err != nil {
		t.Fatal(err)
	}
	if err := r.store.Update(t.Context(), func(tx *store.Tx) error { return idempotency.ForgetInstance(tx, in.ID) }); err != nil {
		t.Fatal(err)
	}
	if n := r.count(bucketKeys); n != 0 {
		t.Errorf("%d records are left", n)
	}
	if err := r.registry.Delete(t.Context(), in.ID, true); err != nil {
		t.Fatal(err)
	}
	if got := r.keyed(r.instance("a"), "k", sendPath, hello); got.replayed || got.status != 200 || left.Load() != 2 {
		t.Error(got)
	}
}

func TestKeyHas1To255PrintableCharacters(t *testing.T) {
	r, token, left := sender(t)
	for name, keys := range map[string][]string{
		"empty": {""}, "256 characters": {strings.Repeat("k", 256)}, "not ASCII": {"schlüssel"}, "a control character": {"a\tb"},
		"two headers": {"a", "b"}, "the same twice": {"a", "a"},
	} {
		req := keyedRequest(t.Context(), token, "", sendPath, hello)
		req.Header["Idempotency-Key"] = keys
		b := wantError(t, do(r.h, req), 400, "INVALID_IDEMPOTENCY_KEY")
		if !strings.Contains(b.Messages[0], "Idempotency-Key") {
			t.Errorf("%s: the header is not named: %q", name, b.Messages)
		}
	}
	if left.Load() != 0 || r.count(bucketKeys) != 0 {
		t.Errorf("%d sent, %d records", left.Load(), r.count(bucketKeys))
	}
	for _, key := range []string{strings.Repeat("k", 255), "a b", "~!\"", "A", "a"} { // compared exactly
		if got := r.keyed(token, key, sendPath, hello); got.status != 200 || got.replayed {
			t.Errorf("%q: %v", key, got)
		}
	}
}

func TestKeysKeep2xx406AndUnknownOutcomes(t *testing.T) {
	kept := map[error]bool{
		nil:                     true,
		event.ErrOutcomeUnknown: true,
		instance.ErrNotStored:   true,
		event.ErrNotOnWhatsApp:  false,
		event.ErrSendRefused:    false,
		event.ErrNotConnected:   false,
		event.ErrContent:        false,
		instance.ErrNotFound:    false,
		fmt.Errorf("%w: %w", instance.ErrNotStored, event.ErrNotConnected): true,
	}
	for outcome, want := range kept {
		t.Run(fmt.Sprint(outcome), func(t *testing.T) {
			r, token, left := sender(t)
			r.line.onSend = func(context.Context) error {
				left.Add(1)
				return outcome
			}
			first := r.keyed(token, "k", sendPath, hello)
			again := r.keyed(token, "k", sendPath, hello)
			if again.replayed != want || (left.Load() == 1) != want || again.status != first.status {
				t.Errorf("sent %d times\nfirst %v\nagain %v", left.Load(), first, again)
			}
			if want && again.body != first.body {
				t.Errorf("\n got %s\nwant %s", again.body, first.body)
			}
			if !want && r.count(bucketKeys)+r.count(bucketTimes) != 0 {
				t.Error("a freed key has left something")
			}
		})
	}
}

func TestRefusedBodyLeavesTheKeyFree(t *testing.T) {
	r, token, _ := sender(t)
	for _, body := range []string{`{`, `{"x":1}`, `{"number":"12","textMessage":{"text":"hi"}}`} {
		if got := r.keyed(token, "k", sendPath, body); got.status != 400 && got.status != 422 {
			t.Errorf("%s: %v", body, got)
		}
	}
	if got := r.keyed(token, "k", sendPath, hello); got.status != 200 || got.replayed {
		t.Error(got)
	}
}

// TestOf64EqualRequestsAtOnceOneIsSent makes the send wait until all others have been answered.
func TestOf64EqualRequestsAtOnceOneIsSent(t *testing.T) {
	r, token, left := sender(t)
	const others = 63
	var answered sync.WaitGroup
	answered.Add(others)
	r.line.onSend = func(context.Context) error {
		if left.Add(1) == 1 {
			answered.Wait()
		}
		return nil
	}
	var mu sync.Mutex
	statuses := map[string]int{}
	var all sync.WaitGroup
	for range others + 1 {
		all.Go(func() {
			got := r.keyed(token, "k", sendPath, hello)
			if got.status != 200 {
				answered.Done()
			}
			mu.Lock()
			defer mu.Unlock()
			statuses[fmt.Sprint(got.status, " ", got.code())]++
		})
	}
	all.Wait()
	if left.Load() != 1 || statuses["200 "] != 1 || statuses["409 IDEMPOTENCY_KEY_IN_USE"] != others {
		t.Errorf("sent %d times; %v", left.Load(), statuses)
	}
	if got := r.keyed(token, "k", sendPath, hello); got.status != 200 || !got.replayed {
		t.Error(got)
	}
}

func TestWithoutKeyEachRequestIsSent(t *testing.T) {
	r, token, left := sender(t)
	for range 2 {
		if res := r.as(token, "POST", sendPath, hello); res.StatusCode != 200 || res.Header.Get("idempotency-replayed") != "" {
			t.Error(res.Status)
		}
	}
	if left.Load() != 2 || r.count(bucketKeys) != 0 {
		t.Errorf("sent %d times, %d records", left.Load(), r.count(bucketKeys))
	}
}

// TestTheDocumentsTellWhichRoutesTakeAKey calls each route: a route that takes keys refuses an empty one
// before it reads the body.
func TestTheDocumentsTellWhichRoutesTakeAKey(t *testing.T) {
	r, token, _ := sender(t)
	keyed := 0
	for _, row := range routes() {
		if row.Method != "POST" { // the one that deletes a message, see TestDeletionIsDoneOncePerIdempotencyKey
			if row.Once {
				keyed++
			}
			continue
		}
		path := strings.Replace(concrete(row.Path), "some-instance", "a", 1)
		credential := map[rest.Scheme]string{rest.InstanceBearer: token, rest.UserBearer: r.token, rest.GlobalKey: testKey}[row.Auth]
		takes := r.keyed(credential, "", path, "{").code() == "INVALID_IDEMPOTENCY_KEY"
		if takes {
			keyed++
		}
		if takes != row.Once {
			t.Errorf("%s takes a key: %t, which its description does not say", row.Path, takes)
		}
		if strings.Contains(row.Path, "/send/") && !takes {
			t.Errorf("%s takes no key", row.Path)
		}
	}
	if keyed < 2 {
		t.Errorf("only %d routes take keys", keyed)
	}
	named := 0
	for _, methods := range theDocument(t).Paths {
		for _, o := range methods {
			if !o.Deprecated && slices.ContainsFunc(o.Parameters, func(p parameterOfDocument) bool { return p.Name == rest.IdempotencyHeader }) {
				named++
			}
		}
	}
	if named != keyed {
		t.Errorf("the document names the header %d times, not %d", named, keyed)
	}
}

func TestReplayedAnswerHasItsOwnRequestID(t *testing.T) {
	r, token, left := sender(t)
	r.line.onSend = func(context.Context) error {
		left.Add(1)
		return event.ErrOutcomeUnknown
	}
	req := keyedRequest(t.Context(), token, "k", sendPath, hello)
	req.Header.Set("x-request-id", "first")
	first := read(t, do(r.h, req))
	again := r.keyed(token, "k", sendPath, hello)
	id := again.header.Get("x-request-id")
	if _, err := uuid.Parse(id); err != nil || again.body != first.body || !strings.Contains(again.body, `"requestId":"first"`) {
		t.Errorf("x-request-id %q, %v", id, again)
	}
}

// count returns the number of records in a bucket.
func (r *rig) count(bucket string) (n int) {
	r.t.Helper()
	err := r.store.View(func(tx *store.Tx) error {
		return tx.Scan(bucket, store.Range{}, func(_, _ []byte) (bool, error) {
			n++
			return true, nil
		})
	})
	if err != nil {
		r.t.Fatal(err)
	}
	return n
}

func TestKeyIsKeptFor24Hours(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.instance("a")
		var err error
		if r.token, err = tokens.ForUser(testSecret, r.user, 48*time.Hour, time.Now()); err != nil {
			t.Fatal(err)
		}
		first := r.keyed(r.token, "k", "/message/batches", batchBody("", ""))
		time.Sleep(idempotency.Life - time.Millisecond)
		if got := r.keyed(r.token, "k", "/message/batches", batchBody("", "")); !got.replayed || got.body != first.body {
			t.Errorf("one millisecond before the end: %v", got)
		}
		time.Sleep(time.Millisecond)
		if got := r.keyed(r.token, "k", "/message/batches", batchBody("", "")); got.status != 201 || got.replayed {
			t.Errorf("after a day: %v", got)
		}
		if keys, times := r.count(bucketKeys), r.count(bucketTimes); keys != 1 || times != 1 {
			t.Errorf("%d records and %d times: the old one was replaced, in the index of times too", keys, times)
		}
		r.wantBatches(2)
	})
}
