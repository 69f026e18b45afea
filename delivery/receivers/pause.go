package receivers

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"postern/delivery"
	"postern/event"
	"postern/store"
	"postern/store/schema"
)

const pauses = "receiver_pause"

// Bounds of a pause.
const (
	LeastPause = time.Minute
	MostPause  = 7 * 24 * time.Hour
)

// Buckets returns the bucket of this package.
func Buckets() []schema.Bucket {
	return []schema.Bucket{
		{Name: pauses, Owner: "delivery/receivers", Key: "instance id, 0: the global webhook + id of the receiver", Value: "end of its pause, Unix milliseconds", Needs: schema.References(decodePause, "a receiver is not paused any more"), Of: ownerOfPause},
	}
}

func decodePause(_, raw []byte) (end time.Time, err error) {
	if len(raw) != 8 {
		return end, errors.New("no time")
	}
	return time.UnixMilli(int64(binary.BigEndian.Uint64(raw))), nil //nolint:gosec // as it was written
}

// ownerOfPause is [schema.Bucket.Of]; the global webhook belongs to no instance.
func ownerOfPause(look *schema.Lookup, key, value []byte) []byte {
	if len(key) < 8 || binary.BigEndian.Uint64(key) == 0 {
		return nil
	}
	return schema.FirstID(look, key, value)
}

func pauseKey(id ID) []byte { return store.Key(id.Instance(), string(id)) }

// Forget removes the pauses of an instance, in the commit that deletes it.
func Forget(tx *store.Tx, instance int64) error {
	_, err := tx.DeletePrefix(pauses, store.Key(instance))
	return err
}

// Resolver returns the destination of a lane and its status.
type Resolver = func(delivery.Lane) (event.Destination, delivery.Status)

// Pauses has the receivers that are paused. It is safe for concurrent use.
type Pauses struct {
	store   *store.Store
	log     *slog.Logger
	changed func([]delivery.Lane)

	mu    sync.RWMutex
	until map[ID]time.Time
	timer *time.Timer
	ended bool
}

// OpenPauses returns the pauses of a data file. changed is called with the lanes of a receiver after a pause of it
// began or ended.
func OpenPauses(s *store.Store, changed func([]delivery.Lane), log *slog.Logger) (*Pauses, error) {
	p := &Pauses{store: s, log: log.With("component", "receivers"), changed: changed, until: map[ID]time.Time{}}
	err := s.View(func(tx *store.Tx) error {
		return tx.Scan(pauses, store.Range{}, func(k, v []byte) (bool, error) {
			if end, err := decodePause(k, v); err == nil && len(k) > 8 {
				p.until[ID(k[8:])] = end
			}
			return true, nil
		})
	})
	if err != nil {
		return nil, fmt.Errorf("paused receivers: %w", err)
	}
	return p, nil
}

// Start ends pauses at their time from now on.
func (p *Pauses) Start() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.timer = time.AfterFunc(0, p.wake)
}

// Stop ends the timer of the pauses.
func (p *Pauses) Stop(context.Context) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ended = true
	if p.timer != nil {
		p.timer.Stop()
	}
	return nil
}

// lookAgain is how late a pause ends at most after the clock was set.
const lookAgain = time.Minute

// wake ends the pauses whose time has come.
func (p *Pauses) wake() {
	now := p.store.Now()
	var over []ID
	p.mu.RLock()
	next, ended := lookAgain, p.ended
	for id, end := range p.until {
		left := end.Sub(now)
		switch {
		case left <= 0 || left > MostPause+time.Hour: // the clock was set back since
			over = append(over, id)
		default:
			next = min(next, left)
		}
	}
	some := len(p.until) > 0
	p.mu.RUnlock()
	if ended {
		return
	}
	for _, id := range over {
		if err := p.Resume(context.Background(), id); err != nil {
			p.log.Warn("the pause of a receiver did not end, trying again", "receiver", string(id), "error", err)
			next = min(next, time.Second)
		}
	}
	if some {
		p.mu.Lock()
		defer p.mu.Unlock()
		if !p.ended {
			p.timer.Reset(next)
		}
	}
}

// Until returns the end of a receiver's pause, zero if it is not paused.
func (p *Pauses) Until(id ID) time.Time {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return p.until[id]
}

// Resolve returns next with paused destinations as delivery.Paused.
func (p *Pauses) Resolve(next Resolver) Resolver {
	return func(lane delivery.Lane) (event.Destination, delivery.Status) {
		to, status := next(lane)
		if status == delivery.Ready && !p.Until(Of(lane)).IsZero() {
			status = delivery.Paused
		}
		return to, status
	}
}

// Pause holds what is durable of a receiver for a time; a second pause sets a new end.
func (p *Pauses) Pause(ctx context.Context, id ID, d time.Duration) (end time.Time, err error) {
	err = p.store.Update(ctx, func(tx *store.Tx) error {
		end = time.UnixMilli(tx.Now().Add(d).UnixMilli()).UTC()
		return tx.Put(pauses, pauseKey(id), store.Key(end.UnixMilli()))
	})
	if err != nil {
		return end, fmt.Errorf("pause receiver %s: %w", id, err)
	}
	p.mu.Lock()
	p.until[id] = end
	if !p.ended && p.timer != nil {
		p.timer.Reset(min(d, lookAgain))
	}
	p.mu.Unlock()
	p.changed(id.lanes())
	return end, nil
}

// Resume ends the pause of a receiver, if there is one.
func (p *Pauses) Resume(ctx context.Context, id ID) error {
	if p.Until(id).IsZero() {
		return nil
	}
	if err := p.store.Update(ctx, func(tx *store.Tx) error { return tx.Delete(pauses, pauseKey(id)) }); err != nil {
		return fmt.Errorf("resume receiver %s: %w", id, err)
	}
	p.mu.Lock()
	delete(p.until, id)
	p.mu.Unlock()
	p.changed(id.lanes())
	return nil
}

// Check ends the pauses of destinations that were removed.
func (p *Pauses) Check(resolve Resolver, lanes []delivery.Lane) {
	for _, lane := range lanes {
		id := Of(lane)
		if p.Until(id).IsZero() {
			continue
		}
		if _, status := resolve(lane); status != delivery.Gone && status != delivery.Absent {
			continue
		}
		if err := p.Resume(context.Background(), id); err != nil {
			p.log.Warn("the pause of a removed receiver did not end", "receiver", string(id), "error", err)
		}
	}
}
