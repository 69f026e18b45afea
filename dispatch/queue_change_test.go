package dispatch

import (
	"testing"
	"time"

	"postern/delivery"
	"postern/event"
)

// forEndpoint returns a notice for an endpoint of an instance.
func forEndpoint(instance int64, id, url string) event.Notice {
	return event.Notice{
		Kind: event.MessagesUpsert, Body: []byte(`{}`), InstanceID: instance, InstanceName: "shop",
		To: []event.Destination{{Target: event.TargetEndpoint, Endpoint: id, URL: url}},
	}
}

// TestRemovedEndpointAndURLChangeInMemory:
// what is on its way ends as it would have, and the same id of another instance, an
// endpoint that is only disabled and the webhook itself keep what they have.
func TestRemovedEndpointAndURLChangeInMemory(t *testing.T) {
	leads := func(is delivery.Lane) (event.Destination, delivery.Status) {
		switch {
		case is.Target != event.TargetEndpoint || is.Instance != 7 || is.Endpoint == "off":
			return event.Destination{}, delivery.Paused
		case is.Endpoint == "goes":
			return event.Destination{}, delivery.Gone
		}
		return event.Destination{Target: is.Target, Endpoint: is.Endpoint, URL: "http://new/" + is.Endpoint, Headers: map[string]string{"k": "v"}}, delivery.Ready
	}
	var q *Queue
	records := logged(t, QueueConfig{Workers: 1, Resolve: leads}, func(t *testing.T, c *crowd, queue *Queue) {
		q = queue
		c.set("old", in(10*time.Second, 200))
		c.set("new", in(time.Millisecond, 200))
		for _, n := range []event.Notice{
			forEndpoint(7, "goes", "http://old/first"), forEndpoint(7, "goes", "http://old/goes"), forEndpoint(7, "moves", "http://old/moves"),
			forEndpoint(7, "off", "http://old/off"), forEndpoint(8, "goes", "http://old/other"), to(1, "old"),
		} {
			if err := q.Enqueue(n); err != nil {
				t.Error(err)
			}
		}
		time.Sleep(time.Second / 2)
		q.Changed([]delivery.Lane{
			{Flow: delivery.FlowInstance, Instance: 7, Target: event.TargetWebhook},
			endpointLane(7, "goes"), endpointLane(7, "moves"), endpointLane(7, "off"),
		})
		time.Sleep(2 * time.Minute)
	})
	for url, want := range map[string]delivery.State{
		"http://old/first": delivery.Delivered, "http://old/goes": delivery.Cancelled, "http://new/moves": delivery.Delivered,
		"http://old/off": delivery.Delivered, "http://old/other": delivery.Delivered, "http://old/hook": delivery.Delivered,
	} {
		got := records[url]
		if len(got) != 1 || got[0].State != want {
			t.Errorf("%s: %+v of %d, want one that is %s", url, got, len(records), want)
			continue
		}
		if r := got[0]; want == delivery.Cancelled && (r.LastError != delivery.ReasonRemoved || r.Attempts != 0 || !r.Replayable) {
			t.Errorf("%+v", r)
		}
	}
	if s := q.Stats(); s.Removed != 1 || s.Waiting != 0 || s.InFlight != 0 || s.Delivered != 5 {
		t.Errorf("%+v", s)
	}
}
