package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.mau.fi/whatsmeow/types"

	"postern/cli/consumer"
	"postern/e2e/rig"
	"postern/sandbox/phone"
)

// The load: five accounts, each with a webhook and a further endpoint, so that
// there are ten destinations. One of them is dead, one takes its time.
const (
	accounts = 5
	dead     = 1 // answers nothing, ever
	slow     = 3 // answers after slowFor
	slowFor  = 2 * time.Second
	textsOf  = 10 // one event in so many is a text, which is stored; the others are presences
	maxAge   = 2 * time.Minute
)

// TestSoak lets events come in for SOAK at RATE a second (for some seconds,
// slowly, unless they are set), all of them durable for both destinations of
// their account, and takes a sample of what the program holds ten times a
// minute. Memory, descriptors and goroutines must be flat and the file bounded
// once the retention has come round; the eight healthy destinations get every
// event soon, and the slow one as many as it takes.
func TestSoak(t *testing.T) {
	long, rate := 10*time.Second, 20
	if d, err := time.ParseDuration(os.Getenv("SOAK")); err == nil {
		long = d
	} else if testing.Short() {
		t.Skip("SOAK is not set")
	}
	if n, err := strconv.Atoi(os.Getenv("RATE")); err == nil {
		rate = n
	}
	s := newSoak(t)
	s.rate = float64(rate) / accounts
	ctx, cancel := context.WithTimeout(t.Context(), long)
	defer cancel()
	var work sync.WaitGroup
	for i := range accounts {
		work.Go(func() { s.send(ctx, i) })
	}
	samples := s.watch(ctx, min(6*time.Second, long/5))
	cancel() // also where watch gave up before
	work.Wait()
	s.report(samples, long) // whatever comes of the rest
	s.judge(samples)
	s.settleDown()
	s.w.Stop()
}

// soak is the running load.
type soak struct {
	*testing.T
	w      *rig.World
	rate   float64                // events a second of one account
	owners [accounts]*phone.Phone // of the accounts
	others [accounts]*phone.Phone // who writes to them
	tokens [accounts]string
	sent   [accounts]atomic.Int64
	texts  [accounts]atomic.Int64 // of them texts
	got    [2 * accounts]*receiver
}

func newSoak(t *testing.T) *soak {
	t.Helper()
	s := &soak{T: t, w: rig.NewWorld(t)}
	s.w.Env = []string{
		"WEBHOOK_GLOBAL_ENABLED=false", "WEBHOOK_LOG_RETENTION=5m", "DATABASE_MESSAGE_RETENTION=5m", "OUTBOX_RETENTION=5m", "GOTRACEBACK=all",
	}
	s.w.Start()
	for i := range accounts {
		name := fmt.Sprintf("soak%d", i)
		s.tokens[i] = s.w.Pair(name)
		s.owners[i], s.others[i] = s.phones(name, i)
		for k := range 2 {
			s.got[2*i+k] = newReceiver(t, 2*i+k)
		}
		flags := map[string]bool{"messagesUpsert": true, "presenceUpdated": true}
		own := consumer.Bearer(s.tokens[i])
		s.w.Call(own, http.MethodPut, "/instance/"+name+"/webhook", map[string]any{"url": s.got[2*i].URL, "events": flags}, nil)
		s.w.Call(own, http.MethodPut, "/instance/"+name+"/webhook/options", map[string]any{
			"durable": true, "order": []string{"none", "chat", "instance"}[i%3], "maxAge": maxAge.String(),
			"endpoints": []any{map[string]any{"id": "second", "url": s.got[2*i+1].URL, "events": flags, "signing": map[string]any{"enabled": true}}},
		}, nil)
	}
	return s
}

// phones returns the account's and that of someone who writes to it.
func (s *soak) phones(name string, i int) (own, other *phone.Phone) {
	s.Helper()
	var status struct{ OwnerJid string }
	s.w.Call(consumer.Bearer(s.tokens[i]), http.MethodGet, "/instance/"+name+"/connection/status", nil, &status)
	jid, err := types.ParseJID(status.OwnerJid)
	if err != nil {
		s.Fatal(err)
	}
	own, ok := s.w.Sandbox.Phone(jid.User)
	if !ok {
		s.Fatalf("no phone of %s", jid)
	}
	number := fmt.Sprintf("49157%08d", 1000+i)
	other, err = s.w.Sandbox.AddPhone(phone.Options{Number: number, PushName: "Ada"})
	if err != nil {
		s.Fatal(err)
	}
	return own, other
}

// send makes events of one account at the rate, those that it is behind with
// at once.
func (s *soak) send(ctx context.Context, i int) {
	from, to := s.others[i], s.owners[i]
	begin := time.Now()
	for n := 0; ctx.Err() == nil; n++ {
		if wait := time.Until(begin.Add(time.Duration(float64(n) / s.rate * float64(time.Second)))); wait > 0 {
			select {
			case <-time.After(wait):
			case <-ctx.Done():
				return
			}
		}
		var err error
		if n%textsOf == 0 {
			if _, err = from.SendText(ctx, to.JID(), fmt.Sprintf("text %d of %s", n, from.Number())); err == nil {
				s.texts[i].Add(1)
			}
		} else {
			err = s.w.Sandbox.ShowPresence(from.JID(), to.JID(), n%2 == 0, time.Now())
		}
		if err != nil {
			if ctx.Err() == nil {
				s.Errorf("event %d of account %d: %v", n, i, err)
			}
			return
		}
		s.sent[i].Add(1)
	}
}

// settleDown waits until the healthy destinations have every text, and those of one
// account the same events. A presence that is shown while an account is not connected
// is not stored for it: where connections stood, none may be missing.
func (s *soak) settleDown() {
	s.Helper()
	healthy := func(k int) bool { return k != dead && k != slow }
	apart := strings.Count(fmt.Sprint(s.w.Output), "status=reconnecting")
	whole := func() bool {
		for k, r := range s.got {
			switch {
			case !healthy(k):
			case r.texts.Load() < s.texts[k/2].Load(), healthy(k^1) && r.count() != s.got[k^1].count():
				return false
			case apart == 0 && r.count() < s.sent[k/2].Load():
				return false
			}
		}
		return true
	}
	// What waits after hours on a busy machine may take long: only a standstill is a failure.
	for last, since := s.received(), time.Now(); !whole(); time.Sleep(100 * time.Millisecond) {
		if now := s.received(); now != last {
			last, since = now, time.Now()
		}
		if time.Since(since) > time.Minute {
			for k, r := range s.got {
				s.Logf("destination %d has %d of %d texts and %d of %d events", k, r.texts.Load(), s.texts[k/2].Load(), r.count(), s.sent[k/2].Load())
			}
			s.Fatalf("not every text, and every event that an account was there for, came to the healthy destinations; reconnected %d times", apart)
		}
	}
	if apart > 0 {
		for k, r := range s.got {
			s.Logf("destination %d has %d of %d events; reconnected %d times", k, r.count(), s.sent[k/2].Load(), apart)
		}
	}
}

// received returns how many events all destinations have.
func (s *soak) received() (n int64) {
	for _, r := range s.got {
		n += r.count()
	}
	return n
}

// receiver is one destination.
type receiver struct {
	URL      string
	requests atomic.Int64
	mu       sync.Mutex
	texts    atomic.Int64
	ids      map[string]bool // by webhook-id
}

func (r *receiver) count() int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return int64(len(r.ids))
}

func newReceiver(t *testing.T, k int) *receiver {
	t.Helper()
	r := &receiver{ids: map[string]bool{}}
	r.URL = receives(t, func(w http.ResponseWriter, req *http.Request) {
		r.requests.Add(1)
		var body bytes.Buffer
		if _, err := body.ReadFrom(req.Body); err != nil || !json.Valid(body.Bytes()) {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		switch k {
		case dead:
			<-req.Context().Done()
			return
		case slow:
			select {
			case <-time.After(slowFor):
			case <-req.Context().Done():
				return
			}
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		id := req.Header.Get("webhook-id")
		if !r.ids[id] && bytes.Contains(body.Bytes(), []byte(`"messages.upsert"`)) {
			r.texts.Add(1)
		}
		r.ids[id] = true
	})
	return r
}
