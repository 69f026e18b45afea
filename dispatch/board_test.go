package dispatch

import (
	"slices"
	"testing"

	"github.com/google/uuid"
)

// sendAll takes and settles entries until the board is empty.
func sendAll(t *testing.T, b *board) (seqs []uint64) {
	t.Helper()
	for len(b.ready) > 0 {
		f := fly(t, b, 1)[0]
		seqs = append(seqs, f.seq)
		b.answered(f, accepted)
		b.settled(f, accepted)
	}
	return seqs
}

func TestDueEarlierEntryPrecedesLaterOnes(t *testing.T) {
	b, batch := bareBoard(), uuid.New()
	for _, seq := range []uint64{4, 5, 6, 2, 3, 1} { // 1 to 3 were tried before
		b.offer(batch, seq, false)
	}
	if got := sendAll(t, b); !slices.IsSorted(got) || len(got) != 6 {
		t.Errorf("sent in the order %v", got)
	}
}

func TestLineStopsAtASkippedEntry(t *testing.T) {
	b, batch := bareBoard(), uuid.New()
	for seq := range uint64(lineSize + 10) {
		if !b.offer(batch, seq+1, false) {
			t.Fatal("the board is full")
		}
	}
	fly(t, b, 1) // there is a place again
	b.offer(batch, lineSize+11, false)
	l := b.lines[batch]
	if len(l.waiting) != lineSize-1 || !l.more || l.last != lineSize {
		t.Errorf("%d wait, more %v, the last is %d", len(l.waiting), l.more, l.last)
	}
}

func TestDamagedEntriesAreSkippedForGood(t *testing.T) {
	b, batch := bareBoard(), uuid.New()
	b.offer(batch, 1, false)
	room := b.room()
	b.skipped(fly(t, b, 1)[0], true)
	if b.room() != room+1 {
		t.Errorf("room for %d, before for %d", b.room(), room)
	}
	b.offer(batch, 1, false)
	b.fill(batch, []uint64{1}, 1, false, false)
	if len(b.ready) != 0 || len(b.lines) != 0 {
		t.Error("a damaged entry was offered again")
	}
}

func TestAFullBoardTakesNothing(t *testing.T) {
	b := fullBoard(boardSize)
	if b.offer(uuid.New(), boardSize+1, false) || b.room() != 0 {
		t.Error("it took one more")
	}
	fs := fly(t, b, 1)
	b.answered(fs[0], accepted)
	b.settled(fs[0], accepted)
	if !b.offer(uuid.New(), boardSize+1, false) {
		t.Error("it has a place and took nothing")
	}
}
