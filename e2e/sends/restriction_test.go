package sends

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"postern/cli/consumer"
	"postern/e2e/rig"
	"postern/event"
)

// TestBannedAccountWaitsUntilTheNamedTime goes from
// the notice on the wire to the message on the phone, over a kill.
func TestBannedAccountWaitsUntilTheNamedTime(t *testing.T) {
	if testing.Short() {
		t.Skip("starts real processes")
	}
	t.Parallel() // it waits more than it works
	s := rig.NewScene(t)
	s.Online(t)
	restricted := func() (until time.Time) {
		t.Helper()
		var status struct {
			Restriction *struct {
				Kind  string
				Until time.Time
			}
		}
		s.Call(consumer.Bearer(s.Token), http.MethodGet, "/instance/"+rig.SceneName+"/connection/status", nil, &status)
		if r := status.Restriction; r != nil && r.Kind == "reachout_timelock" {
			until = r.Until
		}
		return until
	}
	lock := func(seconds int) {
		s.Do(t, rig.Act("$own", fmt.Sprintf(`{"do":"reachout-timelock","seconds":%d}`, seconds)))
	}
	parked := func(name string) func() event.BatchStatus {
		b := s.CreateBatch(name, []string{rig.SceneName}, []string{rig.AnneNumber})
		s.Await("the batch waits", func() bool { return s.Batch(b.ID).Status == event.BatchWaitingForInstance })
		return func() event.BatchStatus { return s.Batch(b.ID).Status }
	}

	lock(3600)
	s.Await("the restriction", func() bool { return !restricted().IsZero() })
	status := parked("lifted")
	lock(0)
	s.Await("the end of the batch", func() bool { return status() == event.BatchIsCompleted })

	lock(4)
	s.Await("the restriction", func() bool { return !restricted().IsZero() })
	until := restricted()
	status = parked("outlasted")
	s.Kill()
	s.Start()
	s.Online(t)
	s.Await("the end of the batch", func() bool { return status() == event.BatchIsCompleted })
	if early := time.Until(until); early > 0 {
		t.Errorf("the batch went on %s before the end", early)
	}
	if late := time.Since(until); late > 5*time.Second {
		t.Errorf("the batch went on %s after the end", late)
	}
	s.Stop()
}
