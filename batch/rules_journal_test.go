package batch

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"postern/batch/record"
	"postern/delivery/outbox"
	"postern/event"
	"postern/store"
)

// journal is a rig that writes down every commit of its one batch: the status
// that the commit left behind and the events that it reported. A test reads it as
// "QUEUED created | PROCESSING started | PROCESSING": three commits.
type journal struct {
	*rig
	answers chan error    // what sends end in; they wait for it
	late    chan struct{} // closed: sends that ignore their context come back

	file   atomic.Pointer[store.Store]
	mu     sync.Mutex
	lines  []string
	seen   int
	shared int // commits that carried more than one change
}

// journalled runs fn on an engine whose sends end in what fn answers.
func journalled(t *testing.T, f *scripted, adapt func(*Config), fn func(*journal)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		j := &journal{answers: make(chan error), late: make(chan struct{})}
		if f.send == nil {
			f.send = j.send
		}
		j.rig = &rig{T: t, f: f, path: filepath.Join(t.TempDir(), "b.db"), onCommit: j.committed}
		j.adapt = func(c *Config) {
			j.file.Store(c.Store)
			if adapt != nil {
				adapt(c)
			}
		}
		j.boot()
		fn(j)
		close(j.late)
		j.stop()
		f.leftOnce(t)
		if j.shared > 0 {
			t.Errorf("%d commits carried two changes of one batch", j.shared)
		}
	})
}

// committed writes the line of a commit.
func (j *journal) committed(calls int, _ time.Duration) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if calls != 1 {
		j.shared++
	}
	line, err := j.line()
	if err != nil {
		line = err.Error()
	}
	j.lines = append(j.lines, line)
}

func (j *journal) line() (line string, err error) {
	err = j.file.Load().View(func(tx *store.Tx) error {
		all, err := record.IDs(tx, record.BucketSpec)
		if err != nil || len(all) == 0 {
			return err
		}
		h, err := record.LoadHeader(tx, all[0])
		if err != nil {
			return err
		}
		entries, err := outbox.OfBatch(tx, all[0], 0, 1<<20)
		line = string(h.Status)
		for _, e := range entries[min(j.seen, len(entries)):] {
			line += " " + strings.TrimPrefix(string(e.Kind), "message.batch.")
		}
		j.seen = len(entries)
		return err
	})
	return line, err
}

// read returns the journal up to now.
func (j *journal) read() string {
	synctest.Wait()
	j.mu.Lock()
	defer j.mu.Unlock()
	return strings.Join(j.lines, " | ")
}

func (j *journal) wants(want string) {
	j.Helper()
	if got := j.read(); got != want {
		j.Errorf("commits\n got %s\nwant %s", got, want)
	}
}

// send ends in what answer gives it, or in a doubt when its time has ended.
func (j *journal) send(ctx context.Context, _ int64, _ event.Outgoing) error {
	select {
	case err := <-j.answers:
		return err
	case <-ctx.Done():
		return fmt.Errorf("%w: no answer", event.ErrOutcomeUnknown)
	}
}

// deaf has sends ignore their context, until the test has ended.
func (j *journal) deaf() {
	j.f.send = func(context.Context, int64, event.Outgoing) error {
		<-j.late
		return nil
	}
}

// answer ends the send in flight.
func (j *journal) answer(err error) {
	synctest.Wait()
	j.answers <- err
	synctest.Wait()
}

// drops disconnects an instance.
func (j *journal) drops(instances ...int64) {
	for _, id := range instances {
		j.f.set(j.e, id, event.Reconnecting)
	}
	synctest.Wait()
}

// restart stops the program in order and starts it after the pause.
func (j *journal) restart(pause time.Duration) {
	j.Helper()
	j.stop()
	time.Sleep(pause)
	j.boot()
	synctest.Wait()
}

// window returns a schedule whose first window begins and ends so long from now.
func window(begins, ends time.Duration, recurrence string) []byte {
	now := time.Now()
	return fmt.Appendf(nil, `{"windowStartAt":%q,"windowEndAt":%q,"recurrence":%q}`,
		now.Add(begins).Format(time.RFC3339), now.Add(ends).Format(time.RFC3339), recurrence)
}

// said shows items as their statuses, and attempts as position/number status.
func (j *journal) said() (items, attempts string) {
	j.Helper()
	for _, i := range j.items() {
		items += string(i.Status) + " "
	}
	l, err := j.e.Attempts(owner, j.batch, ItemFilter{}, Page{Limit: 200})
	if err != nil {
		j.Fatal(err)
	}
	for n, a := range l.Records {
		if n > 0 {
			attempts += ", "
		}
		position, _ := record.ItemPosition(j.batch, a.BatchItemID)
		attempts += fmt.Sprintf("%d/%d %s", position, a.AttemptNumber, a.Status)
	}
	return strings.TrimSpace(items), attempts
}
