package dispatch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"postern/delivery"
	"postern/delivery/logbook"
	"postern/event"
	"postern/store"
)

// town is a relay of durable events in a bubble, with receivers that are functions, one
// for each host.
type town struct {
	t      *testing.T
	s      *file
	ledger *delivery.Ledger
	log    *logbook.Log
	relay  *Relay
	config delivery.Config
	path   string
	ahead  time.Duration          // of the store's clock
	image  atomic.Pointer[func()] // called after each commit; nil: not

	mu     sync.Mutex
	to     map[delivery.Lane]event.Destination
	status map[delivery.Lane]delivery.Status // Ready unless said otherwise, for who is in to
	answer map[string]func(req *http.Request, try int) (status int, header http.Header)
	heard  []hearing
	tries  map[string]int           // by host and event
	pace   map[string]time.Duration // how long a host takes, 10 ms unless said otherwise
	flying map[string]int
	most   map[string]int
	told   []event.Notice
}

// hearing is one attempt as the receiver sees it.
type hearing struct {
	host, body, id, request string
	at                      time.Time
	status                  int
	header                  http.Header
}

// inTown runs a test in a bubble. A receiver takes 10 ms.
func inTown(t *testing.T, fn func(t *testing.T, c *town)) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "town.db")
	synctest.Test(t, func(t *testing.T) {
		c := &town{
			t: t, to: map[delivery.Lane]event.Destination{}, status: map[delivery.Lane]delivery.Status{},
			answer: map[string]func(*http.Request, int) (int, http.Header){}, pace: map[string]time.Duration{}, tries: map[string]int{}, flying: map[string]int{}, most: map[string]int{},
			config: delivery.Config{Log: true},
		}
		c.open(path)
		defer c.close()
		fn(t, c)
	})
}

// atCommit sets a function to call after each commit; nil: none.
func (c *town) atCommit(fn func()) { c.image.Store(&fn) }

// open starts all parts on the file as it is.
func (c *town) open(path string) {
	c.t.Helper()
	var err error
	c.path = path
	c.s = openBare(c.t, store.Options{Path: path, NoSync: true, MinFree: 1, Now: func() time.Time { return time.Now().Add(c.ahead) }, OnCommit: func(int, time.Duration) {
		if image := c.image.Load(); image != nil && *image != nil {
			(*image)()
		}
	}})
	cfg := c.config
	cfg.Resolve, cfg.Outbox = c.resolve, c.s.Outbox
	cfg.Ended = func(all []delivery.Ended) { c.relay.Ended(all) }
	if c.ledger, err = delivery.Open(c.s.Store, cfg); err != nil {
		c.t.Fatal(err)
	}
	c.log = logbook.New(c.ledger, logbook.Config{Made: func(l delivery.Lane, dues []delivery.Due) { c.relay.Made(l, dues) }})
	c.relay = NewRelay(RelayConfig{
		Store: c.s.Store, Outbox: c.s.Outbox, Ledger: c.ledger, Resolve: c.resolve, Sender: &Sender{timeout: DefaultTimeout, wire: c},
		PublishInstance: func(n event.Notice) { c.told = append(c.told, n) },
	})
	if err := c.relay.Start(); err != nil {
		c.t.Fatal(err)
	}
	if err := errors.Join(c.ledger.Start(c.t.Context()), c.log.Start(c.t.Context())); err != nil {
		c.t.Fatal(err)
	}
}

// close stops all parts in order.
func (c *town) close() {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	if err := c.relay.Stop(ctx); err != nil {
		c.t.Error(err)
	}
	if err := errors.Join(c.log.Stop(ctx), c.ledger.Stop(ctx)); err != nil {
		c.t.Error(err)
	}
	if err := c.s.Close(); err != nil {
		c.t.Error(err)
	}
}

func (c *town) resolve(is delivery.Lane) (event.Destination, delivery.Status) {
	c.mu.Lock()
	defer c.mu.Unlock()
	to, known := c.to[is]
	if status, said := c.status[is]; said {
		return to, status
	}
	if !known {
		return to, delivery.Gone
	}
	return to, delivery.Ready
}

func webhookLane(instance int64) delivery.Lane {
	return delivery.Lane{Flow: delivery.FlowInstance, Instance: instance, Target: event.TargetWebhook}
}

func endpointLane(instance int64, id string) delivery.Lane {
	return delivery.Lane{Flow: delivery.FlowInstance, Instance: instance, Target: event.TargetEndpoint, Endpoint: id}
}

// add makes a durable destination at a host.
func (c *town) add(is delivery.Lane, host string, order event.Order) event.Destination {
	c.mu.Lock()
	defer c.mu.Unlock()
	to := event.Destination{
		Target: is.Target, Endpoint: is.Endpoint, URL: "http://" + host + "/hook", WithID: true, Durable: true, Order: order, MaxAge: 72 * time.Hour,
	}
	c.to[is] = to
	return to
}

// set changes what a host answers; nil is 200.
func (c *town) set(host string, answer func(req *http.Request, try int) (status int, header http.Header)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.answer[host] = answer
}

// say returns an answer that is always the same: 0 is no connection, -1 no answer.
func say(status int) func(*http.Request, int) (int, http.Header) {
	return func(*http.Request, int) (int, http.Header) { return status, nil }
}

// put sets the status of a lane and informs the relay.
func (c *town) put(is delivery.Lane, s delivery.Status) {
	c.mu.Lock()
	c.status[is] = s
	c.mu.Unlock()
	c.relay.Changed([]delivery.Lane{is})
}

// RoundTrip implements [http.RoundTripper].
func (c *town) RoundTrip(req *http.Request) (*http.Response, error) {
	body := make([]byte, req.ContentLength)
	_, _ = req.Body.Read(body)
	host := req.URL.Host
	c.mu.Lock()
	h := hearing{host: host, body: strings.Trim(string(body), `"`), id: first(req.Header, idHeader), request: first(req.Header, requestHeader), at: time.Now(), header: req.Header.Clone()}
	c.tries[host+h.id]++
	h.status = 200
	var header http.Header
	if answer := c.answer[host]; answer != nil {
		h.status, header = answer(req, c.tries[host+h.id])
	}
	c.heard = append(c.heard, h)
	pace := c.pace[host]
	c.flying[host]++
	c.most[host] = max(c.most[host], c.flying[host])
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.flying[host]--
	}()
	if h.status < 0 {
		<-req.Context().Done()
		return nil, req.Context().Err()
	}
	select {
	case <-time.After(cmp.Or(pace, 10*time.Millisecond)):
	case <-req.Context().Done():
		return nil, req.Context().Err()
	}
	if h.status == 0 {
		return nil, fmt.Errorf("connection refused")
	}
	resp := httptest.NewRecorder()
	maps.Copy(resp.Header(), header)
	resp.WriteHeader(h.status)
	return resp.Result(), nil
}

func first(h http.Header, name string) string {
	if values := h[name]; len(values) > 0 {
		return values[0]
	}
	return ""
}

// at returns the attempts at a host, in order.
func (c *town) at(host string) (all []hearing) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, h := range c.heard {
		if h.host == host {
			all = append(all, h)
		}
	}
	return all
}

// bodies returns the bodies that a host received, in order.
func (c *town) bodies(host string) (all []string) {
	for _, h := range c.at(host) {
		all = append(all, h.body)
	}
	return all
}

// accepted returns the bodies that a host accepted, in order.
func (c *town) accepted(host string) (all []string) {
	for _, h := range c.at(host) {
		if h.status/100 == 2 {
			all = append(all, h.body)
		}
	}
	return all
}

// emit commits one event of an instance about a chat to some lanes.
func (c *town) emit(instance int64, chat, body string, lanes ...delivery.Lane) delivery.Event {
	c.t.Helper()
	all := c.emitAll(instance, chat, []string{body}, lanes...)
	return all[0]
}

// emitAll commits events together.
func (c *town) emitAll(instance int64, chat string, bodies []string, lanes ...delivery.Lane) (all []delivery.Event) {
	c.t.Helper()
	var to []event.Destination
	for _, is := range lanes {
		c.mu.Lock()
		to = append(to, c.to[is])
		c.mu.Unlock()
	}
	err := c.s.Update(c.t.Context(), func(tx *store.Tx) error {
		all = nil
		for _, body := range bodies {
			e := delivery.Event{Kind: event.MessagesUpsert, Instance: instance, Name: fmt.Sprint("i", instance), About: event.About{Chat: chat}, Body: []byte(`"` + body + `"`), ExpiresAt: time.Now().Add(time.Hour)}
			e, err := c.ledger.Emit(tx, e, true, to)
			if err != nil {
				return err
			}
			all = append(all, e)
		}
		return nil
	})
	if err != nil {
		c.t.Fatal(err)
	}
	return all
}

// record returns a delivery as it is in the file.
func (c *town) record(id uint64) (delivery.Record, []delivery.Attempt) {
	c.t.Helper()
	r, attempts, _, err := c.log.Record(c.t.Context(), id)
	if err != nil {
		c.t.Fatalf("record %d: %v", id, err)
	}
	return r.Record, attempts
}

// pending returns the number of pending deliveries.
func (c *town) pending() (n int) {
	c.t.Helper()
	waiting, err := c.relay.backlogs()
	if err != nil {
		c.t.Fatal(err)
	}
	for _, b := range waiting {
		n += b.Pending
	}
	return n
}

// recordOf returns the record of an event for its nth destination.
func recordOf(e delivery.Event, nth int) uint64 { return e.To[nth].Due.Record }

func numbers(n int) (all []string) {
	for i := range n {
		all = append(all, fmt.Sprintf("%05d", i))
	}
	return all
}

// age sets how long later events for a lane live.
func (c *town) age(is delivery.Lane, age time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	to := c.to[is]
	to.MaxAge = age
	c.to[is] = to
}

// everybody permits the retry of every record.
func everybody(delivery.Record) error { return nil }
