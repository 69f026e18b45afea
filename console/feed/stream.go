package feed

import (
	"bytes"
	"encoding/json"
	"iter"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"
)

// key identifies a changed row.
type key struct {
	kind     kind
	instance int64
	batch    uuid.UUID
}

type kind byte

const (
	anInstance kind = iota
	noInstance
	aBatch
	noBatch
)

// deleted holds the name of a deleted row; it is empty for a changed one.
type deleted struct{ name string }

// Stream holds the pending messages of one client. Only one goroutine may call Next.
type Stream struct {
	feed   *Feed
	viewer Viewer
	wake   func()

	ready [][]byte // encoded messages; used only by Next

	mu      sync.Mutex
	closed  bool
	behind  bool
	waiting map[key]deleted
	order   []key               // order of waiting
	crowd   map[uint64]struct{} // changed deliveries
	counted int                 // number of changed deliveries, above MostDeliveries
	armed   bool                // pause is running
	room    int                 // rows left before the next pause
	open    bool                // deliveries may be sent before the next pause
	figures bool                // figures are due
	trouble bool                // the troubles are due
	pause   *time.Timer
	tick    *time.Timer
}

// begin queues the hello message and starts the timers.
func (s *Stream) begin() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ready = append(s.ready, s.message(message{Type: "hello", At: now()}))
	s.figures, s.trouble = s.viewer.Figures, s.viewer.Troubles != nil
	s.pause = time.AfterFunc(time.Hour, s.opened)
	s.pause.Stop()
	if s.viewer.Figures {
		s.tick = time.AfterFunc(FiguresEvery, s.ticked)
	}
}

// Close removes the stream from the feed and drops its pending messages.
func (s *Stream) Close() {
	s.feed.leave(s)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed, s.waiting, s.order, s.crowd = true, nil, nil, nil
	s.pause.Stop()
	if s.tick != nil {
		s.tick.Stop()
	}
}

// note marks a row as changed.
func (s *Stream) note(k key, d deleted) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, waits := s.waiting[k]; waits || s.closed || s.behind {
		return
	}
	if len(s.waiting) >= MostWaiting {
		s.behind, s.waiting, s.order = true, nil, nil
		s.wake()
		return
	}
	s.waiting[k] = d
	s.order = append(s.order, k)
	s.arm()
}

func (s *Stream) noteDeliveries(all iter.Seq[Delivery]) {
	if s.viewer.Delivery == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return
	}
	for d := range all {
		switch {
		case !s.viewer.Delivery(d):
		case s.counted > 0:
			s.counted++
		default:
			s.crowd[d.ID] = struct{}{}
			if n := len(s.crowd); n > MostDeliveries {
				s.counted = n
				clear(s.crowd)
			}
		}
	}
	if s.counted > 0 || len(s.crowd) > 0 {
		s.arm()
	}
}

// arm starts the pause, unless it is running or rows may still be sent.
func (s *Stream) arm() {
	if !s.armed && s.room == 0 && !s.open {
		s.armed = true
		s.pause.Reset(Pause)
	}
}

// opened ends the pause.
func (s *Stream) opened() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.armed, s.room, s.open = false, AtOnce, true
		s.wake()
	}
}

func (s *Stream) noteTroubles() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.viewer.Troubles != nil && !s.closed && !s.behind {
		s.trouble = true
		s.wake()
	}
}

func (s *Stream) ticked() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.figures = true
		s.tick.Reset(FiguresEvery)
		s.wake()
	}
}

// Next returns the next message, or nil if there is none until wake is called again. The
// only error is ErrBehind.
func (s *Stream) Next() ([]byte, error) {
	for {
		if len(s.ready) > 0 {
			m := s.ready[0]
			s.ready = s.ready[1:]
			return m, nil
		}
		s.ready = nil
		messages, err := s.take()
		if messages == nil {
			return nil, err
		}
		s.ready = messages()
	}
}

// take removes a pending change and returns the function that encodes its messages, or
// nil if nothing may be sent now.
func (s *Stream) take() (func() [][]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.behind:
		return nil, ErrBehind
	case s.figures:
		s.figures = false
		return s.showFigures, nil
	case s.trouble:
		s.trouble = false
		return s.showTroubles, nil
	case s.open && s.counted > 0:
		n := s.counted
		s.open, s.counted = false, 0
		return func() [][]byte { return s.one(message{Type: "deliveries", Changed: n}) }, nil
	case s.open && len(s.crowd) > 0:
		ids := slices.Sorted(maps.Keys(s.crowd))
		s.open = false
		clear(s.crowd)
		return func() [][]byte { return s.showDeliveries(ids) }, nil
	case s.room > 0 && len(s.order) > 0:
		k := s.order[0]
		d := s.waiting[k]
		delete(s.waiting, k)
		s.order = s.order[1:]
		s.room--
		return func() [][]byte { return s.show(k, d) }, nil
	}
	s.room, s.open = 0, false
	if len(s.order) == 0 {
		s.order, s.waiting = nil, map[key]deleted{} // release the memory of a burst
	}
	if len(s.order) > 0 || len(s.crowd) > 0 || s.counted > 0 {
		s.arm()
	}
	return nil, nil
}

// message is the JSON form of every message.
type message struct {
	Type     string     `json:"type"`
	At       string     `json:"at,omitempty"`
	ID       *uuid.UUID `json:"id,omitempty"`
	Name     string     `json:"name,omitempty"`
	Instance any        `json:"instance,omitempty"`
	Batch    any        `json:"batch,omitempty"`
	Delivery any        `json:"delivery,omitempty"`
	Changed  int        `json:"changed,omitempty"`
	Figures  any        `json:"figures,omitempty"`
	Items    any        `json:"items,omitempty"`
}

func now() string { return time.Now().UTC().Format("2006-01-02T15:04:05.000Z") }

// show encodes the message for a row, or none if the row is gone or the viewer may not
// see it.
func (s *Stream) show(k key, d deleted) [][]byte {
	switch k.kind {
	case anInstance:
		name, row, ok := s.feed.cfg.Instance(k.instance, s.viewer.Webhooks)
		if ok && s.viewer.Instance != nil && s.viewer.Instance(name) {
			return s.one(message{Type: "instance", Name: name, Instance: row})
		}
	case noInstance:
		return s.one(message{Type: "instanceDeleted", Name: d.name})
	case aBatch:
		if s.viewer.Batch == nil {
			return nil
		}
		owner, row, ok := s.feed.cfg.Batch(k.batch, s.viewer.Opens)
		if ok && s.viewer.Batch(owner, k.batch) {
			return s.one(message{Type: "batch", Batch: row})
		}
	case noBatch:
		return s.one(message{Type: "batchDeleted", ID: &k.batch})
	}
	return nil
}

func (s *Stream) showDeliveries(ids []uint64) (all [][]byte) {
	for _, row := range s.feed.cfg.Deliveries(ids) {
		all = append(all, s.one(message{Type: "delivery", Delivery: row})...)
	}
	return all
}

func (s *Stream) showTroubles() [][]byte {
	return s.one(message{Type: "troubles", At: now(), Items: s.feed.cfg.Troubles(s.viewer.Troubles)})
}

func (s *Stream) showFigures() [][]byte {
	return s.one(message{Type: "figures", Figures: s.feed.cfg.Figures()})
}

func (s *Stream) one(m message) [][]byte {
	if body := s.message(m); body != nil {
		return [][]byte{body}
	}
	return nil
}

func (s *Stream) message(m message) []byte {
	var body bytes.Buffer
	e := json.NewEncoder(&body)
	e.SetEscapeHTML(false)
	if err := e.Encode(m); err != nil {
		s.feed.log.Error("a row could not be encoded", "type", m.Type, "error", err)
		return nil
	}
	return bytes.TrimSuffix(body.Bytes(), []byte("\n"))
}
