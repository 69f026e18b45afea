// Package loglines keeps the last lines of the log in memory, for a person who has to find
// out what went wrong and has no other place to read it.
package loglines

import (
	"bytes"
	"sync"
)

// Kept is how many lines a program keeps.
const Kept = 2000

// MaxLine is how much of a line is kept, in bytes.
const MaxLine = 2 << 10

// Ring is an io.Writer that keeps the last lines. It is safe for concurrent use.
type Ring struct {
	mu    sync.Mutex
	lines [][]byte // without line breaks; the oldest is at next once it is full
	next  int
	most  int
}

// New returns a ring of so many lines, one at least.
func New(most int) *Ring { return &Ring{most: max(most, 1)} }

// Write keeps one line, as handlers of slog write it, or several. It never fails.
func (r *Ring) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for line := range bytes.Lines(p) {
		line = bytes.TrimSuffix(line, []byte("\n"))
		if len(line) > MaxLine {
			line = append(bytes.Clone(line[:MaxLine]), "…"...)
		}
		if len(r.lines) < r.most {
			r.lines = append(r.lines, bytes.Clone(line))
			continue
		}
		r.lines[r.next] = append(r.lines[r.next][:0], line...)
		r.next = (r.next + 1) % r.most
	}
	return len(p), nil
}

// Text returns the lines that are kept, the oldest first, each with a line break.
func (r *Ring) Text() []byte {
	r.mu.Lock()
	defer r.mu.Unlock()
	var all bytes.Buffer
	for i := range r.lines {
		all.Write(bytes.ToValidUTF8(r.lines[(r.next+i)%len(r.lines)], []byte("\uFFFD")))
		all.WriteByte('\n')
	}
	return all.Bytes()
}
