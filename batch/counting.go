package batch

import (
	"bytes"

	"postern/batch/record"
	"postern/store"
)

// countAll counts what an earlier release has not counted, in small commits, until
// all is counted or the engine stops.
func (e *Engine) countAll() {
	for done := false; !done && !e.stopping(); {
		err := e.update(func(tx *store.Tx) (err error) {
			done, err = record.CountSome(tx)
			return err
		})
		if err != nil {
			if !e.stopping() {
				e.cfg.Logger.Warn("batches not counted, the next start goes on", "error", err)
			}
			return
		}
	}
}

// counted reports whether no batch is left to be counted.
func (e *Engine) counted() (is bool, err error) {
	err = e.cfg.Store.View(func(tx *store.Tx) error {
		mark, err := record.CountedTo(tx)
		if is = bytes.Equal(mark, record.AllCounted); is || err != nil {
			return err
		}
		some, err := record.AnyOf(tx, record.BucketHeader)
		is = !some
		return err
	})
	return is, err
}
