package webhooks

import (
	"context"
	"strings"
	"testing"

	"postern/delivery"
	"postern/store"
)

// TestConcurrentOptionChangesApplyInCommitOrder: an endpoint that one change removes and the other
// adds is a new one. It has no pending events from before, a secret of its own that the answer
// shows, and no header of the old one.
func TestConcurrentOptionChangesApplyInCommitOrder(t *testing.T) {
	var r *rig
	var cleared []string // with what waits for it
	between := func() {}
	r = newRig(t, func(_ *Config, c *EditorConfig) {
		c.ClearLanes = func(_ context.Context, lanes []delivery.Lane) error {
			for _, l := range lanes {
				if _, status := r.e.Resolve(l); status == delivery.Gone {
					cleared = append(cleared, l.Endpoint)
				}
			}
			now := between
			between = func() {} // once
			now()
			return nil
		}
	})
	defer r.stop()
	id := r.create()
	of := func(ids ...string) (c OptionsChange) {
		for _, p := range ids {
			c.Endpoints = append(c.Endpoints, EndpointChange{ID: p, URL: "http://" + p, Signed: true})
		}
		return c
	}
	secret := func(o Options, p string) string {
		for _, e := range o.Endpoints {
			if e.ID == p {
				return e.Signing.Secret
			}
		}
		return "no endpoint " + p
	}
	for _, c := range []struct {
		name    string
		before  OptionsChange
		put     OptionsChange
		between []OptionsChange // by others, while it looks
		cleared string
	}{
		{"one that was there is removed meanwhile", of("crm"), of("crm", "new"), []OptionsChange{of()}, "new crm new"},
		{"one is added and removed meanwhile", of(), of("crm"), []OptionsChange{of("crm"), of()}, "crm crm crm"},
		{"one is added meanwhile", of(), of("crm"), []OptionsChange{of("crm")}, "crm crm"},
		{"another is removed meanwhile", of("bi"), of("crm"), []OptionsChange{of()}, "crm crm"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r.options(id, c.before)
			kept, _ := r.e.Resolve(endpointLane(id, "crm"))
			cleared, between = nil, func() {
				for _, other := range c.between {
					o := r.options(id, other)
					if len(other.Endpoints) > 0 {
						kept, _ = r.e.Resolve(endpointLane(id, "crm"))
						if shown := secret(o, "crm"); shown != kept.Secrets[0] {
							t.Errorf("the other is shown %q of %q", shown, kept.Secrets)
						}
					}
				}
			}
			o := r.options(id, c.put)
			if got := strings.Join(cleared, " "); got != c.cleared {
				t.Errorf("cleared %q, want %q", got, c.cleared)
			}
			to, _ := r.e.Resolve(endpointLane(id, "crm"))
			stays := c.name == "one is added meanwhile"
			if len(to.Secrets) != 1 || (len(kept.Secrets) == 1 && to.Secrets[0] == kept.Secrets[0]) != stays || (secret(o, "crm") == to.Secrets[0]) == stays {
				t.Errorf("signs with %q, before with %q, shown is %q", to.Secrets, kept.Secrets, secret(o, "crm"))
			}
		})
	}
}

// TestAddedEndpointWaitsForItsChange: events of the same commit may already wait for it, which must not be cancelled.
func TestAddedEndpointWaitsForItsChange(t *testing.T) {
	r := newRig(t, nil)
	defer r.stop()
	id := r.create()
	var during []string
	look := func() {
		during = append(during, r.where(endpointLane(id, "crm")), r.where(endpointLane(id, "other")))
	}
	ctx := store.WithUpdate(t.Context(), func(*store.Tx) error { look(); return nil })
	if _, err := r.e.PutOptions(ctx, id, OptionsChange{Endpoints: []EndpointChange{{ID: "crm", URL: "http://crm"}}}); err != nil {
		t.Fatal(err)
	}
	look()
	if got := strings.Join(during, " "); got != "paused gone http://crm gone" {
		t.Errorf("in the commit and after it: %s", got)
	}
}
