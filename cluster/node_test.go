package cluster_test

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"postern/cluster"
	"postern/store"
)

func TestANewCellNeedsASecondCopy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.db.SetSynchronous([]string{})
		a := w.process("a", "")
		<-a.done
		if err := *a.failed.Load(); !errors.Is(err, cluster.ErrNotSynchronous) {
			t.Errorf("it ended with %v", err)
		}
		b := w.process("b", "", func(c *cluster.Config) { c.AcceptLoss = true })
		w.until("b leads", 2*time.Second, b.leads)
	})
}

func TestChangesWaitForASecondCopy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		a := w.process("a", "")
		w.until("a leads", time.Second, a.leads)
		w.db.SetSynchronous([]string{})
		w.until("a notices", lease/3, func() bool { return !a.Synchronous() })
		outcome := make(chan error, 1)
		go func() { outcome <- a.put("waits") }()
		time.Sleep(time.Hour)
		select {
		case err := <-outcome:
			t.Fatalf("a change without a second copy was answered: %v", err)
		default:
		}
		w.db.SetSynchronous([]string{"second"})
		if err := <-outcome; err != nil {
			t.Error(err)
		}
	})
}

func TestStandbyAppliesOnlyWhatHasASecondCopy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		a := w.process("a", "")
		w.until("a leads", time.Second, a.leads)
		b := w.process("b", "")
		w.until("b stands by", 2*time.Second, b.standsBy)
		held := make(chan struct{})
		b.db.mu.Lock()
		b.db.held = held
		b.db.mu.Unlock()
		if err := a.put("shown to others too early"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		if s := b.State(); s.Role != cluster.Standby || s.Behind == 0 || b.Behind() < 50*time.Second {
			t.Errorf("it is %s, %d changes and %s behind, for %v", s.Role, s.Behind, b.Behind(), s.Reason)
		}
		if n := b.db.waits.Load(); n != 1 {
			t.Errorf("%d calls wait at the database", n)
		}
		close(held)
		w.until("b stands by again", 2*time.Second, b.standsBy)
		if b.Behind() != 0 || a.ended.Load() != nil {
			t.Error("it is not level again")
		}
	})
}

func TestNodesThatDisagreeAreRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		a := w.process("a", "", func(c *cluster.Config) { c.Digests = map[string]string{"jwt.secret": "1"} })
		w.until("a leads", time.Second, a.leads)
		time.Sleep(2 * time.Second)
		for _, row := range []struct {
			name   string
			change func(*cluster.Config)
			want   error
		}{
			{"b", func(c *cluster.Config) { c.Lease = 20 * time.Second }, cluster.ErrSettings},
			{"c", func(c *cluster.Config) {
				c.Digests, c.Agree = map[string]string{"jwt.secret": "2"}, []string{"jwt.secret"}
			}, cluster.ErrSettings},
			{"a", func(*cluster.Config) {}, cluster.ErrNameTaken},
		} {
			p := w.process(row.name, "", row.change)
			<-p.done
			if err := *p.failed.Load(); !errors.Is(err, row.want) {
				t.Errorf("%s: %v, want %v", row.name, err, row.want)
			}
		}
	})
}

func TestDeadNodesHaveNoSayInSettings(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		secret := func(is string) func(*cluster.Config) {
			return func(c *cluster.Config) {
				c.Digests, c.Agree = map[string]string{"jwt.secret": is}, []string{"jwt.secret"}
			}
		}
		w := newWorld(t)
		a := w.process("a", "", secret("1"))
		w.until("a leads", time.Second, a.leads)
		b := w.process("b", "", secret("1"))
		w.until("b stands by", 2*time.Second, b.standsBy)
		a.kill()
		b.kill()
		time.Sleep(lease + time.Second)
		again := w.process("a", a.file, secret("2"), func(c *cluster.Config) { c.Lease = 2 * lease })
		w.until("a leads with other settings", 3*lease, func() bool { return again.leads() || again.reason() != nil })
		if err := again.reason(); err != nil {
			t.Error(err)
		}
	})
}

func TestACellThatWentBackIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		a := w.process("a", "")
		w.until("a leads", time.Second, a.leads)
		b := w.process("b", "")
		for i := range 10 {
			_ = a.put(fmt.Sprint(i))
		}
		w.until("b stands by", 2*time.Second, b.standsBy)
		w.db.Forget("main", 3)
		if err := a.put("more"); err == nil {
			t.Error("a change on a cell that went back succeeded")
		}
		if err := a.ended.Load(); err == nil || !errors.Is(*err, store.ErrDiverged) {
			t.Error("the owner did not end")
		}
		<-b.done
		if err := *b.failed.Load(); !errors.Is(err, cluster.ErrWentBack) {
			t.Errorf("the standby ended with %v", err)
		}
	})
}

func TestNodeLoadsWhatTheLogNoLongerHas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		a := w.process("a", "")
		w.until("a leads", time.Second, a.leads)
		for i := range 50 {
			_ = a.put(fmt.Sprint(i))
		}
		time.Sleep(2 * time.Second)
		if n, err := w.db.Prune(t.Context(), "main", 0); n == 0 || err != nil {
			t.Fatal(n, err)
		}
		b := w.process("b", "")
		w.until("b stands by", 3*time.Second, b.standsBy)
		a.stop()
		w.until("b leads", time.Second, b.leads)
		for i := range 50 {
			if !b.has(fmt.Sprint(i)) {
				t.Errorf("change %d is lost", i)
			}
		}
	})
}

func TestClockThatIsOffIsReported(t *testing.T) {
	for name, off := range map[string]time.Duration{"ahead": 2 * time.Hour, "behind": -2 * time.Hour} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				var engine atomic.Int64 // how far its clock is behind
				w.db.Now = func() time.Time { return time.Now().Add(-time.Duration(engine.Load())) }
				var logged lines
				logs := func(c *cluster.Config) { c.Logger = slog.New(slog.NewTextHandler(&logged, nil)) }
				a := w.process("a", "", logs)
				w.until("a leads", time.Second, a.leads)
				b := w.process("b", "", logs)
				w.until("b stands by", 2*time.Second, b.standsBy)
				if len(a.Warnings())+len(b.Warnings())+logged.count("level=WARN") > 0 {
					t.Errorf("clocks that agree: %q %q", a.Warnings(), b.Warnings())
				}
				engine.Store(int64(off))
				time.Sleep(2 * time.Minute)
				synctest.Wait()
				for _, p := range []*process{a, b} {
					if all := p.Warnings(); len(all) != 1 || !strings.Contains(all[0], "2h0m0s "+name) || !strings.Contains(all[0], "NTP") {
						t.Errorf("%s warns of %q", p.name, all)
					}
				}
				if n := logged.count("level=WARN"); n != 2 {
					t.Errorf("%d warnings were logged", n)
				}
				if !a.Valid() || b.leads() {
					t.Error("the clock decided about the lease")
				}
				engine.Store(0)
				time.Sleep(2 * time.Minute)
				synctest.Wait()
				if len(a.Warnings())+len(b.Warnings()) > 0 {
					t.Errorf("clocks that agree again: %q %q", a.Warnings(), b.Warnings())
				}
			})
		})
	}
}

func TestChangesFromTheFutureAreReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		ahead := func() time.Time { return time.Now().Add(3 * time.Hour) }
		a := w.process("a", "", func(c *cluster.Config) { c.Now, c.File.Now = ahead, ahead })
		w.until("a leads", time.Second, a.leads)
		b := w.process("b", "")
		w.until("b stands by", 2*time.Second, b.standsBy)
		if err := a.put("late"); err != nil {
			t.Fatal(err)
		}
		a.kill()
		w.until("b leads", lease+time.Second, b.leads)
		if all := b.Warnings(); len(all) != 1 || !strings.Contains(all[0], "in the future") {
			t.Errorf("the new owner warns of %q", all)
		}
		time.Sleep(3 * time.Hour)
		synctest.Wait()
		if all := b.Warnings(); len(all) != 0 {
			t.Errorf("once the time is reached it warns of %q", all)
		}
	})
}

// lines are those of a log.
type lines struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lines) count(words string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.text.String(), words)
}
