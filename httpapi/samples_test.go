package httpapi

import (
	"errors"
	"testing"
	"time"

	"postern/backup"
	"postern/console/samples"
	"postern/event"
	"postern/httpapi/operator"
)

// samples returns the samples of a program that has sent a message in each minute of the last hour.
func (r *rig) samples() *samples.Recorder {
	at, sent := time.Now().Add(-time.Hour).Truncate(time.Minute), uint64(0)
	s, err := samples.Open(samples.Config{Now: func() time.Time { return at }, Read: func() samples.Reading {
		return samples.Reading{Counts: samples.Counts{Sent: sent}, Levels: samples.Levels{Instances: make([]int32, len(event.States()))}}
	}})
	if err != nil {
		panic(err)
	}
	for range 61 {
		s.Running()
		at, sent = at.Add(time.Minute), sent+1
	}
	return s
}

func TestSamplesAreTheLastDayNewestLast(t *testing.T) {
	r := newRig(t)
	all := decoded[operator.SampleList](t, r.admin("GET", "/admin/samples", ""))
	if all.Interval != 60 || len(all.Samples) < 60 || all.Backup != nil {
		t.Fatalf("%d samples of %d s, backup %v", len(all.Samples), all.Interval, all.Backup)
	}
	for i, s := range all.Samples[1:] {
		if !s.At.After(all.Samples[i].At.Time) || s.At.Second() != 0 {
			t.Fatalf("%v follows %v", s.At, all.Samples[i].At)
		}
	}
	first := all.Samples[0]
	if first.Sent != 1 || len(first.Instances) != len(event.States()) {
		t.Errorf("the first is %+v", first)
	}
	from := all.Samples[40].At
	since := decoded[operator.SampleList](t, r.admin("GET", "/admin/samples?since="+from.Format(time.RFC3339), ""))
	if len(since.Samples) != len(all.Samples)-40 || !since.Samples[0].At.Equal(from.Time) {
		t.Errorf("since %v there are %d, the first of %v", from, len(since.Samples), since.Samples[0].At)
	}
	wantError(t, r.admin("GET", "/admin/samples?since=noon", ""), 400, "INVALID_QUERY")
}

func TestSamplesOfHoursAreSumsOfMinutes(t *testing.T) {
	r := newRig(t)
	minutes := decoded[operator.SampleList](t, r.admin("GET", "/admin/samples?interval=60", ""))
	hours := decoded[operator.SampleList](t, r.admin("GET", "/admin/samples?interval=3600", ""))
	wanted := map[time.Time]bool{} // two, or three when the first is the last minute of an hour
	for _, s := range minutes.Samples {
		wanted[s.At.Truncate(time.Hour)] = true
	}
	if minutes.Interval != 60 || hours.Interval != 3600 || len(hours.Samples) != len(wanted) {
		t.Fatalf("%d samples of %d s, %d of %d s", len(minutes.Samples), minutes.Interval, len(hours.Samples), hours.Interval)
	}
	var sum, all uint64
	for _, s := range hours.Samples {
		sum += s.Sent
	}
	for _, s := range minutes.Samples {
		all += s.Sent
	}
	if sum != all || all == 0 {
		t.Errorf("%d messages by hour, %d by minute", sum, all)
	}
	for _, interval := range []string{"0", "61", "hour", "-60", ""} {
		wantError(t, r.admin("GET", "/admin/samples?interval="+interval, ""), 400, "INVALID_QUERY")
	}
}

func TestSamplesShowTheLastBackup(t *testing.T) {
	r := newRig(t)
	at := time.Date(2026, 3, 1, 3, 0, 0, 0, time.UTC)
	r.api.operator.Backups = func() backup.State {
		return backup.State{Every: 24 * time.Hour, Last: at, Bytes: 4096, Failed: errors.New("no space left"), FailedAt: at.Add(24 * time.Hour)}
	}
	b := decoded[operator.SampleList](t, r.admin("GET", "/admin/samples", "")).Backup
	if b == nil || b.Every != 86_400 || !b.LastAt.Equal(at) || *b.Bytes != 4096 || *b.Failure != "no space left" || !b.FailedAt.Equal(at.Add(24*time.Hour)) {
		t.Errorf("the backup is %+v", b)
	}
	r.api.operator.Backups = func() backup.State { return backup.State{Every: time.Hour} }
	b = decoded[operator.SampleList](t, r.admin("GET", "/admin/samples", "")).Backup
	if b == nil || b.LastAt != nil || b.Bytes != nil || b.Failure != nil || b.FailedAt != nil {
		t.Errorf("before the first one it is %+v", b)
	}
}
