package delivery

import (
	"net/http"
	"testing"

	"postern/cli/consumer"
	"postern/e2e/rig"
)

// TestStatusCountsTheDay of an instance: messages, what waits, and attempts that failed.
func TestStatusCountsTheDay(t *testing.T) {
	s := newShop(t)
	s.options(`{"durable":true}`)
	s.webhook(newMoody(t, http.StatusServiceUnavailable).URL)
	for range 3 {
		s.anneWrites("counted")
	}
	s.Await("the day", func() bool {
		var status struct {
			Day struct {
				Since                           *string
				Received, Sent, Waiting, Failed int
			}
		}
		s.Call(consumer.Bearer(s.Token), http.MethodGet, "/instance/"+rig.SceneName+"/connection/status", nil, &status)
		d := status.Day
		return d.Since != nil && d.Received == 3 && d.Sent == 0 && d.Waiting == 3 && d.Failed > 0
	})
}
