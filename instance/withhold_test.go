package instance

import (
	"testing"
	"time"

	"postern/delivery"
	"postern/delivery/logbook"
	"postern/event"
	"postern/instance/webhooks"
)

// codes returns the deliveries of pairing codes, by state and destination.
func (r *rig) codesTo(target event.Target) (all []delivery.Listed) {
	r.Helper()
	page, err := logbook.New(r.reg.cfg.Ledger, logbook.Config{}).List(bg, delivery.Filter{Event: event.QRCodeUpdated, Target: target}, "", 50)
	if err != nil {
		r.Fatal(err)
	}
	return page.Records
}

func qrCode() event.Fact {
	return event.Fact{Kind: event.QRCodeUpdated, Status: event.QRCodeState, Data: event.QRCode{Count: 1, Code: "2@secret", ExpiresAt: event.At(time.Now())}}
}

// wantCodes requires one code for a target, withheld or pending.
func (r *rig) wantCodes(step string, target event.Target, withheld bool) {
	r.Helper()
	all := r.codesTo(target)
	if len(all) != 1 {
		r.Fatalf("%s: %d codes", step, len(all))
	}
	if c := all[0]; (c.State == delivery.Cancelled && c.LastError == delivery.ReasonChanged && !c.Replayable) != withheld || !withheld && c.State != delivery.Pending {
		r.Errorf("%s: %+v", step, c)
	}
}

func TestChangeOfDestinationWithholdsCodesInItsCommit(t *testing.T) {
	crm := func(url, header string) []webhooks.EndpointChange {
		return []webhooks.EndpointChange{{ID: "crm", URL: url, Headers: map[string]string{"X-Tenant": header}, Events: map[event.Flag]bool{"qrcodeUpdated": true}}}
	}
	with := func(header string, endpoints []webhooks.EndpointChange) webhooks.OptionsChange {
		return webhooks.OptionsChange{Durable: true, Headers: map[string]string{"X-Own": header}, Endpoints: endpoints}
	}
	first := with("a", crm("http://b.example/", "a"))
	put := func(c webhooks.WebhookChange) func(*rig, int64) {
		return func(r *rig, id int64) {
			if _, err := r.reg.Webhooks().PutWebhook(bg, id, c); err != nil {
				t.Fatal(err)
			}
		}
	}
	options := func(c webhooks.OptionsChange) func(*rig, int64) { return func(r *rig, id int64) { r.options(id, c) } }
	for name, c := range map[string]struct {
		change        func(*rig, int64)
		own, endpoint bool // withheld
	}{
		"another URL, the flag off": {put(webhooks.WebhookChange{URL: new("http://evil/"), Events: map[event.Flag]bool{}}), true, false},
		"another URL, disabled":     {put(webhooks.WebhookChange{URL: new("http://evil/"), Enabled: new(false)}), true, false},
		"the flag off":              {put(webhooks.WebhookChange{Events: map[event.Flag]bool{}}), false, false},
		"the same URL":              {put(webhooks.WebhookChange{URL: new("http://a.example/")}), false, false},
		"another header":            {options(with("b", crm("http://b.example/", "a"))), true, false},
		"the endpoint's URL":        {options(with("a", crm("http://evil/", "a"))), false, true},
		"the endpoint's header":     {options(with("a", crm("http://b.example/", "b"))), false, true},
		"the endpoint removed":      {options(with("a", nil)), false, true},
		"the same options":          {options(first), false, false},
		"options deleted":           {func(r *rig, id int64) { _, _ = r.reg.Webhooks().DropOptions(bg, id) }, true, true},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, withLedger(t), nil)
			defer r.stop()
			r.adapt = withLedger(t)
			id := r.create("shop").ID
			r.hook(id, "http://a.example/", allFlags()...)
			r.options(id, first)
			r.report(id, qrCode())
			r.wantCodes("before", event.TargetWebhook, false)
			r.wantCodes("before", event.TargetEndpoint, false)
			commits := 0
			r.commit = func(calls int, _ time.Duration) { commits += calls }
			c.change(r, id)
			r.commit = nil
			if commits != 1 {
				t.Errorf("it took %d commits", commits)
			}
			check := func(step string) {
				t.Helper()
				for target, withheld := range map[event.Target]bool{event.TargetWebhook: c.own, event.TargetEndpoint: c.endpoint} {
					all := r.codesTo(target)
					if got := len(all) == 1 && all[0].State == delivery.Cancelled && all[0].LastError == delivery.ReasonChanged && !all[0].Replayable; got != withheld {
						t.Errorf("%s: for %s: %+v", step, target, all)
					}
				}
			}
			check("after")
			r.reboot()
			check("after a restart")
		})
	}
}

func TestGlobalWebhookMovedWithholdsCodes(t *testing.T) {
	url := "http://global.example/"
	r := newRig(t, nil, nil)
	r.stop()
	r.adapt = func(c *Config) {
		withLedger(t)(c)
		c.Webhooks = webhooks.New(webhooks.Config{Store: c.Store, GlobalURL: url})
	}
	r.boot()
	defer func() { r.stop() }()
	r.options(webhooks.Global, webhooks.OptionsChange{Durable: true})
	id := r.create("shop").ID
	code := func() {
		t.Helper()
		r.report(id, qrCode())
	}
	newest := func(step string, withheld bool) {
		t.Helper()
		c := r.codesTo(event.TargetGlobal)[0]
		if got := c.State == delivery.Cancelled && c.LastError == delivery.ReasonChanged; got != withheld || !got && c.State != delivery.Pending {
			t.Errorf("%s: %+v", step, c)
		}
	}
	code()
	r.reboot()
	newest("a restart with the same URL", false)
	url = ""
	r.reboot()
	newest("a restart with the global webhook disabled", false)
	url = "http://evil.example/"
	r.reboot()
	newest("a restart with another URL", true)
	code()
	r.reg.Webhooks().SetGlobalURL(bg, "http://evil.example/")
	newest("the same URL set", false)
	r.reg.Webhooks().SetGlobalURL(bg, "")
	newest("disabled", false)
	r.reg.Webhooks().SetGlobalURL(bg, "http://next.example/")
	newest("another URL set", true)
	code()
	r.options(webhooks.Global, webhooks.OptionsChange{Durable: true, Headers: map[string]string{"X-Tenant": "b"}})
	newest("another header", true)
}
