package loglines

import (
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"testing"
)

func TestTheLastLinesAreKeptInOrder(t *testing.T) {
	r := New(3)
	if got := r.Text(); len(got) > 0 {
		t.Errorf("%q", got)
	}
	for i, want := range []string{"0\n", "0\n1\n", "0\n1\n2\n", "1\n2\n3\n", "2\n3\n4\n", "3\n4\n5\n", "4\n5\n6\n"} {
		if n, err := fmt.Fprintln(r, i); err != nil || n != 2 {
			t.Errorf("%d %v", n, err)
		}
		if got := string(r.Text()); got != want {
			t.Errorf("after %d: %q, want %q", i, got, want)
		}
	}
	_, _ = io.WriteString(r, "a\nb\n")
	if got := string(r.Text()); got != "6\na\nb\n" {
		t.Errorf("two at once: %q", got)
	}
}

func TestALineThatIsLongIsCut(t *testing.T) {
	r := New(2)
	for range 3 {
		_, _ = io.WriteString(r, strings.Repeat("ä", MaxLine)+"\n")
	}
	if got := len(r.Text()); got > 2*(MaxLine+10) {
		t.Errorf("%d bytes are kept", got)
	}
}

func TestManyWriteAtTheSameTime(t *testing.T) {
	r := New(100)
	log := slog.New(slog.NewTextHandler(r, nil))
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for i := range 100 {
				log.Info("line", "i", i)
				r.Text()
			}
		})
	}
	wg.Wait()
	lines := strings.Split(strings.TrimSpace(string(r.Text())), "\n")
	if len(lines) != 100 {
		t.Errorf("%d lines", len(lines))
	}
	for _, line := range lines {
		if !strings.HasPrefix(line, "time=") || strings.Count(line, "msg=line i=") != 1 {
			t.Errorf("%q", line)
		}
	}
}
