package webhooks

import (
	"context"
	"errors"
	"net/url"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"postern/delivery"
	"postern/event"
	"postern/store"
)

func TestResolveUsesCurrentConfiguration(t *testing.T) {
	r := newRig(t, nil)
	defer func() { r.stop() }()
	id := r.create()
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
	if _, err := r.e.PutWebhook(bg, id, WebhookChange{Enabled: new(false)}); err != nil {
		t.Fatal(err)
	}
	want("disabled", own, "paused")
	want("the webhook is disabled, an endpoint is not", crm, "https://crm.example/in?key=1")
	if _, err := r.e.PutWebhook(bg, id, WebhookChange{}); err != nil {
		t.Fatal(err)
	}
	want("the new URL", own, "http://two")
	r.options(id, OptionsChange{Endpoints: []EndpointChange{{ID: "crm", URL: "http://moved"}}})
	want("the new URL", crm, "http://moved")
	r.reboot()
	want("after a restart", crm, "http://moved")
	if _, err := r.e.DropOptions(bg, id); err != nil {
		t.Fatal(err)
	}
	want("options deleted", crm, "gone")
	want("options deleted", own, "http://two")
	r.drop(id)
	want("instance deleted", own, "gone")
	want("the global webhook is disabled", delivery.GlobalLane, "absent")
	want("the global webhook is disabled", delivery.BatchLane, "absent")
}

func TestEventIDRequiresSigningOrDurable(t *testing.T) {
	r := newRig(t, withGlobal("http://global"))
	defer r.stop()
	id := r.create()
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
		r.options(id, OptionsChange{Durable: c.durable, Signed: c.signed, Endpoints: []EndpointChange{{ID: "e", URL: "http://e"}}})
		r.options(Global, OptionsChange{Durable: c.durable, Signed: c.signed})
		for lane, want := range map[delivery.Lane]bool{webhookLane(id): c.own, endpointLane(id, "e"): c.further, delivery.GlobalLane: c.global, delivery.BatchLane: c.batch} {
			if d, _ := r.e.Resolve(lane); d.WithID != want {
				t.Errorf("%+v: %+v has an id: %t, want %t", c, lane, d.WithID, want)
			}
		}
	}
}

func TestRotatedSecretOverlapsForADay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nil)
		defer r.stop()
		id := r.create()
		r.hook(id, "http://own")
		put := OptionsChange{Signed: true, Endpoints: []EndpointChange{{ID: "e", URL: "http://e", Signed: true}}}
		first := r.options(id, put).Signing.Secret
		lane := webhookLane(id)
		rotate := func(endpoint string) Options {
			t.Helper()
			o, err := r.e.RotateSecret(bg, id, endpoint)
			if err != nil {
				t.Fatal(err)
			}
			return o
		}
		signs := func(when string, want ...string) {
			t.Helper()
			if d, _ := r.e.Resolve(lane); !slices.Equal(d.Secrets, want) {
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
		d, _ := r.e.Resolve(lane)
		signs("the endpoint, of which nothing was rotated,", d.Secrets[0])
		if o := rotate("e"); o.Signing.Secret != "" || o.Endpoints[0].Signing.Secret == "" {
			t.Errorf("a rotation of the endpoint's shows %+v", o)
		} else {
			signs("the endpoint", o.Endpoints[0].Signing.Secret, d.Secrets[0])
		}
		put.Signed, put.Endpoints[0].Signed = false, false
		r.options(id, put)
		signs("disabled,")
		if _, err := r.e.RotateSecret(bg, id, ""); !errors.Is(err, ErrNotSigned) {
			t.Errorf("a rotation of none: %v", err)
		}
	})
}

// TestOnLanesReportsChangedLanes once the change is in force.
func TestOnLanesReportsChangedLanes(t *testing.T) {
	var published []string
	var r *rig
	r = newRig(t, func(_ *Config, c *EditorConfig) {
		c.OnLanes = func(lanes []delivery.Lane) {
			for _, lane := range lanes {
				published = append(published, strings.Trim(string(lane.Flow)+" "+string(lane.Target)+" "+lane.Endpoint, " ")+" "+r.where(lane))
			}
		}
	})
	defer r.stop()
	id := r.create()
	want := func(step string, all ...string) {
		t.Helper()
		if diff := cmp.Diff(all, published); diff != "" {
			t.Errorf("%s: %s", step, diff)
		}
		published = nil
	}
	r.hook(id, "http://own")
	want("a webhook", "instance webhook http://own")
	r.options(id, OptionsChange{Endpoints: []EndpointChange{{ID: "a", URL: "http://a"}, {ID: "b", URL: "http://b"}}})
	want("endpoints", "instance webhook http://own", "instance endpoint a http://a", "instance endpoint b http://b")
	r.options(id, OptionsChange{Endpoints: []EndpointChange{{ID: "b", URL: "http://c", Enabled: new(false)}}})
	want("one is removed", "instance webhook http://own", "instance endpoint a gone", "instance endpoint b paused")
	if _, err := r.e.PutOptions(bg, id, OptionsChange{MaxAge: new("1ms")}); err == nil {
		t.Error("taken")
	}
	want("a refused PUT")
	r.options(Global, OptionsChange{Durable: true})
	want("the global ones", "instance global absent", "batch global absent")
	r.drop(id)
	want("the instance is deleted", "instance webhook gone", "instance endpoint b gone")
}

func TestAddedEndpointHasNoFormerPendingEvents(t *testing.T) {
	var cleared []delivery.Lane
	fails := false
	r := newRig(t, func(_ *Config, c *EditorConfig) {
		c.ClearLanes = func(_ context.Context, lanes []delivery.Lane) error {
			cleared = append(cleared, lanes...)
			if fails {
				return store.ErrDiskFull
			}
			return nil
		}
	})
	defer r.stop()
	id := r.create()
	of := func(ids ...string) OptionsChange {
		c := OptionsChange{}
		for _, p := range ids {
			c.Endpoints = append(c.Endpoints, EndpointChange{ID: p, URL: "http://" + p})
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
	if _, err := r.e.PutOptions(bg, id, of("d")); !errors.Is(err, store.ErrDiskFull) {
		t.Errorf("taken over what waits: %v", err)
	}
	if o := r.shown(id); len(o.Endpoints) != 2 {
		t.Errorf("and changed to %+v", o)
	}
}

func TestUnstoredChangeIsNotInForce(t *testing.T) {
	r := newRig(t, nil)
	defer r.stop()
	id := r.create()
	r.hook(id, "http://own")
	r.options(id, everything())
	own, _ := r.e.Resolve(webhookLane(id))
	crm, _ := r.e.Resolve(endpointLane(id, "crm"))
	if err := r.s.Close(); err != nil { // every commit fails
		t.Fatal(err)
	}
	for what, change := range map[string]func() (Options, error){
		"a PUT":                     func() (Options, error) { return r.e.PutOptions(bg, id, OptionsChange{}) },
		"a DELETE":                  func() (Options, error) { return r.e.DropOptions(bg, id) },
		"a rotation":                func() (Options, error) { return r.e.RotateSecret(bg, id, "") },
		"a rotation of an endpoint": func() (Options, error) { return r.e.RotateSecret(bg, id, "crm") },
	} {
		if o, err := change(); err == nil || !cmp.Equal(o, Options{}) {
			t.Errorf("%s: %+v, %v", what, o, err)
		}
		now, _ := r.e.Resolve(webhookLane(id))
		further, _ := r.e.Resolve(endpointLane(id, "crm"))
		if !cmp.Equal(own, now) || !cmp.Equal(crm, further) {
			t.Errorf("%s that failed is in force: %s%s", what, cmp.Diff(own, now), cmp.Diff(crm, further))
		}
	}
}

func TestOptionsLeaveTheFileWithTheirInstance(t *testing.T) {
	r := newRig(t, nil)
	defer r.stop()
	id := r.create()
	r.options(id, everything())
	r.options(Global, OptionsChange{Durable: true})
	r.drop(id)
	for _, change := range []func() (Options, error){
		func() (Options, error) { return r.e.PutOptions(bg, id, OptionsChange{}) },
		func() (Options, error) { return r.e.DropOptions(bg, id) },
		func() (Options, error) { return r.e.RotateSecret(bg, id, "") },
	} {
		if _, err := change(); !errors.Is(err, ErrNoInstance) {
			t.Errorf("of an instance that is gone: %v", err)
		}
	}
	var left []int64
	err := r.s.View(func(tx *store.Tx) error {
		return tx.Scan(optionsBucket, store.Range{}, func(k, _ []byte) (bool, error) {
			left = append(left, int64(k[7]))
			return true, nil
		})
	})
	if err != nil || !slices.Equal(left, []int64{Global}) {
		t.Errorf("the file has the options of %v (%v)", left, err)
	}
}

// TestUnreadableOptionsBlockDelivery: events for the webhook wait in the file until the options are
// set again.
func TestUnreadableOptionsBlockDelivery(t *testing.T) {
	r := newRig(t, nil)
	defer func() { r.stop() }()
	id, other := r.create(), r.create()
	r.hook(id, "http://own", "callUpsert")
	r.options(id, OptionsChange{Headers: map[string]string{"A": "sentinel of a"}, Endpoints: []EndpointChange{{ID: "crm", URL: "http://crm"}}})
	r.options(other, OptionsChange{Endpoints: []EndpointChange{{ID: "crm", URL: "http://other"}}})
	r.damage("sentinel of a")
	if _, err := r.e.Options(id); !errors.Is(err, store.ErrDamaged) || strings.Contains(err.Error(), "SENTINEL") {
		t.Errorf("read: %v", err)
	}
	if got := r.where(endpointLane(id, "crm")); got != "paused" {
		t.Errorf("what waits for the endpoint is %s", got)
	}
	if got := r.where(webhookLane(id)); got != "paused" {
		t.Errorf("the webhook is %s", got)
	}
	err := r.s.View(func(tx *store.Tx) error {
		routes, err := r.e.scope(id).RoutesIn(tx)
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
	if to := r.e.scope(id).Destinations(event.CallUpsert, event.About{}); len(to) != 0 {
		t.Errorf("an event in memory goes to %+v", to)
	}
	if _, err := r.e.scope(id).WebhookNow(); !errors.Is(err, store.ErrDamaged) {
		t.Errorf("an example: %v", err)
	}
	if _, err := r.e.RotateSecret(bg, id, ""); !errors.Is(err, store.ErrDamaged) {
		t.Errorf("a rotation: %v", err)
	}
	if got := r.where(endpointLane(other, "crm")); got != "http://other" {
		t.Errorf("another instance's endpoint is %s", got)
	}
	r.options(id, OptionsChange{})
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
	r := newRig(t, nil)
	r.options(r.create(), everything())
	r.stop()
	former := without(optionsBucket)
	if s, err := store.Open(store.Options{Path: r.path, Buckets: former, NoSync: true, MinFree: 1}); !errors.Is(err, store.ErrNewer) {
		t.Errorf("opened: %v", err)
		_ = s.Close()
	}
	r.boot()
	r.stop()
}

func TestAFileWithoutTheBucketOfOptionsOpens(t *testing.T) {
	r := newRig(t, nil)
	r.stop()
	r.path += ".older"
	former := without(optionsBucket)
	s, err := store.Open(store.Options{Path: r.path, Buckets: former, NoSync: true, MinFree: 1})
	if err != nil {
		t.Fatal(err)
	}
	const id = int64(1)
	err = s.Update(bg, func(tx *store.Tx) error {
		_, err := tx.NextID(instances)
		return errors.Join(err, tx.Put(instances, store.Key(id), nil))
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	r.boot()
	defer r.stop()
	if o := r.shown(id); o.Durable || o.MaxAge != DefaultMaxAge {
		t.Errorf("of an instance that was there before: %+v", o)
	}
	r.options(id, everything())
}

func TestEndpointURLRules(t *testing.T) {
	var asked []string
	r := newRig(t, func(_ *Config, c *EditorConfig) {
		c.Rules.CheckURL = func(u *url.URL) error {
			asked = append(asked, u.Host)
			return errors.New("must not be there")
		}
	})
	defer r.stop()
	id := r.create()
	_, err := r.e.PutOptions(bg, id, OptionsChange{Endpoints: []EndpointChange{{ID: "a", URL: "http://private:1/x"}}})
	var rule *event.RuleError
	if !errors.As(err, &rule) || rule.Field != "endpoints[0].url" || !slices.Equal(asked, []string{"private:1"}) {
		t.Errorf("%v, asked about %v", err, asked)
	}
}

// TestAuditOfOptionsCommitsWithThem and not with an earlier commit that makes room for an endpoint:
// after a power cut between the two nothing has changed yet.
func TestAuditOfOptionsCommitsWithThem(t *testing.T) {
	var r *rig
	published, early := 0, -1
	r = newRig(t, func(_ *Config, c *EditorConfig) {
		c.ClearLanes = func(ctx context.Context, _ []delivery.Lane) error {
			err := r.s.Update(ctx, func(*store.Tx) error { return nil })
			early = published
			return err
		}
	})
	defer r.stop()
	id := r.create()
	ctx := store.WithUpdate(t.Context(), func(*store.Tx) error { published++; return nil })
	if _, err := r.e.PutOptions(ctx, id, OptionsChange{Endpoints: []EndpointChange{{ID: "b", URL: "http://b"}}}); err != nil {
		t.Fatal(err)
	}
	if early != 0 || published != 1 {
		t.Errorf("published %d times before the change, %d times with it", early, published)
	}
}
