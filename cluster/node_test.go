package cluster_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"postern/cluster"
	"postern/cluster/memory"
	"postern/store"
	"postern/store/schema"
)

const lease = 10 * time.Second

var thing = schema.Bucket{Name: "thing", Owner: "test", Key: "any", Value: "any"}

// world is a database and the nodes that share its cell.
type world struct {
	t     *testing.T
	db    *memory.Database
	start time.Time
	nodes []*process
}

// process is one node, as a process of its own.
type process struct {
	*cluster.Node
	w      *world
	name   string
	db     *link
	file   string
	store  atomic.Pointer[store.Store] // once it leads
	failed atomic.Pointer[error]       // of Lead
	ended  atomic.Pointer[error]
	cancel context.CancelFunc
	done   chan struct{}
}

// link is the connection of one process to the database. While it is frozen, calls wait,
// as they do in a process that is paused.
type link struct {
	*memory.Database
	mu     sync.Mutex
	frozen chan struct{}
	held   chan struct{} // while no second copy gets what is written; nil: it does
	waits  atomic.Int64  // calls of Barrier that wait
	late   time.Duration // after which the next commit arrives, while the line is frozen for as long as outage; 0: it is not late
	outage time.Duration
}

// delay has the next commit arrive late, perhaps after the process that sent it gave it up.
func (l *link) delay(late, outage time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.late, l.outage = late, outage
}

// send begins the journey of a commit that arrives late.
func (l *link) send(g cluster.Grant, c store.Change) {
	l.mu.Lock()
	late, outage := l.late, l.outage
	l.late = 0
	l.mu.Unlock()
	if late == 0 {
		return
	}
	c.Rows = slices.Clone(c.Rows)
	for i, r := range c.Rows {
		c.Rows[i].Value = bytes.Clone(r.Value)
	}
	time.AfterFunc(late, func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
		defer cancel()
		_ = l.Database.Commit(ctx, g, c) // no caller waits for the answer
	})
	l.freeze(true)
	time.AfterFunc(outage, func() { l.freeze(false) })
}

func (l *link) freeze(on bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case on && l.frozen == nil:
		l.frozen = make(chan struct{})
	case !on && l.frozen != nil:
		close(l.frozen)
		l.frozen = nil
	}
}

func (l *link) wait(ctx context.Context) {
	l.mu.Lock()
	frozen := l.frozen
	l.mu.Unlock()
	if frozen != nil {
		select {
		case <-frozen:
		case <-ctx.Done():
		}
	}
}

func (l *link) Renew(ctx context.Context, g cluster.Grant) (cluster.Renewal, error) {
	l.wait(ctx)
	return l.Database.Renew(ctx, g)
}

func (l *link) Look(ctx context.Context, cell string) (cluster.Cell, bool, error) {
	l.wait(ctx)
	return l.Database.Look(ctx, cell)
}

func (l *link) Commit(ctx context.Context, g cluster.Grant, c store.Change) error {
	l.send(g, c)
	l.wait(ctx)
	return l.Database.Commit(ctx, g, c)
}

func (l *link) Barrier(ctx context.Context, cell string) error {
	l.mu.Lock()
	held := l.held
	l.mu.Unlock()
	if held != nil {
		l.waits.Add(1)
		defer l.waits.Add(-1)
		select {
		case <-held:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return l.Database.Barrier(ctx, cell)
}

func newWorld(t *testing.T) *world {
	w := &world{t: t, db: &memory.Database{}, start: time.Now()}
	t.Cleanup(func() {
		for _, p := range w.nodes {
			p.kill()
		}
	})
	return w
}

// process starts a node on a file of its own, or on file.
func (w *world) process(name, file string, change ...func(*cluster.Config)) *process {
	if file == "" {
		file = filepath.Join(w.t.TempDir(), name+".db")
	}
	p := &process{w: w, name: name, db: &link{Database: w.db}, file: file, done: make(chan struct{})}
	cfg := cluster.Config{
		Database: p.db, Cell: "main", Name: name, Address: "http://" + name, Lease: lease, Logger: slog.New(slog.DiscardHandler),
		File:  store.Options{Path: file, Buckets: []schema.Bucket{thing}, NoSync: true, MinFree: 1},
		Awake: func() time.Duration { return time.Since(w.start) },
		Ended: func(err error) { p.ended.Store(&err) },
	}
	for _, c := range change {
		c(&cfg)
	}
	p.Node = cluster.New(cfg)
	ctx, cancel := context.WithCancel(w.t.Context())
	p.cancel = cancel
	go func() {
		defer close(p.done)
		s, err := p.Lead(ctx)
		if err != nil {
			p.failed.Store(&err)
			return
		}
		p.store.Store(s)
	}()
	w.nodes = append(w.nodes, p)
	return p
}

// kill ends a process without a word to the others.
func (p *process) kill() {
	p.cancel()
	<-p.done
	p.Kill()
	p.db.freeze(false)
	if s := p.store.Swap(nil); s != nil {
		_ = s.Close()
	}
}

// stop ends a process in order.
func (p *process) stop() {
	p.cancel()
	<-p.done
	if s := p.store.Swap(nil); s != nil {
		if err := s.Close(); err != nil {
			p.w.t.Error(err)
		}
	}
	if err := p.Stop(context.Background()); err != nil && !errors.Is(err, cluster.ErrUnreachable) {
		p.w.t.Error(err)
	}
}

func (p *process) put(key string) error {
	s := p.store.Load()
	if s == nil {
		return store.ErrStandby
	}
	return s.Update(context.Background(), func(tx *store.Tx) error { return tx.Put("thing", []byte(key), []byte(key)) })
}

// count numbers a change: it stores key under the next number, like the event of a user.
func (p *process) count(key string) (n uint64, err error) {
	s := p.store.Load()
	if s == nil {
		return 0, store.ErrStandby
	}
	err = s.Update(context.Background(), func(tx *store.Tx) error {
		raw, err := tx.Get("thing", []byte("counter"))
		if err != nil {
			return err
		}
		n = 1
		if raw != nil {
			n = binary.BigEndian.Uint64(raw) + 1
		}
		return errors.Join(tx.Put("thing", []byte("counter"), binary.BigEndian.AppendUint64(nil, n)), tx.Put("thing", fmt.Append(nil, "number ", n), []byte(key)))
	})
	return n, err
}

// counted returns the newest number.
func (p *process) counted() (n uint64) {
	_ = p.store.Load().View(func(tx *store.Tx) error {
		if raw, err := tx.Get("thing", []byte("counter")); err == nil && raw != nil {
			n = binary.BigEndian.Uint64(raw)
		}
		return nil
	})
	return n
}

func (p *process) has(key string) bool { return p.get(key) == key }

func (p *process) get(key string) (value string) {
	_ = p.store.Load().View(func(tx *store.Tx) error {
		raw, err := tx.Get("thing", []byte(key))
		value = string(raw)
		return err
	})
	return value
}

// until waits in steps of 50 ms, at most max, and returns how long it took.
func (w *world) until(what string, most time.Duration, is func() bool) time.Duration {
	w.t.Helper()
	began := time.Now()
	for !is() {
		if time.Since(began) > most {
			w.t.Fatalf("not within %s: %s", most, what)
		}
		time.Sleep(50 * time.Millisecond)
		synctest.Wait()
	}
	return time.Since(began)
}

// reason returns why a process ended.
func (p *process) reason() error {
	if err := p.ended.Load(); err != nil {
		return *err
	}
	if err := p.failed.Load(); err != nil {
		return *err
	}
	return nil
}

func (p *process) leads() bool { return p.store.Load() != nil }

func (p *process) standsBy() bool { return p.State().Role == cluster.Standby && p.State().Behind == 0 }

func TestStandbyTakesAReleasedCellWithinASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		a := w.process("a", "")
		w.until("a leads", time.Second, a.leads)
		if err := a.put("kept"); err != nil {
			t.Fatal(err)
		}
		b := w.process("b", "")
		w.until("b stands by", 2*time.Second, b.standsBy)
		time.Sleep(3 * lease)
		if b.leads() {
			t.Fatal("the standby took a cell whose owner lives")
		}
		a.stop()
		w.until("b leads", time.Second, b.leads)
		if !b.has("kept") {
			t.Error("the new owner lacks what the former one answered")
		}
		if err := b.put("next"); err != nil {
			t.Error(err)
		}
	})
}

func TestStandbyTakesOverAfterALease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		a := w.process("a", "")
		w.until("a leads", time.Second, a.leads)
		b := w.process("b", "")
		w.until("b stands by", 2*time.Second, b.standsBy)
		for i := range 100 {
			if err := a.put(fmt.Sprint(i)); err != nil {
				t.Fatal(err)
			}
		}
		a.kill()
		if took := w.until("b leads", lease+time.Second, b.leads); took < lease-lease/6-time.Second {
			t.Errorf("the standby took the cell after %s", took)
		}
		for i := range 100 {
			if !b.has(fmt.Sprint(i)) {
				t.Fatalf("change %d is lost", i)
			}
		}
		again := w.process("a", a.file)
		w.until("a stands by again", lease+3*time.Second, again.standsBy)
	})
}

func TestPausedOwnerActsNoMoreWhenItWakes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		a := w.process("a", "")
		w.until("a leads", time.Second, a.leads)
		b := w.process("b", "")
		w.until("b stands by", 2*time.Second, b.standsBy)
		a.db.freeze(true)
		late := make(chan error, 1)
		go func() { late <- a.put("late") }()
		for !b.leads() {
			time.Sleep(10 * time.Millisecond)
			synctest.Wait()
			if a.Valid() && b.Valid() {
				t.Fatal("two nodes may act at once")
			}
		}
		a.db.freeze(false)
		w.until("a ends", 2*time.Second, func() bool { return a.ended.Load() != nil })
		if err := *a.ended.Load(); !errors.Is(err, store.ErrFenced) {
			t.Errorf("it ended with %v", err)
		}
		if err := <-late; err == nil {
			t.Error("a change of a former owner was answered with success")
		}
		if b.has("late") {
			t.Error("a change that was refused happened")
		}
	})
}

func TestOwnerEndsWhenTheDatabaseIsAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		a := w.process("a", "")
		w.until("a leads", time.Second, a.leads)
		time.Sleep(time.Minute)
		w.db.SetAway(true)
		outcome := make(chan error, 1)
		go func() { outcome <- a.put("while it is away") }()
		time.Sleep(lease - lease/5 + time.Millisecond)
		if a.Valid() {
			t.Error("a fifth of the lease is left, and the owner acts")
		}
		w.until("a ends", lease/5+time.Second, func() bool { return a.ended.Load() != nil })
		if err := <-outcome; err == nil {
			t.Error("a change was answered while the database was away")
		}
		a.kill()
		b := w.process("b", "")
		time.Sleep(time.Minute)
		if s := b.State(); s.Role != cluster.Connecting || !errors.Is(s.Reason, cluster.ErrUnreachable) {
			t.Errorf("without a database, the node is %s for %v", s.Role, s.Reason)
		}
		w.db.SetAway(false)
		w.until("b leads", lease+3*time.Second, b.leads)
	})
}

func TestOwnerCutOffEndsByTheLeasesEnd(t *testing.T) {
	for _, length := range []time.Duration{3 * time.Second, lease, time.Minute} {
		t.Run(length.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				ended := make(chan time.Time, 1)
				a := w.process("a", "", func(c *cluster.Config) {
					c.Lease, c.Ended = length, func(error) { ended <- time.Now() }
				})
				w.until("a leads", time.Second, a.leads)
				time.Sleep(time.Minute)
				a.db.freeze(true)
				end := time.Now().Add(a.LeaseLeft())
				at := <-ended
				if after := at.Sub(end); after > 0 || after < -length/5 {
					t.Errorf("it ended %s after its lease", after)
				}
			})
		})
	}
}

func TestOwnerEndsSoonAfterItsMachineSlept(t *testing.T) {
	for name, frozen := range map[string]bool{"between two renewals": false, "during a renewal": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const length = time.Minute
				w := newWorld(t)
				var slept atomic.Int64
				ended := make(chan time.Time, 1)
				a := w.process("a", "", func(c *cluster.Config) {
					c.Lease, c.Ended = length, func(error) { ended <- time.Now() }
					c.Awake = func() time.Duration { return time.Since(w.start) + time.Duration(slept.Load()) }
				})
				w.until("a leads", time.Second, a.leads)
				a.db.freeze(frozen)
				time.Sleep(length/6 + time.Second)
				slept.Store(int64(2 * length))
				woke := time.Now()
				if at := <-ended; at.Sub(woke) > 2*time.Second {
					t.Errorf("it ended %s after it woke", at.Sub(woke))
				}
			})
		})
	}
}

func TestShortAbsenceOfTheDatabaseIsSurvived(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		a := w.process("a", "")
		w.until("a leads", time.Second, a.leads)
		b := w.process("b", "")
		w.until("b stands by", 2*time.Second, b.standsBy)
		for i := range 5 {
			w.db.SetAway(true)
			outcome := make(chan error, 1)
			go func() { outcome <- a.put(fmt.Sprint(i)) }()
			time.Sleep(lease / 2)
			if a.Answered() || b.Answered() {
				t.Error("a node says that the database answers, which is away")
			}
			w.db.SetAway(false)
			if err := <-outcome; err != nil {
				t.Error(err)
			}
			time.Sleep(lease)
			if !a.Answered() || !b.Answered() {
				t.Error("a node says that the database does not answer, which is back")
			}
		}
		if b.leads() || a.ended.Load() != nil {
			t.Error("the owner changed")
		}
	})
}

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

// Three nodes, and what can happen to them, by chance. Each change that was answered must
// be there at the end under its number, no read that is answered may lack it, and two nodes
// must never act at once.
func TestNothingAcceptedIsLostInRandomFailures(t *testing.T) {
	rounds := 4
	if testing.Short() {
		rounds = 1
	}
	for range rounds {
		seed := uint64(time.Now().UnixNano())
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { failures(t, rand.New(rand.NewPCG(seed, 2))) })
		})
	}
}

func failures(t *testing.T, r *rand.Rand) {
	w := newWorld(t)
	var mu sync.Mutex // of r, which commits use too
	chance := func(n int) int {
		mu.Lock()
		defer mu.Unlock()
		return r.IntN(n)
	}
	w.db.OnCommit = func(cluster.Grant, store.Change) memory.Outcome {
		if chance(20) == 0 {
			return memory.Outcome(1 + chance(2))
		}
		return memory.Happens
	}
	live := []*process{w.process("a", ""), w.process("b", ""), w.process("c", "")}
	var accepted []string // by number, from 1 on; empty: it was not answered
	valid := func() (n int) {
		for _, p := range live {
			if p.Valid() {
				n++
			}
		}
		return n
	}
	for i := range 2000 {
		time.Sleep(time.Duration(chance(1000)) * time.Millisecond)
		synctest.Wait()
		if valid() > 1 {
			t.Fatal("two nodes may act at once")
		}
		for k, p := range live {
			if p.ended.Load() != nil || p.failed.Load() != nil {
				if err := p.reason(); errors.Is(err, cluster.ErrWentBack) || errors.Is(err, store.ErrDiverged) {
					t.Fatalf("%s ended, although the database lost nothing: %v", p.name, err)
				}
				p.kill()
				live[k] = w.process(p.name, p.file)
				continue
			}
			if !p.leads() || !p.Valid() {
				continue
			}
			if n := p.counted(); n+1 < uint64(len(accepted)) {
				t.Fatalf("%s answers a read with the number %d, and %d was given", p.name, n, len(accepted)-1)
			}
			key := fmt.Sprint(p.name, i)
			answered := make(chan uint64, 1)
			go func() {
				n, err := p.count(key)
				if err != nil {
					n = 0
				}
				answered <- n
			}()
			select {
			case n := <-answered:
				if n > 0 && p.Valid() {
					for uint64(len(accepted)) <= n {
						accepted = append(accepted, "")
					}
					if accepted[n] != "" {
						t.Fatalf("the number %d was given to %s and to %s", n, accepted[n], key)
					}
					accepted[n] = key
				}
			case <-time.After(time.Second):
			}
		}
		k := chance(3)
		switch chance(300) {
		case 0:
			live[k].kill()
			live[k] = w.process(live[k].name, live[k].file)
		case 1:
			live[k].stop()
			live[k] = w.process(live[k].name, "")
		case 2:
			p := live[k]
			p.db.freeze(true)
			time.AfterFunc(time.Duration(chance(25))*time.Second, func() { p.db.freeze(false) })
		case 3:
			w.db.SetAway(true)
			time.AfterFunc(time.Duration(chance(15))*time.Second, func() { w.db.SetAway(false) })
		case 4:
			live[k].db.delay(time.Duration(1+chance(30))*time.Second, time.Duration(chance(25))*time.Second)
		}
	}
	w.db.SetAway(false)
	w.db.OnCommit = nil
	for _, p := range live {
		p.kill()
	}
	last := w.process("last", "")
	w.until("the last node leads", 2*lease, last.leads)
	answers := 0
	for n, key := range accepted {
		if key == "" {
			continue
		}
		answers++
		if got := last.get(fmt.Sprint("number ", n)); got != key {
			t.Errorf("the number %d was given to %s and belongs to %q", n, key, got)
		}
	}
	if answers < 400 {
		t.Errorf("only %d changes were accepted", answers)
	}
	t.Log(answers, "changes were accepted; the epoch is", last.State().Cell.Epoch)
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
