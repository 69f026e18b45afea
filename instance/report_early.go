package instance

import (
	"sync"

	"postern/event"
	"postern/store"
)

// Most receipts of a message arrive with its acknowledgement, before the message is
// stored. Receipts of messages sent by SendAndStore wait for it, without lookups.

// maxEarly bounds the receipts that wait for one message: a large group sends thousands.
const maxEarly = 16

// sentMessage identifies a message that this program sends.
type sentMessage struct {
	instance int64
	keyID    string
}

// earlyReceipt is a receipt that arrived before its message was stored.
type earlyReceipt struct {
	fact    event.Fact
	receipt event.Receipt
}

// underway holds the early receipts by message until it is stored. The zero value is
// ready to use.
type underway struct {
	mu  sync.Mutex
	all map[sentMessage][]earlyReceipt
}

func (u *underway) begin(m sentMessage) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.all == nil {
		u.all = map[sentMessage][]earlyReceipt{}
	}
	u.all[m] = nil
}

// keep takes a receipt for one message if that is being sent, and reports whether it did.
func (u *underway) keep(id int64, f event.Fact, receipt event.Receipt) bool {
	if len(receipt.KeyIDs) != 1 {
		return false
	}
	m := sentMessage{id, receipt.KeyIDs[0]}
	u.mu.Lock()
	defer u.mu.Unlock()
	waiting, is := u.all[m]
	if !is || len(waiting) == maxEarly {
		return false
	}
	u.all[m] = append(waiting, earlyReceipt{f, receipt})
	return true
}

// end returns the early receipts in order of arrival.
func (u *underway) end(m sentMessage) []earlyReceipt {
	u.mu.Lock()
	defer u.mu.Unlock()
	waiting := u.all[m]
	delete(u.all, m)
	return waiting
}

// reportEarly stores and publishes the receipts of a newly stored message, with the next
// commit. If it was not stored (found is 0), they are looked up like others.
func (r *Registry) reportEarly(id, found int64, waiting []earlyReceipt) {
	var err error
	if found == 0 {
		for _, w := range waiting {
			if e := r.reportReceipt(r.life, id, w.fact, w.receipt); e != nil {
				err = e
			}
		}
	} else {
		err = r.storeEarly(id, found, waiting)
	}
	if err != nil {
		r.log.Warn("receipt not stored", "instance_id", id, "error", err)
	}
}

func (r *Registry) storeEarly(id, found int64, waiting []earlyReceipt) error {
	t, about := r.source(id).Writer(), make([]event.About, len(waiting))
	for i, w := range waiting {
		about[i] = r.events.About(w.receipt)
	}
	err := t.CommitAlong(func(tx *store.Tx) error {
		if !tx.Has(messages, store.Key(id, found)) {
			return nil // deleted in the meantime
		}
		for i, w := range waiting {
			u := storedUpdate{w.receipt.Status, receiptTime(tx, w.receipt)}
			if err := putUpdate(tx, id, found, u); err != nil {
				return err
			}
			t.Add(w.fact.Kind, event.MessageUpdate{MessageID: found, Status: u.Status, DateTime: u.At}, about[i], w.fact.RequestID)
		}
		return nil
	})
	if err != nil {
		return err
	}
	t.PublishStored(r.life)
	return nil
}

// receiptTime returns the time of a receipt, or that of the commit if it has none.
func receiptTime(tx *store.Tx, receipt event.Receipt) event.Time {
	if receipt.At.IsZero() {
		return event.At(tx.Now())
	}
	return event.At(receipt.At)
}
