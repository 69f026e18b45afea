package whatsapp

import (
	"errors"
	"sync"
	"time"

	"go.mau.fi/whatsmeow"
	waBinary "go.mau.fi/whatsmeow/binary"
	wastore "go.mau.fi/whatsmeow/store"
	waLog "go.mau.fi/whatsmeow/util/log"
)

// A connection can fall silent without breaking: WhatsApp answers its pings and
// takes what is sent, and delivers nothing any more. Only a new login helps.
// Nobody can tell that from an account that nobody writes to, but by what was
// before: one that got something all day and then nothing at all is connected
// anew, once, and watched again when something comes.

// lively is how many stanzas the period before a silence must have had for the
// silence to be suspicious.
const lively = 10

var errQuiet = errors.New("WhatsApp answered pings and delivered nothing for longer than before")

// silence watches what WhatsApp sends to a session of its own accord. The zero
// value watches nothing before connected is called.
type silence struct {
	mu     sync.Mutex
	recent [lively]time.Time // of the last stanzas, as a ring
	next   int               // where the next one goes: the oldest
	since  time.Time         // of the last stanza or login, whichever was later
	armed  bool              // the timer runs
	spent  bool              // the session was connected anew, and nothing came since
	timer  *time.Timer       // of this connection; nil for none
}

// connected watches a new connection for a period, when look is called.
func (q *silence) connected(period time.Duration, look func()) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.stop()
	q.since = time.Now()
	if period <= 0 {
		return
	}
	q.timer = time.AfterFunc(period, look)
	if q.armed = !q.spent; !q.armed {
		q.timer.Stop()
	}
}

// ended watches no longer.
func (q *silence) ended() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.stop()
}

// stop is ended with q.mu held.
func (q *silence) stop() {
	if q.timer != nil {
		q.timer.Stop()
	}
	q.timer, q.armed = nil, false
}

// came notes a stanza.
func (q *silence) came(period time.Duration) {
	now := time.Now()
	q.mu.Lock()
	defer q.mu.Unlock()
	q.recent[q.next] = now
	q.next = (q.next + 1) % lively
	q.since, q.spent = now, false
	if q.timer != nil && !q.armed {
		q.armed = true
		q.timer.Reset(period)
	}
}

// suspicious tells, when the timer has run out, whether the session is to be
// connected anew. If not, it sets the timer for the next look, or leaves it to
// the next stanza.
func (q *silence) suspicious(period time.Duration) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.timer == nil || !q.armed {
		return false
	}
	if left := period - time.Since(q.since); left > 0 {
		q.timer.Reset(left)
		return false
	}
	q.armed = false
	oldest := q.recent[q.next]
	q.spent = !oldest.IsZero() && q.since.Sub(oldest) <= period
	return q.spent
}

// later looks again after a while.
func (q *silence) later(d time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.timer != nil {
		q.armed = true
		q.timer.Reset(d)
	}
}

// watchSilence begins to watch a connection that has logged in.
func (s *Session) watchSilence(cli *whatsmeow.Client) {
	s.silence.connected(s.conn.cfg.QuietReconnect, func() { s.lookForSilence(cli) })
}

// lookForSilence is called when the timer has run out.
func (s *Session) lookForSilence(cli *whatsmeow.Client) {
	s.gate.RLock()
	defer s.gate.RUnlock()
	if s.closed || s.conn.client() != cli || !s.Online() {
		return
	}
	if s.pingLost.Load() {
		s.silence.later(whatsmeow.KeepAliveMaxFailTime) // who answers no pings is given up by then
		return
	}
	if !s.silence.suspicious(s.conn.cfg.QuietReconnect) {
		return
	}
	s.conn.seen.fellQuiet()
	s.conn.log.Warn("WhatsApp answers pings and delivers nothing; connecting anew", "quiet_for", s.conn.cfg.QuietReconnect)
	s.abandon(errQuiet)
}

// received takes every stanza that a client receives. The library tells of them
// in its log only, before it does anything with them. lids are those of the client's
// device.
func (s *Session) received(lids wastore.LIDStore, n *waBinary.Node) {
	switch n.Tag {
	case "message", "receipt", "notification", "call", "presence", "chatstate": // else an answer, or part of a login
		s.silence.came(s.conn.cfg.QuietReconnect)
		s.flood.wait()
	}
	switch n.Tag {
	case "receipt", "notification", "call", "presence", "chatstate": // of messages the library learns itself
		s.learnPairs(lids, n)
	}
	keepApproval(n)
}

// noPlace takes that a stanza has to wait for a place among those that wait.
func (s *Session) noPlace() {
	if s.flood.noPlace() {
		s.conn.seen.flooded()
		if !s.flood.tells() {
			return
		}
		s.conn.log.Warn("WhatsApp sends faster than its stanzas can be handled; reading more slowly")
	}
}

// clientLog is the log of a client, from which the session learns what the library
// tells nobody else: from its part for received stanzas that one came, from that for
// sent ones that one leaves, from the rest that one found no place.
type clientLog struct {
	libraryLog

	received func(*waBinary.Node)
	leaves   func(*waBinary.Node)
	noPlace  func()
}

// Warnf implements [waLog.Logger].
func (l clientLog) Warnf(format string, args ...any) {
	if format == queueIsFull {
		l.noPlace()
		return
	}
	l.libraryLog.Warnf(format, args...)
}

// Sub implements [waLog.Logger].
func (l clientLog) Sub(module string) waLog.Logger {
	switch module {
	case "Recv":
		return stanzaLog{libraryLog{l.log, module}, l.received}
	case "Send":
		return stanzaLog{libraryLog{l.log, module}, l.leaves}
	}
	return l.libraryLog.Sub(module)
}

// stanzaLog is one of those parts.
type stanzaLog struct {
	libraryLog

	stanza func(*waBinary.Node)
}

// Debugf implements [waLog.Logger].
func (l stanzaLog) Debugf(format string, args ...any) {
	for _, arg := range args {
		if n, ok := arg.(*waBinary.Node); ok {
			l.stanza(n)
		}
	}
	l.libraryLog.Debugf(format)
}
