// Package prune decides when to look for what is past its life.
//
// Whatever is kept for a time is removed at most a twentieth of that time late,
// or a quarter of a minute when that is longer. In between nothing is looked
// at: the next look is when the life of the oldest thing ends, and where there
// is nothing, a whole life later, for nothing that comes can end sooner.
package prune

import (
	"context"
	"time"
)

// Bounds of how late something may be removed.
const (
	minGrace  = 15 * time.Second
	mostGrace = time.Hour
)

// Grace returns how long after the end of its life something may still be there:
// a twentieth of the life, 15 seconds to an hour. It is the shortest time
// between two looks.
func Grace(life time.Duration) time.Duration {
	return min(max(life/20, minGrace), mostGrace)
}

// Func removes what was made before a time and returns when the oldest thing
// that is left was made, or a time before that; zero when nothing is left.
type Func func(before time.Time) (oldest time.Time, err error)

// Clock reports whether the time of day may decide what is removed. A store is one.
type Clock interface{ TrustsClock() bool }

// Loop calls look at once, and then whenever something with the given life can
// be past it, until ctx ends. An error is handed to failed, unless ctx has
// ended; the next look then comes after Grace. While clock is not trusted,
// nothing is looked for.
func Loop(ctx context.Context, clock Clock, life time.Duration, look Func, failed func(error)) {
	for ctx.Err() == nil {
		if !clock.TrustsClock() {
			wait(ctx, time.Now().Add(step))
			continue
		}
		began := time.Now()
		oldest, err := look(began.Add(-life))
		if err != nil && ctx.Err() == nil {
			failed(err)
		}
		wait(ctx, next(time.Now(), oldest, life, err))
	}
}

// next returns when to look again. A thing that is younger than now was made under
// another clock.
func next(now, oldest time.Time, life time.Duration, err error) time.Time {
	soonest, latest := now.Add(Grace(life)), now.Add(life)
	due := latest
	switch {
	case err != nil:
		due = soonest
	case !oldest.IsZero():
		due = oldest.Add(life)
	}
	if due.After(latest) {
		due = latest
	}
	if due.Before(soonest) {
		due = soonest
	}
	return due
}

// step is how long wait sleeps at most before it reads the clock again: a timer
// counts the time that the machine was awake, a life the time on the wall.
const step = time.Minute

// wait returns at a time, when the clock was set back, or when ctx ends.
func wait(ctx context.Context, until time.Time) {
	began, until := time.Now().Round(0), until.Round(0) // without the monotonic reading
	for now := began; !over(began, until, now); now = time.Now().Round(0) {
		timer := time.NewTimer(min(until.Sub(now), step))
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return
		}
	}
}

// over reports whether a wait from one time to another has ended at now. A clock that is before its
// beginning was set back: the end may be years away by it.
func over(began, until, now time.Time) bool {
	return !now.Before(until) || now.Before(began.Add(-step))
}
