//go:build !linux

package store

// trimResident does nothing: on other systems the advice may drop data that is not yet
// written.
func (s *Store) trimResident(_, _ int64) {}
