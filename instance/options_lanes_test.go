package instance

import (
	"context"
	"errors"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"postern/delivery"
	"postern/event"
	"postern/instance/webhooks"
	"postern/store"
)

// where is the URL that a lane leads to, or why it leads nowhere.
func (r *rig) where(lane delivery.Lane) string {
	d, state := r.reg.Webhooks().Resolve(lane)
	return map[delivery.Status]string{delivery.Gone: "gone", delivery.Paused: "paused", delivery.Absent: "absent", delivery.Ready: d.URL}[state]
}

func TestResolveUsesCurrentConfiguration(t *testing.T) {
	r := newRig(t, nil, nil)
	defer func() { r.stop() }()
	id := r.create("a").ID
	own, crm := webhookLane(id), endpointLane(id, "crm")
	want := func(step string, lane delivery.Lane, where string) {
		t.Helper()
		if got := r.where(lane); got != where {
			t.Errorf("%s: %+v is %s, want %s", step, lane, got, where)
		}
	}
	want("no webhook yet", own, "absent")
	want("no endpoint", crm, "gone")
	want("no instance", webhookLane(9), "gone")
	want("no instance", endpointLane(9, "crm"), "gone")
	r.hook(id, "http://one")
	r.options(id, everything())
	want("set", own, "http://one")
	want("set", crm, "https://crm.example/in?key=1")
	want("disabled", endpointLane(id, "b.I_2-"), "paused")
	want("another case", endpointLane(id, "CRM"), "gone")
	r.hook(id, "http://two")
	if _, err := r.reg.Webhooks().PutWebhook(bg, id, webhooks.WebhookChange{Enabled: new(false)}); err != nil {
		t.Fatal(err)
	}
	want("disabled", own, "paused")
	want("the webhook is disabled, an endpoint is not", crm, "https://crm.example/in?key=1")
	if _, err := r.reg.Webhooks().PutWebhook(bg, id, webhooks.WebhookChange{}); err != nil {
		t.Fatal(err)
	}
	want("the new URL", own, "http://two")
	r.options(id, webhooks.OptionsChange{Endpoints: []webhooks.EndpointChange{{ID: "crm", URL: "http://moved"}}})
	want("the new URL", crm, "http://moved")
	r.reboot()
	want("after a restart", crm, "http://moved")
	if _, err := r.reg.Webhooks().DropOptions(bg, id); err != nil {
		t.Fatal(err)
	}
	want("options deleted", crm, "gone")
	want("options deleted", own, "http://two")
	if err := r.reg.Delete(bg, id, true); err != nil {
		t.Fatal(err)
	}
	want("instance deleted", own, "gone")
	want("the global webhook is disabled", delivery.GlobalLane, "absent")
	want("the global webhook is disabled", delivery.BatchLane, "absent")
}

func TestEventIDRequiresSigningOrDurable(t *testing.T) {
	r := newRig(t, func(c *Config) {
		c.Webhooks = webhooks.New(webhooks.Config{Store: c.Store, GlobalURL: "http://global"})
	}, nil)
	defer r.stop()
	id := r.create("a").ID
	r.hook(id, "http://own")
	for _, c := range []struct {
		durable, signed             bool
		own, further, global, batch bool
	}{
		{false, false, false, false, false, false},
		{true, false, true, true, true, false}, // batch events are durable whatever is set
		{false, true, true, false, true, true},
		{true, true, true, true, true, true},
	} {
		r.options(id, webhooks.OptionsChange{Durable: c.durable, Signed: c.signed, Endpoints: []webhooks.EndpointChange{{ID: "e", URL: "http://e"}}})
		r.options(webhooks.Global, webhooks.OptionsChange{Durable: c.durable, Signed: c.signed})
		for lane, want := range map[delivery.Lane]bool{webhookLane(id): c.own, endpointLane(id, "e"): c.further, delivery.GlobalLane: c.global, delivery.BatchLane: c.batch} {
			if d, _ := r.reg.Webhooks().Resolve(lane); d.WithID != want {
				t.Errorf("%+v: %+v has an id: %t, want %t", c, lane, d.WithID, want)
			}
		}
	}
}

func TestRotatedSecretOverlapsForADay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nil, nil)
		defer r.stop()
		id := r.create("a").ID
		r.hook(id, "http://own")
		put := webhooks.OptionsChange{Signed: true, Endpoints: []webhooks.EndpointChange{{ID: "e", URL: "http://e", Signed: true}}}
		first := r.options(id, put).Signing.Secret
		lane := webhookLane(id)
		rotate := func(endpoint string) webhooks.Options {
			t.Helper()
			o, err := r.reg.Webhooks().RotateSecret(bg, id, endpoint)
			if err != nil {
				t.Fatal(err)
			}
			return o
		}
		signs := func(when string, want ...string) {
			t.Helper()
			if d, _ := r.reg.Webhooks().Resolve(lane); !slices.Equal(d.Secrets, want) {
				t.Errorf("%s it signs with %q, want %q", when, d.Secrets, want)
			}
		}
		signs("at first", first)
		second := rotate("").Signing.Secret
		signs("after a rotation", second, first)
		time.Sleep(23 * time.Hour)
		signs("23 hours later", second, first)
		r.options(id, put)
		signs("after a PUT", second, first)
		r.reboot()
		signs("after a restart", second, first)
		time.Sleep(time.Hour)
		signs("a day later", second)
		third := rotate("").Signing.Secret
		time.Sleep(time.Hour)
		fourth := rotate("").Signing.Secret
		signs("after two rotations", fourth, third)
		time.Sleep(23*time.Hour + time.Minute)
		signs("a day after the former rotation", fourth, third)
		time.Sleep(time.Hour)
		signs("a day after the last one", fourth)
		lane = endpointLane(id, "e")
		d, _ := r.reg.Webhooks().Resolve(lane)
		signs("the endpoint, of which nothing was rotated,", d.Secrets[0])
		if o := rotate("e"); o.Signing.Secret != "" || o.Endpoints[0].Signing.Secret == "" {
			t.Errorf("a rotation of the endpoint's shows %+v", o)
		} else {
			signs("the endpoint", o.Endpoints[0].Signing.Secret, d.Secrets[0])
		}
		put.Signed, put.Endpoints[0].Signed = false, false
		r.options(id, put)
		signs("disabled,")
		if _, err := r.reg.Webhooks().RotateSecret(bg, id, ""); !errors.Is(err, webhooks.ErrNotSigned) {
			t.Errorf("a rotation of none: %v", err)
		}
	})
}

// TestOnLanesReportsChangedLanes, after the change is in force.
func TestOnLanesReportsChangedLanes(t *testing.T) {
	var published []string
	var r *rig
	r = newRig(t, func(c *Config) {
		c.OnLanes = func(lanes []delivery.Lane) {
			for _, lane := range lanes {
				published = append(published, strings.Trim(string(lane.Flow)+" "+string(lane.Target)+" "+lane.Endpoint, " ")+" "+r.where(lane))
			}
		}
	}, nil)
	defer r.stop()
	id := r.create("a").ID
	want := func(step string, all ...string) {
		t.Helper()
		if diff := cmp.Diff(all, published); diff != "" {
			t.Errorf("%s: %s", step, diff)
		}
		published = nil
	}
	r.hook(id, "http://own")
	want("a webhook", "instance webhook http://own")
	r.options(id, webhooks.OptionsChange{Endpoints: []webhooks.EndpointChange{{ID: "a", URL: "http://a"}, {ID: "b", URL: "http://b"}}})
	want("endpoints", "instance webhook http://own", "instance endpoint a http://a", "instance endpoint b http://b")
	r.options(id, webhooks.OptionsChange{Endpoints: []webhooks.EndpointChange{{ID: "b", URL: "http://c", Enabled: new(false)}}})
	want("one is removed", "instance webhook http://own", "instance endpoint a gone", "instance endpoint b paused")
	if _, err := r.reg.Webhooks().PutOptions(bg, id, webhooks.OptionsChange{MaxAge: new("1ms")}); err == nil {
		t.Error("taken")
	}
	want("a refused PUT")
	r.options(webhooks.Global, webhooks.OptionsChange{Durable: true})
	want("the global ones", "instance global absent", "batch global absent")
	if err := r.reg.Delete(bg, id, true); err != nil {
		t.Fatal(err)
	}
	want("the instance is deleted", "instance webhook gone", "instance endpoint b gone")
}

func TestAddedEndpointHasNoFormerPendingEvents(t *testing.T) {
	var cleared []delivery.Lane
	fails := false
	r := newRig(t, func(c *Config) {
		c.ClearLanes = func(_ context.Context, lanes []delivery.Lane) error {
			cleared = append(cleared, lanes...)
			if fails {
				return store.ErrDiskFull
			}
			return nil
		}
	}, nil)
	defer r.stop()
	id := r.create("a").ID
	of := func(ids ...string) webhooks.OptionsChange {
		c := webhooks.OptionsChange{}
		for _, p := range ids {
			c.Endpoints = append(c.Endpoints, webhooks.EndpointChange{ID: p, URL: "http://" + p})
		}
		return c
	}
	want := func(ids ...string) {
		t.Helper()
		var lanes []delivery.Lane
		for _, p := range ids {
			lanes = append(lanes, endpointLane(id, p))
		}
		if !slices.Equal(cleared, lanes) {
			t.Errorf("cleared %+v, want %v", cleared, ids)
		}
		cleared = nil
	}
	r.options(id, of("a", "b"))
	want("a", "b")
	r.options(id, of("a", "c")) // a is kept: what waits for it goes on
	want("c")
	r.options(id, of("b", "a"))
	want("b")
	fails = true
	if _, err := r.reg.Webhooks().PutOptions(bg, id, of("d")); !errors.Is(err, store.ErrDiskFull) {
		t.Errorf("taken over what waits: %v", err)
	}
	if o := r.shown(id); len(o.Endpoints) != 2 {
		t.Errorf("and changed to %+v", o)
	}
}

// TestOptionsApplyFromTheResponseOn, with events all the while: none
// after the answer goes the way before it.
func TestOptionsApplyFromTheResponseOn(t *testing.T) {
	r := newRig(t, nil, nil)
	defer r.stop()
	id := r.create("a").ID
	r.hook(id, "http://own", "presenceUpdated")
	stop := make(chan struct{})
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					r.report(id, event.Fact{Kind: event.PresenceUpdated, Data: event.PresenceUpdate{JID: aPerson}})
				}
			}
		})
	}
	flag := map[event.Flag]bool{"presenceUpdated": true}
	for i := range 50 {
		to := []string{"http://even", "http://odd"}[i%2]
		r.options(id, webhooks.OptionsChange{Endpoints: []webhooks.EndpointChange{{ID: "e", URL: to, Events: flag}}})
		destinations := r.reg.entry(id).Destinations(event.PresenceUpdated, event.About{})
		if len(destinations) != 2 || destinations[1].URL != to {
			t.Fatalf("after the answer an event goes to %+v, want %s", destinations, to)
		}
	}
	close(stop)
	all.Wait()
}

func TestUnstoredChangeIsNotInForce(t *testing.T) {
	r := newRig(t, nil, nil)
	defer r.stop()
	id := r.create("a").ID
	r.hook(id, "http://own")
	r.options(id, everything())
	own, _ := r.reg.Webhooks().Resolve(webhookLane(id))
	crm, _ := r.reg.Webhooks().Resolve(endpointLane(id, "crm"))
	if err := r.s.Close(); err != nil { // every commit fails
		t.Fatal(err)
	}
	for what, change := range map[string]func() (webhooks.Options, error){
		"a PUT":                     func() (webhooks.Options, error) { return r.reg.Webhooks().PutOptions(bg, id, webhooks.OptionsChange{}) },
		"a DELETE":                  func() (webhooks.Options, error) { return r.reg.Webhooks().DropOptions(bg, id) },
		"a rotation":                func() (webhooks.Options, error) { return r.reg.Webhooks().RotateSecret(bg, id, "") },
		"a rotation of an endpoint": func() (webhooks.Options, error) { return r.reg.Webhooks().RotateSecret(bg, id, "crm") },
	} {
		if o, err := change(); err == nil || !cmp.Equal(o, webhooks.Options{}) {
			t.Errorf("%s: %+v, %v", what, o, err)
		}
		now, _ := r.reg.Webhooks().Resolve(webhookLane(id))
		further, _ := r.reg.Webhooks().Resolve(endpointLane(id, "crm"))
		if !cmp.Equal(own, now) || !cmp.Equal(crm, further) {
			t.Errorf("%s that failed is in force: %s%s", what, cmp.Diff(own, now), cmp.Diff(crm, further))
		}
	}
}

func TestOptionsLeaveTheFileWithTheirInstance(t *testing.T) {
	r := newRig(t, nil, nil)
	defer r.stop()
	id := r.create("a").ID
	r.options(id, everything())
	r.options(webhooks.Global, webhooks.OptionsChange{Durable: true})
	if err := r.reg.Delete(bg, id, true); err != nil {
		t.Fatal(err)
	}
	for _, change := range []func() (webhooks.Options, error){
		func() (webhooks.Options, error) { return r.reg.Webhooks().PutOptions(bg, id, webhooks.OptionsChange{}) },
		func() (webhooks.Options, error) { return r.reg.Webhooks().DropOptions(bg, id) },
		func() (webhooks.Options, error) { return r.reg.Webhooks().RotateSecret(bg, id, "") },
	} {
		if _, err := change(); !errors.Is(err, ErrNotFound) {
			t.Errorf("of an instance that is gone: %v", err)
		}
	}
	var left []int64
	err := r.s.View(func(tx *store.Tx) error {
		return tx.Scan("webhook_options", store.Range{}, func(k, _ []byte) (bool, error) {
			left = append(left, number(k))
			return true, nil
		})
	})
	if err != nil || !slices.Equal(left, []int64{webhooks.Global}) {
		t.Errorf("the file has the options of %v (%v)", left, err)
	}
}

// TestUnreadableOptionsBlockDelivery: what is for
// the webhook waits in the file until they are set again.
func TestUnreadableOptionsBlockDelivery(t *testing.T) {
	r := newRig(t, nil, nil)
	defer func() { r.stop() }()
	id, other := r.create("a").ID, r.create("b").ID
	r.hook(id, "http://own", "callUpsert")
	r.options(id, webhooks.OptionsChange{Headers: map[string]string{"A": "sentinel of a"}, Endpoints: []webhooks.EndpointChange{{ID: "crm", URL: "http://crm"}}})
	r.options(other, webhooks.OptionsChange{Endpoints: []webhooks.EndpointChange{{ID: "crm", URL: "http://other"}}})
	r.damage("sentinel of a")
	if _, err := r.reg.Webhooks().Options(id); !errors.Is(err, store.ErrDamaged) || strings.Contains(err.Error(), "SENTINEL") {
		t.Errorf("read: %v", err)
	}
	if got := r.where(endpointLane(id, "crm")); got != "paused" {
		t.Errorf("what waits for the endpoint is %s", got)
	}
	if got := r.where(webhookLane(id)); got != "paused" {
		t.Errorf("the webhook is %s", got)
	}
	err := r.s.View(func(tx *store.Tx) error {
		routes, err := r.reg.entry(id).RoutesIn(tx)
		if err != nil {
			return err
		}
		if to := routes.To(event.CallUpsert, event.About{}); len(to) != 1 || !to[0].Durable || to[0].MaxAge != 72*time.Hour {
			t.Errorf("a durable event goes to %+v", to)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if to := r.reg.entry(id).Destinations(event.CallUpsert, event.About{}); len(to) != 0 {
		t.Errorf("an event in memory goes to %+v", to)
	}
	if _, err := r.reg.Example(id, event.CallUpsert, ""); !errors.Is(err, store.ErrDamaged) {
		t.Errorf("an example: %v", err)
	}
	if _, err := r.reg.Webhooks().RotateSecret(bg, id, ""); !errors.Is(err, store.ErrDamaged) {
		t.Errorf("a rotation: %v", err)
	}
	if got := r.where(endpointLane(other, "crm")); got != "http://other" {
		t.Errorf("another instance's endpoint is %s", got)
	}
	r.options(id, webhooks.OptionsChange{})
	if got := r.where(endpointLane(id, "crm")); got != "gone" {
		t.Errorf("set again without it: %s", got)
	}
	if got := r.where(webhookLane(id)); got != "http://own" {
		t.Errorf("set again: the webhook is %s", got)
	}
	r.reboot()
	if o := r.shown(id); len(o.Headers) != 0 {
		t.Errorf("set again: %+v", o)
	}
}

func TestOlderReleaseRejectsFileWithOptions(t *testing.T) {
	r := newRig(t, nil, nil)
	r.options(r.create("a").ID, everything())
	r.stop()
	former := slices.DeleteFunc(Buckets(), func(b store.Bucket) bool { return b.Name == "webhook_options" })
	if s, err := store.Open(store.Options{Path: r.path, Buckets: former, NoSync: true, MinFree: 1}); !errors.Is(err, store.ErrNewer) {
		t.Errorf("opened: %v", err)
		_ = s.Close()
	}
	r.boot()
	r.stop()
}

func TestAFileWithoutTheBucketOfOptionsOpens(t *testing.T) {
	r := newRig(t, nil, nil)
	r.stop()
	r.path += ".older"
	former := slices.DeleteFunc(Buckets(), func(b store.Bucket) bool { return b.Name == "webhook_options" })
	s, err := store.Open(store.Options{Path: r.path, Buckets: former, NoSync: true, MinFree: 1})
	if err != nil {
		t.Fatal(err)
	}
	rec := Record{ID: 1, Name: "a"}
	err = s.Update(bg, func(tx *store.Tx) error {
		_, err := tx.NextID(instances)
		return errors.Join(err, store.PutJSON(tx, instances, store.Key(rec.ID), rec), tx.Put(instanceName, []byte("a"), store.Key(rec.ID)))
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	r.boot()
	defer r.stop()
	if o := r.shown(rec.ID); o.Durable || o.MaxAge != webhooks.DefaultMaxAge {
		t.Errorf("of an instance that was there before: %+v", o)
	}
	r.options(rec.ID, everything())
}

func TestEndpointURLRules(t *testing.T) {
	var asked []string
	r := newRig(t, func(c *Config) {
		c.CheckURL = func(u *url.URL) error {
			asked = append(asked, u.Host)
			return errors.New("must not be there")
		}
	}, nil)
	defer r.stop()
	id := r.create("a").ID
	_, err := r.reg.Webhooks().PutOptions(bg, id, webhooks.OptionsChange{Endpoints: []webhooks.EndpointChange{{ID: "a", URL: "http://private:1/x"}}})
	var rule *webhooks.RuleError
	if !errors.As(err, &rule) || rule.Field != "endpoints[0].url" || !slices.Equal(asked, []string{"private:1"}) {
		t.Errorf("%v, asked about %v", err, asked)
	}
}

// TestAuditOfOptionsCommitsWithThem and not a commit earlier, with which room is made
// for an endpoint: after a power cut between both nothing has changed yet.
func TestAuditOfOptionsCommitsWithThem(t *testing.T) {
	var r *rig
	published, early := 0, -1
	r = newRig(t, func(c *Config) {
		c.ClearLanes = func(ctx context.Context, _ []delivery.Lane) error {
			err := r.s.Update(ctx, func(*store.Tx) error { return nil })
			early = published
			return err
		}
	}, nil)
	defer r.stop()
	id := r.create("a").ID
	ctx := store.Along(t.Context(), func(*store.Tx) error { published++; return nil })
	if _, err := r.reg.Webhooks().PutOptions(ctx, id, webhooks.OptionsChange{Endpoints: []webhooks.EndpointChange{{ID: "b", URL: "http://b"}}}); err != nil {
		t.Fatal(err)
	}
	if early != 0 || published != 1 {
		t.Errorf("published %d times before the change, %d times with it", early, published)
	}
}
