package batch

import "time"

// restores ends the program at once and starts it on a copy of the file of that moment,
// some time later.
func (j *journal) restores(later time.Duration) {
	j.Helper()
	j.read()
	j.crash()
	time.Sleep(later)
	j.asRestored()
	j.boot()
	time.Sleep(24 * time.Hour) // it never continues by itself
	j.read()
}

// asRestored makes the next start find a restored file.
func (j *journal) asRestored() {
	before := j.adapt
	j.adapt = func(c *Config) {
		before(c)
		c.Restored = true
	}
}

// With autoResume, which all of these have, only a call lets a batch continue.
func restoreTests() []rowTest {
	return []rowTest{
		{"under way in a backup", "QUEUED created | *INTERRUPTED interrupted", todo, "", true, func(j *journal) {
			j.two()
			j.restores(0)
		}},
		{"under way in a backup", sending + " | *INTERRUPTED item.unknown interrupted", doubt, inDoubt, false, func(j *journal) {
			j.two()
			j.restores(0)
		}},
		{"under way in a backup", rested + " | *INTERRUPTED interrupted", half, sentOne, false, func(j *journal) {
			j.rests()
			j.restores(0)
		}},
		{"under way in a backup", parked + " | *INTERRUPTED interrupted", todo, "", false, func(j *journal) {
			j.parks()
			j.restores(0)
		}},
		{"between windows in a backup, one of which has opened since", before + " | *INTERRUPTED interrupted", todo, "", false, func(j *journal) {
			j.daily(request(2), time.Hour, 2*time.Hour)
			j.restores(90 * time.Minute)
		}},
		{"between windows in a backup, one of which has opened since", between + " | *INTERRUPTED interrupted", half, sentOne, false, func(j *journal) {
			j.shuts()
			j.restores(48 * time.Hour)
		}},
		{"interrupted in a backup", off + " | *INTERRUPTED", todo, "", true, func(j *journal) {
			j.two()
			j.asRestored()
			j.restart(0)
		}},
		{"pausing in a backup", sending + " | PAUSE_REQUESTED pause-requested | *PAUSED item.unknown paused", doubt, inDoubt, false, func(j *journal) {
			j.pauses()
			j.restores(0)
		}},
		{"stopping in a backup", sending + " | STOP_REQUESTED stop-requested | *STOPPED item.unknown stopped", doubt, inDoubt, false, func(j *journal) {
			j.halts()
			j.restores(0)
		}},
	}
}
