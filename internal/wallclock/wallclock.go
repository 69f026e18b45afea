// Package wallclock knows what the clocks of a zone show, where a change to and
// from daylight saving skips some of it and shows some of it twice. One rule
// holds everywhere: a time on the wall is the first instant at which the clock
// shows it, or a later one.
package wallclock

import "time"

// Reading returns what the clock of t's zone shows at t, as if it were UTC: there
// a day always has 24 hours.
func Reading(t time.Time) time.Time {
	_, offset := t.Zone()
	return t.UTC().Add(time.Duration(offset) * time.Second)
}

// Shows returns the first instant at which the clock of zone shows wall, a
// Reading, or later: where wall is skipped that is when the clock jumps. time.Date
// will not do: for a wall time that is skipped or repeated it picks either side,
// by where on Earth the zone lies.
func Shows(wall time.Time, zone *time.Location) time.Time {
	const farthest = 26 * time.Hour // no clock is more ahead of UTC
	t := wall.Add(-farthest).In(zone)
	for {
		_, offset := t.Zone()
		_, changes := t.ZoneBounds()
		at := wall.Add(-time.Duration(offset) * time.Second).In(zone)
		if changes.IsZero() || at.Before(changes) {
			if at.Before(t) {
				return t // the clock jumped over wall
			}
			return at
		}
		t = changes
	}
}
