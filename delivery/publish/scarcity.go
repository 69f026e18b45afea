package publish

import (
	"log/slog"
	"sync"
	"time"

	"postern/event"
)

// scarcityEvery is the time between two warnings.
const scarcityEvery = time.Minute

// scarcity logs events that should be durable but are delivered from memory because the
// disk is nearly full: at once, then their number once a minute.
type scarcity struct {
	mu    sync.Mutex
	at    time.Time // of the last warning
	since int
}

func (s *scarcity) tell(log *slog.Logger, id int64, kind event.Kind) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.since++
	now := time.Now()
	if !s.at.IsZero() && now.Sub(s.at) < scarcityEvery {
		return
	}
	log.Warn("durable events are delivered from memory, once: the disk is nearly full; free some space", "instance_id", id, "event", string(kind), "count", s.since)
	s.at, s.since = now, 0
}
