package messages

import (
	"sync"

	"postern/delivery/publish"
	"postern/event"
	"postern/store"
)

// Most receipts of a message arrive with its acknowledgement, before the message is
// stored. Receipts of messages announced by Departing wait for it, without lookups.

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

// departures holds the early receipts by message until it is stored. The zero value is
// ready to use.
type departures struct {
	mu  sync.Mutex
	all map[sentMessage][]earlyReceipt
}

func (d *departures) begin(m sentMessage) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.all == nil {
		d.all = map[sentMessage][]earlyReceipt{}
	}
	d.all[m] = nil
}

// keep takes a receipt for one message if that is being sent, and reports whether it did.
func (d *departures) keep(instance int64, f event.Fact, receipt event.Receipt) bool {
	if len(receipt.KeyIDs) != 1 {
		return false
	}
	m := sentMessage{instance, receipt.KeyIDs[0]}
	d.mu.Lock()
	defer d.mu.Unlock()
	waiting, is := d.all[m]
	if !is || len(waiting) == maxEarly {
		return false
	}
	d.all[m] = append(waiting, earlyReceipt{f, receipt})
	return true
}

// end returns the early receipts in order of arrival.
func (d *departures) end(m sentMessage) []earlyReceipt {
	d.mu.Lock()
	defer d.mu.Unlock()
	waiting := d.all[m]
	delete(d.all, m)
	return waiting
}

// Departing announces that a message is being sent: its receipts wait until done is
// called with the id of the stored message, 0 if it was not stored.
func (a *Archive) Departing(src publish.Source, keyID string) (done func(stored int64)) {
	m := sentMessage{src.ID, keyID}
	a.departures.begin(m)
	return func(stored int64) {
		if waiting := a.departures.end(m); len(waiting) > 0 {
			a.spawn(func() { a.reportEarly(src, stored, waiting) })
		}
	}
}

// reportEarly stores and publishes the receipts of a newly stored message, with the next
// commit. If it was not stored (found is 0), they are looked up like others.
func (a *Archive) reportEarly(src publish.Source, found int64, waiting []earlyReceipt) {
	var err error
	if found == 0 {
		for _, w := range waiting {
			if e := a.Receipt(a.life, src, w.fact, w.receipt); e != nil {
				err = e
			}
		}
	} else {
		err = a.storeEarly(src, found, waiting)
	}
	if err != nil {
		a.log.Warn("receipt not stored", "instance_id", src.ID, "error", err)
	}
}

func (a *Archive) storeEarly(src publish.Source, found int64, waiting []earlyReceipt) error {
	out, about := src.Writer(), make([]event.About, len(waiting))
	for i, w := range waiting {
		about[i] = src.About(w.receipt)
	}
	err := out.CommitAlong(func(tx *store.Tx) error {
		if !tx.Has(messages, store.Key(src.ID, found)) {
			return nil // deleted in the meantime
		}
		for i, w := range waiting {
			u := StoredUpdate{w.receipt.Status, receiptTime(tx, w.receipt)}
			if err := putUpdate(tx, src.ID, found, u); err != nil {
				return err
			}
			out.Add(w.fact.Kind, event.MessageUpdate{MessageID: found, Status: u.Status, DateTime: u.At}, about[i], w.fact.RequestID)
		}
		return nil
	})
	if err != nil {
		return err
	}
	out.PublishStored(a.life)
	return nil
}

// receiptTime returns the time of a receipt, or that of the commit if it has none.
func receiptTime(tx *store.Tx, receipt event.Receipt) event.Time {
	if receipt.At.IsZero() {
		return event.At(tx.Now())
	}
	return event.At(receipt.At)
}
