package store

import "fmt"

// Shared collects what the closures of one commit add to rows that they share, such as
// counts. It is written once, after the last closure, and not with each. A closure that
// reads such a row in an Update must look here first.
type Shared interface {
	// Finish writes the rows. An error fails the whole commit.
	Finish(tx *Tx) error
}

// Shared returns the object that the commit of tx shares under key. If there is none,
// Shared makes one with make; if make is nil, or in a View, it returns nil. A failed
// closure does not undo its changes to the object, so it must not fail once it has
// changed it, unless it also wrote by itself.
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
