package cluster_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"postern/cluster"
	"postern/cluster/memory"
	"postern/store"
)

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
