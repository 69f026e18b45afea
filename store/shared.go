package store

import "fmt"

// Shared is what the closures of one commit add to rows that they share, such as numbers
// of what there is. It is written once, behind the last of them, and not with each. Who
// reads such a row in an Update has to look here first.
type Shared interface {
	// Finish writes it. An error fails the whole commit.
	Finish(tx *Tx) error
}

// Shared returns what the commit of tx shares under a key. With a function to make it, it is
// made where there is none; without one, and in a View, that is nil. A closure that fails takes
// back nothing of it, so it must not fail once it has changed something without an own write.
func (tx *Tx) Shared(key any, make func() Shared) Shared {
	for _, s := range tx.openings.shared {
		if s.key == key {
			return s.what
		}
	}
	if make == nil {
		return nil
	}
	what := make()
	tx.openings.shared = append(tx.openings.shared, sharedBy{key, what})
	return what
}

type sharedBy struct {
	key  any
	what Shared
}

// finishShared writes what the closures of a transaction share.
func (o *openings) finishShared(tx *Tx) error {
	for _, s := range o.shared {
		if err := s.what.Finish(tx); err != nil {
			return fmt.Errorf("store: what a commit shares: %w", err)
		}
	}
	return nil
}
