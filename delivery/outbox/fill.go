package outbox

import (
	"context"

	"postern/delivery/stream"
	"postern/store"
)

// fillStep is how many entries one commit gives their rows in the stream.
const fillStep = 5000

func rowOf(e Entry) stream.Row {
	return stream.Row{Outbox: e.Seq, Owner: e.Owner, OwnerSeq: e.OwnerSeq}
}

// fillStream gives the entries of a file of an earlier version their rows in the stream of all
// events. It continues where a crash ended it.
func fillStream(s *store.Store) error {
	for {
		var missing []Entry
		err := s.View(func(tx *store.Tx) error {
			upTo, all, err := stream.Filled(tx)
			if err == nil && !all {
				missing, err = After(tx, upTo, fillStep)
			}
			return err
		})
		if err != nil || len(missing) == 0 {
			return err
		}
		err = s.Update(context.Background(), func(tx *store.Tx) error {
			for _, e := range missing {
				if err := stream.Add(tx, rowOf(e)); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
}
