package batch

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"postern/batch/record"
	"postern/event"
	"postern/instance/pace"
	"postern/store"
)

// spacedLife is a life of batches whose instances leave a random time between two messages. Which time is drawn is
// not observable, so it has no model of each commit: it checks what a sender of messages sees.
type spacedLife struct {
	env    *modelEnv
	net    *simNet
	proc   *simProcess
	chance *simChance
	rng    *rand.Rand
	path   string
	least  time.Duration // between two messages
	most   time.Duration
	ack    time.Duration // the longest time until a send is answered
	marks  []time.Time   // of kills, after which the time is drawn again
}

// TestSpacedLivesKeepTheTimeBetweenMessages lives random lives with kills, changes of the clock, and direct
// messages. STEPS is as for the model.
func TestSpacedLivesKeepTheTimeBetweenMessages(t *testing.T) {
	lives := 60
	if n, err := strconv.Atoi(os.Getenv("STEPS")); err == nil && n > 0 {
		lives = n / lifetime
	}
	sends, kills := 0, 0
	for seed := range uint64(lives) {
		var err error
		synctest.Test(t, func(t *testing.T) {
			l := &spacedLife{rng: rand.New(rand.NewPCG(seed, 11)), path: filepath.Join(t.TempDir(), "batches.db")}
			err = l.live(seed)
			sends, kills = sends+len(l.net.calls), kills+len(l.marks)
		})
		if err != nil {
			t.Fatalf("life %d: %v", seed, err)
		}
	}
	t.Logf("%d lives, %d sends, %d kills", lives, sends, kills)
}

func (l *spacedLife) live(seed uint64) error {
	l.env = &modelEnv{now: time.Now().UTC(), instances: map[int64]*modelInstance{1: newModelInstance(), 2: newModelInstance()}, learned: map[string]bool{}, optedOut: map[string]bool{}, moves: map[modelMove]int{}}
	l.net = newNet(l.env)
	l.net.turns = map[int64]chan struct{}{1: make(chan struct{}, 1), 2: make(chan struct{}, 1)}
	l.chance = &simChance{seed: seed, net: l.net, numbers: map[uuid.UUID]uint64{}}
	l.least = time.Duration(l.rng.IntN(3_000)) * time.Millisecond
	l.most = l.least + time.Duration(l.rng.IntN(4_000))*time.Millisecond
	l.ack = time.Duration(1+l.rng.IntN(1_500)) * time.Millisecond
	if err := l.boot(); err != nil {
		return err
	}
	defer func() { _ = l.proc.bury() }()
	limits := pace.Limits{JitterMs: &pace.Jitter{Min: l.least.Milliseconds(), Max: l.most.Milliseconds()}}
	for id := int64(1); id <= 2; id++ {
		if _, err := l.proc.pacer.Set(context.Background(), id, limits, func(*store.Tx) bool { return true }); err != nil {
			return err
		}
	}
	var batches []View
	for n := range 1 + l.rng.IntN(3) {
		r := CreateRequest{Name: fmt.Sprint("spaced ", n), Message: event.BatchMessage{Type: "text", Payload: []byte(`{"text":"x"}`)}, Instances: []record.InstanceRef{{ID: 1, Name: instanceName(1)}, {ID: 2, Name: instanceName(2)}}}
		for i := range 2 + l.rng.IntN(12) {
			r.Recipients = append(r.Recipients, simNumber(n+1, i))
		}
		l.chance.expect(n + 1)
		v, err := l.proc.engine.Create(context.Background(), simOwners[0], r)
		if err != nil {
			return err
		}
		l.chance.known(v.ID)
		batches = append(batches, v)
	}
	if err := l.run(batches, seed%3); err != nil {
		return err
	}
	return l.check(batches)
}

func (l *spacedLife) boot() (err error) {
	l.proc, err = boot(l.net, l.path, simBoot{true, l.chance.draw, 0})
	return err
}

// run lets the time pass until all batches have ended: of a life with kills, changes of the clock, or neither.
func (l *spacedLife) run(batches []View, kind uint64) error {
	for range 100_000 {
		synctest.Wait()
		done := !slices.ContainsFunc(batches, func(b View) bool {
			v, err := l.proc.engine.Batch(simOwners[0], b.ID)
			return err != nil || v.CompletedAt == nil
		})
		if done {
			return nil
		}
		time.Sleep(time.Duration(1+l.rng.IntN(200)) * time.Millisecond)
		l.net.change(func() { l.env.now = time.Now().UTC() })
		for _, c := range l.net.live(l.proc) {
			if waited := time.Since(c.began); waited > l.ack-200*time.Millisecond || l.rng.IntN(3) == 0 {
				c.reply <- simReply{}
			}
		}
		synctest.Wait()
		switch chance := l.rng.IntN(60); {
		case chance == 0 && kind == 0:
			if err := l.proc.bury(); err != nil {
				return err
			}
			l.marks = append(l.marks, time.Now())
			if err := l.boot(); err != nil {
				return err
			}
		case chance == 0 && kind == 1:
			by := time.Duration(l.rng.IntN(7_200_000)-3_600_000) * time.Millisecond
			l.net.change(func() { l.env.skew += by })
			l.net.watch.set(by)
		}
	}
	return errors.New("the batches do not end")
}

// check reports which rule the sends of the life break.
func (l *spacedLife) check(batches []View) error {
	if l.net.broken != nil {
		return l.net.broken
	}
	unknown, success := 0, 0
	for _, b := range batches {
		v, err := l.proc.engine.Batch(simOwners[0], b.ID)
		if err != nil || v.Counts.Success+v.Counts.Unknown != v.Counts.Total {
			return fmt.Errorf("a batch ends with %+v, %w", v.Counts, err)
		}
		unknown, success = unknown+v.Counts.Unknown, success+v.Counts.Success
	}
	if unknown > len(l.marks)*len(batches) {
		return fmt.Errorf("%d items are in doubt after %d kills", unknown, len(l.marks))
	}
	all := slices.Clone(l.marks)
	last := map[int64]time.Time{}
	for _, c := range l.net.calls { // in the order in which they left
		if gap := c.began.Sub(last[c.instance]); gap < l.least {
			return fmt.Errorf("send %d left instance %d %s after the one before, at least %s are asked for", c.number, c.instance, gap, l.least)
		}
		last[c.instance] = c.began
		all = append(all, c.began)
	}
	slices.SortFunc(all, time.Time.Compare)
	for i := 1; i < len(all); i++ {
		if gap := all[i].Sub(all[i-1]); gap > l.most+l.ack+time.Second/2 {
			return fmt.Errorf("nothing left for %s although messages waited; at most %s lie between two, and a send takes at most %s", gap, l.most, l.ack)
		}
	}
	return nil
}
