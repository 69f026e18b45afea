package main

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"postern/event"
)

// TestARestrictedAccountSendsNoBatchUntilTheTimeThatWhatsAppNames goes from
// the notice on the wire to the message on the phone, over a kill.
func TestARestrictedAccountSendsNoBatchUntilTheTimeThatWhatsAppNames(t *testing.T) {
	if testing.Short() {
		t.Skip("starts real processes")
	}
	s := newScene(t)
	s.online(t)
	restricted := func() (until time.Time) {
		t.Helper()
		var status struct {
			Restriction *struct {
				Type  event.InstanceStatusType
				Until time.Time
			}
		}
		s.call(bearer(s.token), http.MethodGet, "/instance/"+sceneName+"/connection/status", nil, &status)
		if r := status.Restriction; r != nil && r.Type == event.StatusAccountReachoutTimelock {
			until = r.Until
		}
		return until
	}
	lock := func(seconds int) {
		s.do(t, act("$own", fmt.Sprintf(`{"do":"reachout-timelock","seconds":%d}`, seconds)))
	}
	parked := func(name string) func() event.BatchStatus {
		b := s.createBatch(name, []string{sceneName}, []string{anneNumber})
		s.await("the batch waits", func() bool { return s.batch(b.ID).Status == event.BatchWaitingForInstance })
		return func() event.BatchStatus { return s.batch(b.ID).Status }
	}

	lock(3600)
	s.await("the restriction", func() bool { return !restricted().IsZero() })
	status := parked("lifted")
	lock(0)
	s.await("the end of the batch", func() bool { return status() == event.BatchIsCompleted })

	lock(4)
	s.await("the restriction", func() bool { return !restricted().IsZero() })
	until := restricted()
	status = parked("outlasted")
	s.kill()
	s.start()
	s.online(t)
	s.await("the end of the batch", func() bool { return status() == event.BatchIsCompleted })
	if early := time.Until(until); early > 0 {
		t.Errorf("the batch went on %s before the end", early)
	}
	if late := time.Since(until); late > 5*time.Second {
		t.Errorf("the batch went on %s after the end", late)
	}
	s.stop()
}
