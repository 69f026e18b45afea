package batch

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"postern/batch/table"
)

// lifetime is how many steps one life has, unless a test says otherwise.
const lifetime = 200

// enough is how many steps take batches along every way that there is.
const enough = 10_000

// TestTheEngineDoesWhatTheModelSays lives random lives and compares the engine
// with a model after every step. STEPS is how many there are in all, FROM the seed of
// the first life, SEED lives one life alone, again.
func TestTheEngineDoesWhatTheModelSays(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(400)) // the heap is small: collecting it would be a third of all work
	var sum simSum
	if seed, err := strconv.ParseUint(os.Getenv("SEED"), 10, 64); err == nil {
		liveOnce(t, seed, &sum)
		t.Log(&sum)
		return
	}
	steps := enough
	if testing.Short() {
		steps = 5_000
	}
	if n, err := strconv.Atoi(os.Getenv("STEPS")); err == nil && n > 0 {
		steps = n
	}
	first, _ := strconv.ParseUint(os.Getenv("FROM"), 10, 64)
	lives, workers := uint64(steps+lifetime-1)/lifetime, uint64(runtime.GOMAXPROCS(0))
	t.Run("lives", func(t *testing.T) {
		for worker := range workers {
			t.Run(fmt.Sprint("part ", worker+1), func(t *testing.T) {
				t.Parallel()
				for seed := worker; seed < lives && !t.Failed(); seed += workers {
					liveOnce(t, first+seed, &sum)
				}
			})
		}
	})
	t.Logf("%d lives of %d steps: %s", lives, lifetime, &sum)
	if steps >= enough {
		sum.walked(t)
	}
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
	s.Deletions += t.Deletions
	s.Expired += t.Expired
	s.Direct += t.Direct
	s.Refused += t.Refused
	s.Limits += t.Limits
	s.Clock += t.Clock
	s.Doubted += t.Doubted
	s.OptOuts += t.OptOuts
	s.Passed += t.Passed
	s.Retries += t.Retries
	s.Comparisons += t.Comparisons
	if s.moves == nil {
		s.moves = map[modelMove]int{}
	}
	for move, n := range t.moves {
		s.moves[move] += n
	}
}

func (s *simSum) String() string {
	return fmt.Sprintf("%d batches, %d sends, %d commits, %d events, %d kills, %d stops, %d takeovers, %d races, %d deletions, %d batches past their retention; %d direct sends, %d refused, %d times limits and %d times the clock were set, %d messages in doubt, %d opt-outs, %d items skipped for them; %d retries; %d comparisons",
		s.Batches, s.Sends, s.Commits, s.Events, s.Kills, s.Stops, s.Takeovers, s.Races, s.Deletions, s.Expired, s.Direct, s.Refused, s.Limits, s.Clock, s.Doubted, s.OptOuts, s.Passed, s.Retries, s.Comparisons)
}

// walked checks that batches went every way that the table has.
func (s *simSum) walked(t *testing.T) {
	t.Helper()
	if s.Deletions == 0 || s.Expired == 0 {
		t.Errorf("%d batches were deleted, and %d went with their retention", s.Deletions, s.Expired)
	}
	if s.Passed == 0 {
		t.Error("no item was skipped because its recipient opted out")
	}
	if s.Retries == 0 {
		t.Error("no items were retried")
	}
	for _, r := range table.Rows() {
		if r.On == table.OnRestored {
			continue // no life of an engine: restoreTests drives these rows
		}
		for _, from := range r.From {
			if from != r.To && s.moves[modelMove{from, r.To}] == 0 {
				t.Errorf("no life took a batch from %q to %s: %s", from, r.To, r.Name)
			}
		}
	}
}

// liveOnce lives one life. When it breaks a rule, it tells the shortest life
// that was found to break one too.
func liveOnce(t *testing.T, seed uint64, sum *simSum) {
	t.Helper()
	steps := simSteps(seed, lifetime)
	tally, at, err := bubbled(t, seed, steps)
	if err == nil {
		sum.add(tally)
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
	dir, mkErr := os.MkdirTemp(t.TempDir(), "life")
	if mkErr != nil {
		t.Fatal(mkErr)
	}
	defer os.RemoveAll(dir)
	// Of an engine that never comes to rest, only the machine's clock can tell.
	watch := time.AfterFunc(time.Minute, func() { panic(fmt.Sprintf("SEED=%d does not come to rest", seed)) })
	defer watch.Stop()
	synctest.Test(t, func(*testing.T) { tally, at, err = live(filepath.Join(dir, "batches.db"), seed, steps) })
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
