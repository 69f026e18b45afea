package whatsapp

import (
	"errors"
	"sync"
	"time"

	"go.mau.fi/whatsmeow"
	waBinary "go.mau.fi/whatsmeow/binary"
	wastore "go.mau.fi/whatsmeow/store"
	"go.mau.fi/whatsmeow/types"
	waLog "go.mau.fi/whatsmeow/util/log"

	"postern/whatsapp/translate"
)

// A connection can become silent without breaking: WhatsApp answers pings and takes
// sends, but delivers nothing any more. Only a new login helps. An account without
// contacts looks the same, so the session looks at the past: a connection that received
// something regularly and then nothing at all is dropped once, and watched again when
// something arrives.

// lively is how many stanzas the period before a silence must have had for the silence
// to be suspicious.
const lively = 10

var errQuiet = errors.New("WhatsApp answered pings and delivered nothing for longer than before")

// silence watches the stanzas that WhatsApp sends without a request. The zero value
// watches nothing until connected is called.
type silence struct {
	mu     sync.Mutex
	recent [lively]time.Time // times of the last stanzas, as a ring
	next   int               // index of the oldest
	since  time.Time         // time of the last stanza or login
	armed  bool              // the timer runs
	spent  bool              // the session reconnected, and nothing has come since
	timer  *time.Timer       // of this connection; nil for none
}

// connected watches a new connection and calls look after each period.
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

// ended stops watching.
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

// came records a stanza.
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

// suspicious reports, after the timer fired, whether the session should reconnect. If
// not, it sets the timer for the next look, or leaves that to the next stanza.
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

// later sets the timer for another look.
func (q *silence) later(d time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.timer != nil {
		q.armed = true
		q.timer.Reset(d)
	}
}

// watchSilence starts to watch a connection that has logged in.
func (s *Session) watchSilence(cli *whatsmeow.Client) {
	s.silence.connected(s.conn.cfg.QuietReconnect, func() { s.lookForSilence(cli) })
}

// lookForSilence drops the connection if it is silent. The timer calls it.
func (s *Session) lookForSilence(cli *whatsmeow.Client) {
	s.gate.RLock()
	defer s.gate.RUnlock()
	if s.closed || s.conn.client() != cli || !s.Online() {
		return
	}
	if s.pingLost.Load() {
		s.silence.later(whatsmeow.KeepAliveMaxFailTime) // by then a connection without pongs is given up
		return
	}
	if !s.silence.suspicious(s.conn.cfg.QuietReconnect) {
		return
	}
	s.conn.seen.quiet.Add(1)
	s.conn.log.Warn("WhatsApp answers pings but delivers nothing; connecting again", "quiet_for", s.conn.cfg.QuietReconnect)
	s.abandon(errQuiet)
}

// received handles every stanza that a client receives, before the library does: only
// its log shows them. lids belongs to the client's device.
func (s *Session) received(lids wastore.LIDStore, n *waBinary.Node) {
	switch n.Tag {
	case "message", "receipt", "notification", "call", "presence", "chatstate": // others are answers, or part of a login
		s.silence.came(s.conn.cfg.QuietReconnect)
		s.flood.wait()
	}
	switch n.Tag {
	case "receipt", "notification", "call", "presence", "chatstate": // the library itself learns from messages
		s.learnPairs(lids, n)
	}
	translate.KeepApproval(n)
}

// noPlace handles the library's message that its queue has no room for a stanza.
func (s *Session) noPlace() {
	if s.flood.noPlace() {
		s.conn.seen.floods.Add(1)
		if !s.flood.mayLog() {
			return
		}
		s.conn.log.Warn("WhatsApp sends faster than its stanzas can be handled; reading more slowly")
	}
}

// clientLog is the log of a client. The session learns from it what the library reports
// nowhere else: the stanzas that it receives and sends, and that its queue is full.
type clientLog struct {
	libraryLog

	received func(*waBinary.Node)
	leaves   func(*waBinary.Node)
	noPlace  func()
	missed   func(chat string) // devices of a chat may have missed a message
}

// staleDevices is what the library logs about a message whose recipients have other devices than it knew.
// It repeats nothing.
const staleDevices = "Server returned different participant list hash (%s != %s) when sending to %s. Some devices may not have received the message."

// Chats by the kinds that Stats counts.
const (
	chatPerson = "person"
	chatGroup  = "group"
	chatStatus = "status"
)

// kindOfChat returns which of them a chat is.
func kindOfChat(to types.JID) string {
	switch to.Server {
	case types.GroupServer:
		return chatGroup
	case types.BroadcastServer:
		return chatStatus
	}
	return chatPerson
}

// Warnf implements [waLog.Logger].
func (l clientLog) Warnf(format string, args ...any) {
	switch format {
	case queueIsFull:
		l.noPlace()
		return
	case staleDevices:
		if to, ok := args[len(args)-1].(types.JID); ok {
			l.missed(kindOfChat(to))
		}
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

// stanzaLog is the log of received or of sent stanzas.
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
