package httpapi

import "postern/store"

// HeldKeys returns how many Idempotency-Keys s keeps. It reads through all.
func HeldKeys(s *store.Store) (int, error) { return s.Rows(bucketKeyTime) }
