package store

import (
	"time"

	bolt "go.etcd.io/bbolt"

	"postern/store/schema"
)

// clockRecord returns how the clock reads its records in the file.
func clockRecord(tx *bolt.Tx) func(key []byte) []byte {
	meta := tx.Bucket([]byte(schema.Meta.Name))
	return func(key []byte) []byte {
		if value, whole := schema.Verify(key, meta.Get(key)); whole {
			return value
		}
		return nil
	}
}

// TrustsClock reports whether the time of day may decide what is removed. It returns
// false for a day after the clock jumped ahead by more than 48 hours, in this run or
// since the last one, unless the clock is corrected before.
func (s *Store) TrustsClock() bool { return s.clock.Trusted(s.opts.Now(), s.running()) }

// Now returns the current time as transactions see it, see [Tx.Now], but with the
// monotonic reading of the clock where that is right.
func (s *Store) Now() time.Time {
	now := s.opts.Now()
	return s.clock.DateOfView(now, now.Sub(s.opened))
}

// Steady returns the time by which lives of limited length are counted: see [Tx.Steady].
func (s *Store) Steady() time.Time { return s.clock.SteadyAt(s.running()).Truncate(time.Millisecond) }

// ClockWentBack reports whether the clock shows a time more than a minute before one that
// it showed earlier, in this run or a previous one. The caller must then not wait for a
// time that was set before.
func (s *Store) ClockWentBack() bool {
	now := s.opts.Now()
	return s.clock.WentBack(now, now.Sub(s.opened))
}

// running returns how long the file has been open.
func (s *Store) running() time.Duration { return s.opts.Now().Sub(s.opened) }
