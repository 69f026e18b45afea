package feed

import (
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
)

// program has rows whose value is the number of their changes.
type program struct {
	*Feed
	instances map[int64]int
	batches   map[uuid.UUID]int
	owner     uuid.UUID
	reads     atomic.Int64
}

func newProgram() *program {
	p := &program{instances: map[int64]int{}, batches: map[uuid.UUID]int{}, owner: uuid.New()}
	p.Feed = New(Config{
		Instance: func(id int64, webhooks bool) (string, any, bool) {
			p.reads.Add(1)
			n, ok := p.instances[id]
			if !webhooks {
				n = -n
			}
			return fmt.Sprint("i", id), n, ok
		},
		Batch: func(id uuid.UUID, _ func(int64) bool) (uuid.UUID, any, bool) {
			p.reads.Add(1)
			n, ok := p.batches[id]
			return p.owner, n, ok
		},
		Deliveries: func(ids []uint64) (rows []any) {
			p.reads.Add(1)
			for _, id := range ids {
				rows = append(rows, id)
			}
			return rows
		},
		Figures: func() any {
			p.reads.Add(1)
			return "<&>"
		},
	})
	return p
}

// flap changes an instance.
func (p *program) flap(id int64) {
	p.instances[id]++
	p.InstanceChanged(id)
}

func (p *program) deliver(from, to uint64) {
	p.DeliveriesChanged(func(yield func(Delivery) bool) {
		for id := from; id <= to; id++ {
			if !yield(Delivery{ID: id, Instance: "i1", Global: id%2 == 0}) {
				return
			}
		}
	})
}

// client reads all messages of a stream.
type client struct {
	*Stream
	t    *testing.T
	woke chan struct{}
	err  error
}

func (p *program) open(t *testing.T, v Viewer) *client {
	t.Helper()
	c := &client{t: t, woke: make(chan struct{}, 1)}
	c.Stream = p.Open(v, func() {
		select {
		case c.woke <- struct{}{}:
		default:
		}
	})
	t.Cleanup(c.Close)
	return c
}

// heard is a decoded message.
type heard struct {
	Type, Name string
	ID         *uuid.UUID
	At         string
	Instance   int
	Batch      int
	Delivery   uint64
	Changed    int
	Figures    string
}

// takes reads the messages that are ready.
func (c *client) takes() (all []heard) {
	c.t.Helper()
	for {
		var body []byte
		if body, c.err = c.Next(); body == nil {
			return all
		}
		var h heard
		if err := json.Unmarshal(body, &h); err != nil {
			c.t.Fatalf("%s: %v", body, err)
		}
		all = append(all, h)
	}
}

// listens reads messages for d.
func (c *client) listens(d time.Duration) (all []heard) {
	c.t.Helper()
	for over := time.After(d); ; {
		all = append(all, c.takes()...)
		select {
		case <-c.woke:
		case <-over:
			synctest.Wait() // include a pause that ends now
			return append(all, c.takes()...)
		}
	}
}

func types(all []heard) (names []string) {
	for _, h := range all {
		names = append(names, h.Type)
	}
	return names
}

func bubble(t *testing.T, fn func(t *testing.T, p *program)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { fn(t, newProgram()) })
}

func TestChangesCostNothingWithoutStreams(t *testing.T) {
	bubble(t, func(t *testing.T, p *program) {
		report := func() {
			p.InstanceChanged(1)
			p.InstanceDeleted(1, "i1")
			p.BatchChanged(p.owner)
			p.BatchDeleted(p.owner, p.owner)
		}
		if n := testing.AllocsPerRun(100, report); n != 0 {
			t.Errorf("without streams a report makes %v allocations", n)
		}
		c := p.open(t, Operator())
		c.takes()
		c.Close()
		c.Close() // again does nothing
		before := p.reads.Load()
		report()
		p.deliver(1, 5)
		time.Sleep(time.Minute)
		if after := p.reads.Load(); after != before || c.takes() != nil {
			t.Errorf("%d rows were read without streams", after-before)
		}
	})
}

func TestHelloThenFiguresEveryFiveSeconds(t *testing.T) {
	bubble(t, func(t *testing.T, p *program) {
		c := p.open(t, Operator())
		p.flap(1)
		all := c.listens(16 * time.Second)
		if got := types(all); !slices.Equal(got, []string{"hello", "figures", "instance", "figures", "figures", "figures"}) {
			t.Errorf("got %v", got)
		}
		if at, err := time.Parse(time.RFC3339, all[0].At); err != nil || time.Since(at) > time.Minute || all[1].Figures != "<&>" {
			t.Errorf("hello says %+v, figures %+v", all[0], all[1])
		}
	})
}

func TestRepeatedChangesSendOneCurrentRow(t *testing.T) {
	bubble(t, func(t *testing.T, p *program) {
		c := p.open(t, Operator())
		c.takes()
		id := uuid.New()
		for range 1000 {
			p.flap(1)
			p.batches[id]++
			p.BatchChanged(id)
		}
		time.Sleep(Pause)
		synctest.Wait()
		all := c.takes()
		if len(all) != 2 || all[0].Type != "instance" || all[0].Name != "i1" || all[0].Instance != 1000 || all[1].Type != "batch" || all[1].Batch != 1000 {
			t.Errorf("got %+v", all)
		}
		p.flap(1)
		if early := c.takes(); len(early) != 0 {
			t.Errorf("got %+v before the pause ended", early)
		}
		if all = c.listens(Pause); len(all) != 1 || all[0].Instance != 1001 {
			t.Errorf("then %+v", all)
		}
	})
}

func TestDeletionIsSentOnceWithoutRow(t *testing.T) {
	bubble(t, func(t *testing.T, p *program) {
		c := p.open(t, Operator())
		c.takes()
		id := uuid.New()
		p.flap(7)
		p.BatchChanged(id)
		delete(p.instances, 7)
		p.InstanceDeleted(7, "i7")
		p.BatchDeleted(id, p.owner)
		all := c.listens(Pause)
		if len(all) != 2 || all[0].Type != "instanceDeleted" || all[0].Name != "i7" || all[1].Type != "batchDeleted" || *all[1].ID != id {
			t.Errorf("got %+v", all)
		}
	})
}

func TestDeliveriesUnderLoadAreCounted(t *testing.T) {
	bubble(t, func(t *testing.T, p *program) {
		c := p.open(t, Operator())
		c.takes()
		p.deliver(1, MostDeliveries)
		p.deliver(1, MostDeliveries) // the same again
		all := c.listens(Pause)
		if len(all) != MostDeliveries || all[0].Delivery != 1 || all[MostDeliveries-1].Delivery != MostDeliveries {
			t.Errorf("%d messages, the first %+v", len(all), all[0])
		}
		for range 10 {
			p.deliver(1, 2*MostDeliveries)
		}
		if all = c.listens(Pause); len(all) != 1 || all[0].Type != "deliveries" || all[0].Changed != 20*MostDeliveries {
			t.Errorf("got %+v", all)
		}
		p.deliver(5, 5)
		if all = c.listens(Pause); len(all) != 1 || all[0].Delivery != 5 {
			t.Errorf("and then %+v", all)
		}
	})
}

func TestViewerPermissions(t *testing.T) {
	bubble(t, func(t *testing.T, p *program) {
		blind := p.open(t, Viewer{})
		reader := p.open(t, Viewer{
			Instance: func(name string) bool { return name == "i1" },
			Delivery: func(d Delivery) bool { return d.Instance == "i1" && !d.Global },
		})
		owner := p.open(t, Viewer{Batch: func(o, _ uuid.UUID) bool { return o == p.owner }})
		stranger := p.open(t, Viewer{Batch: func(o, _ uuid.UUID) bool { return o != p.owner }})
		id := uuid.New()
		p.flap(1)
		p.flap(2)
		p.batches[id]++
		p.BatchChanged(id)
		p.deliver(1, 4)
		p.InstanceDeleted(3, "i3")
		p.BatchDeleted(uuid.New(), p.owner)
		for _, want := range []struct {
			who  string
			c    *client
			want []string
		}{
			{"a viewer without permissions", blind, []string{"hello"}},
			{"a reader of one instance", reader, []string{"hello", "delivery", "delivery", "instance"}},
			{"the owner of batches", owner, []string{"hello", "batch", "batchDeleted"}},
			{"another user", stranger, []string{"hello"}},
		} {
			if got := types(want.c.listens(time.Minute)); !slices.Equal(got, want.want) {
				t.Errorf("%s gets %v", want.who, got)
			}
		}
	})
}

func TestWebhookNeedsPermission(t *testing.T) {
	bubble(t, func(t *testing.T, p *program) {
		reader, operator := p.open(t, Viewer{Instance: func(string) bool { return true }}), p.open(t, Operator())
		reader.listens(Pause)
		operator.listens(Pause)
		p.flap(1)
		for c, want := range map[*client]int{reader: -1, operator: 1} {
			for _, m := range c.listens(time.Minute) {
				if m.Type == "instance" && m.Instance != want {
					t.Errorf("got %+v, not %v", m, want)
				}
			}
		}
	})
}

// TestSlowReaderHoldsOnlyNames lets 2000 instances flap: a slow reader keeps one name each
// and finally gets the newest state of each.
func TestSlowReaderHoldsOnlyNames(t *testing.T) {
	const many, changes = 2000, 1000
	bubble(t, func(t *testing.T, p *program) {
		slow, fast := p.open(t, Operator()), p.open(t, Operator())
		slow.takes()
		messages := 0
		for range changes {
			for id := range int64(many) {
				p.flap(id)
			}
			time.Sleep(time.Millisecond)
			messages += len(fast.takes())
		}
		slow.mu.Lock()
		waiting, queued := len(slow.waiting), len(slow.order)
		slow.mu.Unlock()
		if waiting != many || queued != many {
			t.Errorf("%d names are pending for the slow reader, %d in order", waiting, queued)
		}
		if most := 2 + (AtOnce+1)*int(changes*time.Millisecond/Pause); messages > most {
			t.Errorf("the fast reader got %d messages in a second, want at most %d", messages, most)
		}
		last := map[string]int{}
		for _, h := range append(slow.listens(5*time.Second), fast.takes()...) {
			if h.Type == "instance" {
				last[h.Name] = h.Instance
			}
		}
		for id := range int64(many) {
			if n := last[fmt.Sprint("i", id)]; n != changes {
				t.Fatalf("the slow reader has instance %d at change %d", id, n)
			}
		}
	})
}

func TestStreamEndsWithErrBehind(t *testing.T) {
	bubble(t, func(t *testing.T, p *program) {
		c := p.open(t, Operator())
		for id := range int64(MostWaiting) {
			p.InstanceDeleted(id, "i")
		}
		if c.takes(); c.err != nil {
			t.Fatalf("too early: %v", c.err)
		}
		p.InstanceDeleted(-1, "i")
		p.InstanceDeleted(-2, "i")
		if c.takes(); !errors.Is(c.err, ErrBehind) {
			t.Errorf("the stream continues: %v", c.err)
		}
		if len(c.waiting) != 0 {
			t.Errorf("%d names remain", len(c.waiting))
		}
	})
}

// TestAnHourOfLiveEventsLeavesMemoryFlat compares the heap after an hour with the heap
// after the first minute.
func TestAnHourOfLiveEventsLeavesMemoryFlat(t *testing.T) {
	bubble(t, func(t *testing.T, p *program) {
		c := p.open(t, Operator())
		hour := func(minutes int) uint64 {
			delivery := uint64(0)
			for range minutes * 60 {
				for range 20 {
					p.flap(int64(delivery % 2000))
					p.deliver(delivery, delivery+9)
					delivery += 10
				}
				c.listens(time.Second)
			}
			runtime.GC()
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			return m.HeapAlloc
		}
		before := hour(1)
		if after := hour(60); after > before+256<<10 {
			t.Errorf("%d KB more after an hour", (after-before)>>10)
		}
	})
}

// BenchmarkAnHourOfLiveEvents measures one open page while 2000 instances change state ten
// times a minute each and 200 deliveries end every second.
func BenchmarkAnHourOfLiveEvents(b *testing.B) {
	var peak uint64
	for b.Loop() {
		p := newProgram()
		woke := make(chan struct{}, 1)
		s := p.Open(Operator(), func() {
			select {
			case woke <- struct{}{}:
			default:
			}
		})
		for second := range int64(3600) {
			for i := range int64(333) {
				p.flap((second*333 + i) % 2000)
			}
			p.deliver(uint64(second)*200, uint64(second)*200+199)
			s.opened() // ends the pause
			for body, _ := s.Next(); body != nil; body, _ = s.Next() {
			}
			if second%600 == 0 {
				var m runtime.MemStats
				runtime.ReadMemStats(&m)
				peak = max(peak, m.HeapInuse)
			}
		}
		s.Close()
	}
	b.ReportMetric(float64(peak)/(1<<20), "peak-MB")
}
