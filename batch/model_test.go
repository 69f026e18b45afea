package batch

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
)

// lifetime is how many steps one life has, unless a test says otherwise.
const lifetime = 200

// TestTheEngineDoesWhatTheModelSays lives random lives and compares the engine
// with a model after every step. STEPS is how many there are in all, SEED lives
// one life alone, again.
func TestTheEngineDoesWhatTheModelSays(t *testing.T) {
	if seed, err := strconv.ParseUint(os.Getenv("SEED"), 10, 64); err == nil {
		liveOnce(t, seed, nil)
		return
	}
	steps := 100_000
	if testing.Short() {
		steps = 5_000
	}
	if n, err := strconv.Atoi(os.Getenv("STEPS")); err == nil && n > 0 {
		steps = n
	}
	var sum simSum
	t.Run("lives", func(t *testing.T) {
		for seed := range uint64(steps+lifetime-1) / lifetime {
			t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
				t.Parallel()
				liveOnce(t, seed, &sum)
			})
		}
	})
	t.Logf("%d steps: %+v", steps, sum.simTally)
}

// simSum adds up what many lives held.
type simSum struct {
	mu sync.Mutex
	simTally
}

func (s *simSum) add(t simTally) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.Batches += t.Batches
	s.Sends += t.Sends
	s.Commits += t.Commits
	s.Events += t.Events
	s.Kills += t.Kills
	s.Stops += t.Stops
	s.Takeovers += t.Takeovers
	s.Races += t.Races
	s.Comparisons += t.Comparisons
}

// liveOnce lives one life. When it breaks a rule, it tells the shortest life
// that was found to break one too.
func liveOnce(t *testing.T, seed uint64, sum *simSum) {
	t.Helper()
	steps := simSteps(seed, lifetime)
	tally, at, err := bubbled(t, seed, steps)
	if err == nil {
		if sum != nil {
			sum.add(tally)
		}
		return
	}
	t.Errorf("SEED=%d breaks a rule in step %d, %s: %v", seed, at+1, steps[at], err)
	steps, err = shorten(t, seed, steps[:at+1], err)
	var life strings.Builder
	for _, s := range steps {
		fmt.Fprintf(&life, "  %s\n", s)
	}
	t.Logf("these %d steps do it:\n%s%v", len(steps), life.String(), err)
}

func bubbled(t *testing.T, seed uint64, steps []simStep) (tally simTally, at int, err error) {
	t.Helper()
	dir := t.TempDir()
	synctest.Test(t, func(*testing.T) { tally, at, err = live(dir, seed, steps) })
	return tally, at, err
}

// shorten cuts steps out as long as what is left still breaks a rule.
func shorten(t *testing.T, seed uint64, steps []simStep, err error) ([]simStep, error) {
	t.Helper()
	tries := 300
	for size := len(steps) / 2; size > 0; size /= 2 {
		for from := 0; from+size <= len(steps) && tries > 0; tries-- {
			less := append(append([]simStep(nil), steps[:from]...), steps[from+size:]...)
			if _, at, lessErr := bubbled(t, seed, less); lessErr != nil {
				steps, err = less[:min(at+1, len(less))], lessErr
			} else {
				from += size
			}
		}
	}
	return steps, err
}
