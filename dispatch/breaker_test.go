package dispatch

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
)

var (
	refused  = Outcome{Err: errors.New("connection refused")}
	accepted = Outcome{Status: 200}
	disliked = Outcome{Status: 422}
)

// fly takes n entries of different batches from the board.
func fly(t *testing.T, b *board, n int) []flight {
	t.Helper()
	flights := make([]flight, n)
	for i := range flights {
		f, ok := b.take()
		if !ok {
			t.Fatal("nothing may be sent")
		}
		flights[i] = f
	}
	return flights
}

func bareBoard() *board { return newBoard(boardSize, boardSize, boardSize, func() {}) }

func fullBoard(n int) *board {
	b := bareBoard()
	for seq := range n {
		b.offer(uuid.New(), uint64(seq+1), false)
	}
	return b
}

// swept fills the board after the breaker opened, as the feeder does.
func swept(b *board) {
	b.sweepWanted()
	for seq := range uint64(50) {
		b.offer(uuid.New(), seq+1, true)
	}
}

// held reports whether the breaker holds the next delivery back now.
func held(b *board) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	ok, _ := b.breaker.allows(time.Now())
	return !ok
}

func fail(b *board, flights ...flight) {
	for _, f := range flights {
		b.answered(f, refused)
		b.settled(f, refused)
	}
	swept(b)
}

func TestSimultaneousFailuresDoNotLengthenTheFirstPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := fullBoard(50)
		fail(b, fly(t, b, 10)...)
		if !held(b) {
			t.Fatal("ten failures did not open the breaker")
		}
		if time.Sleep(4900 * time.Millisecond); !held(b) {
			t.Error("the first probe does not wait for 5 s")
		}
		if time.Sleep(700 * time.Millisecond); held(b) {
			t.Error("the first probe waits for longer than 5.5 s")
		}
	})
}

func TestLateAnswersLetNoSecondProbeOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := fullBoard(50)
		flights := fly(t, b, 10)
		fail(b, flights[:5]...)
		time.Sleep(6 * time.Second)
		probe := fly(t, b, 1)
		fail(b, flights[5:8]...)
		b.skipped(flights[8], false)
		time.Sleep(14 * time.Second)
		if !held(b) {
			t.Error("a second probe may go out while the first is on its way")
		}
		fail(b, probe...)
		if held(b) {
			t.Error("the second probe waits although the first took longer than the pace")
		}
		fail(b, fly(t, b, 1)...)
		if time.Sleep(4900 * time.Millisecond); !held(b) {
			t.Error("the third probe does not wait for 5 s")
		}
	})
}

func TestProbeOfEarlierOutageDoesNotCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := fullBoard(50)
		flights := fly(t, b, 10)
		fail(b, flights[:5]...)
		time.Sleep(6 * time.Second)
		old := fly(t, b, 1)[0]
		b.answered(flights[5], accepted) // closes it while the probe is on its way
		b.settled(flights[5], accepted)
		fail(b, fly(t, b, 5)...)
		time.Sleep(6 * time.Second)
		fly(t, b, 1) // the new outage's probe
		fail(b, old)
		if time.Sleep(time.Hour); !held(b) {
			t.Error("the old probe's answer let a second one out")
		}
	})
}

func TestFailedProbeCountsAfterTheBreakerClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := fullBoard(50)
		flights := fly(t, b, 10)
		fail(b, flights[:5]...)
		time.Sleep(6 * time.Second)
		probe := fly(t, b, 1)
		b.answered(flights[5], accepted)
		fail(b, probe...)
		fail(b, fly(t, b, 4)...)
		if !held(b) {
			t.Error("five failures in a row did not open the breaker")
		}
	})
}

func TestAcceptableAnswerClosesTheBreaker(t *testing.T) {
	for name, o := range map[string]Outcome{"accepted": accepted, "disliked": disliked} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := fullBoard(50)
				fail(b, fly(t, b, 5)...)
				time.Sleep(6 * time.Second)
				probe := fly(t, b, 1)[0]
				if _, closed := b.answered(probe, o); !closed || held(b) {
					t.Error("it stays open")
				}
			})
		})
	}
}

func TestTheProbeWaitsForRetryAfter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := fullBoard(50)
		for _, f := range fly(t, b, 5) {
			b.answered(f, Outcome{Status: 503, RetryAfter: 10 * time.Minute})
		}
		swept(b)
		if time.Sleep(10*time.Minute - time.Millisecond); !held(b) {
			t.Error("a probe goes out before the time that the receiver asked for")
		}
		if time.Sleep(time.Millisecond); held(b) {
			t.Error("no probe at the time that the receiver asked for")
		}
	})
}
