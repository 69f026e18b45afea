package dispatch

import (
	"github.com/google/uuid"

	"postern/delivery"
	"postern/delivery/outbox"
	"postern/store"
)

// tailStep is how many entries of the outbox are read at once.
const tailStep = 256

// tail follows the outbox by sequence. It publishes every new entry, and hands it to the
// feeder if it must be delivered.
func (r *Relay) tail(after uint64) {
	for {
		wake := r.cfg.Outbox.Emitted()
		stopping := r.reading.Err() != nil
		entries, forgotten, err := r.newEntries(after)
		if err != nil {
			r.log.Error("outbox cannot be read", "error", err)
			entries = nil
		}
		for _, e := range entries {
			after = e.Seq
			if r.cfg.Publisher != nil {
				r.cfg.Publisher.PublishBatch(e.Kind, e.Owner, e.OwnerSeq, e.Body)
			}
		}
		r.handOver(entries)
		if forgotten {
			r.askForSweep(after)
		}
		switch {
		case len(entries) == tailStep:
			continue
		case stopping:
			return
		}
		select {
		case <-wake:
		case <-r.reading.Done(): // one last turn
		}
		r.wakes.outbox.Add(1)
	}
}

// handOver gives new entries to the feeder, unless the relay stops.
func (r *Relay) handOver(entries []outbox.Entry) {
	if r.globalURL() == "" || len(entries) == 0 {
		return
	}
	for _, e := range entries {
		if e.State == outbox.Pending {
			r.newBatch.put(e.Seq, e, len(e.Body))
		}
	}
	r.batch.hand(rowsOf(entries))
}

// newEntries returns the next entries, and whether entries of a removed batch must be
// removed.
func (r *Relay) newEntries(after uint64) (entries []outbox.Entry, forgotten bool, err error) {
	err = r.cfg.Store.View(func(tx *store.Tx) error {
		if entries, err = outbox.After(tx, after, tailStep); err != nil {
			return err
		}
		for i, e := range entries {
			if delivery.IsNew(tx, e) {
				continue
			}
			if entries[i], err = delivery.Queued(tx, e); err != nil { // a pass of the feeder was faster
				return err
			}
		}
		batches, err := outbox.Forgotten(tx, uuid.Nil, 1)
		forgotten = len(batches) > 0
		return err
	})
	return entries, forgotten, err
}

// askForSweep requests the removal of entries of removed batches up to a sequence. It
// replaces an older request that still waits.
func (r *Relay) askForSweep(upTo uint64) {
	select {
	case <-r.forgotten:
	default:
	}
	r.forgotten <- upTo // only tail fills it
}
