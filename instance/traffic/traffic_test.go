package traffic

import (
	"testing"
	"time"
)

func TestDayForgetsHoursThatAreOver(t *testing.T) {
	var d dayCounts
	at := time.Date(2026, 3, 1, 12, 30, 0, 0, time.UTC)
	for range 30 {
		d.add(at, 1, 2, 3)
		at = at.Add(time.Hour)
	}
	at = at.Add(-time.Hour)
	if got, want := d.sum(at), (Day{Received: 24, Sent: 48, Failed: 72}); got != want {
		t.Errorf("after 30 hours %+v, want %+v", got, want)
	}
	if got := d.sum(at.Add(23 * time.Hour)); got.Received != 1 {
		t.Errorf("23 hours later %+v", got)
	}
	if got := d.sum(at.Add(1000 * time.Hour)); got != (Day{}) {
		t.Errorf("weeks later %+v", got)
	}
	d.add(at, 1, 0, 0) // the clock is set back
	if got := d.sum(at); got.Received != 1 {
		t.Errorf("after the clock was set back %+v", got)
	}
}
