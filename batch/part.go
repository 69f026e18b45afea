package batch

import (
	"errors"
	"slices"

	"postern/batch/record"
	"postern/batch/schedule"
	"postern/batch/table"
	"postern/event"
	"postern/store"
)

var errNoPart = errors.New("the item's record in the data file has more messages than its batch; nothing was sent")

// partEnd is the end of a message that is not the last of its item, or of the wait between
// two of them. The next one leaves from the same instance.
type partEnd struct {
	receipt Receipt // of the message; empty after a wait
	goesOn  bool    // the item stays SENDING
	id      string  // of the next message; empty: it has to wait, and nothing is on its way meanwhile
}

// partEnd returns nil unless the current item has more messages. It changes the outcome
// to what it is for the whole item.
func (w *worker) partEnd(r *record.Item, o *outcome) *partEnd {
	if !r.Between() && (o.move != table.MoveSuccess || len(r.Parts) >= len(w.content.Parts)-1) {
		return nil
	}
	p := &partEnd{receipt: o.receipt, goesOn: true}
	delete(w.dropped, r.Instance) // it could send
	gate, able := w.partGate(r)
	switch {
	case w.optedOut(r):
		*o, p.goesOn = optedOut(), false
	case w.e.stopping():
		*o, p.goesOn = calledOff(), false
	case !able:
		*o, p.goesOn = w.outcomeOf(Receipt{}, event.ErrNotConnected), false
		o.changes = w.e.changesOf(r.Instance)
	case gate.Shut(w.e.now()):
		*o = outcome{attempt: record.AttemptUnavailable, status: record.ItemPending, move: table.MoveBack, held: true, code: gate.Reason, reason: gate.Text}
		p.goesOn = false
	default:
		*o = calledOff() // unless it goes on
		if !gate.After.After(w.e.now()) {
			p.id = w.e.cfg.NewMessageID()
		}
	}
	return p
}

// optedOut reports whether the recipient of the current item has opted out by now.
func (w *worker) optedOut(r *record.Item) (is bool) {
	_ = w.e.cfg.Store.View(func(tx *store.Tx) error { // the commit looks again
		is = w.e.optedOut(tx, w.b, choice{recipient: r.Recipient()})
		return nil
	})
	return is
}

// optedOut is the outcome of an item whose recipient opted out between two of its messages.
func optedOut() outcome {
	return outcome{attempt: record.AttemptFailed, status: record.ItemSkipped, move: table.MoveSkipped, code: codeOptedOut, reason: textOptedOut}
}

// partGate asks whether the instance of the current item may send the next message of it.
func (w *worker) partGate(r *record.Item) (gate Gate, able bool) {
	if _, state, ok := w.e.cfg.Fleet.Instance(r.Instance); !ok || state != event.Online {
		return Gate{}, false
	}
	return w.gate(r.Instance, unsent{position: w.b.Current, recipient: r.Recipient()}), true
}

// waitForPart waits until the next message of the current item may leave, or something else
// has to be done.
func (w *worker) waitForPart(r *record.Item) {
	if gate, able := w.partGate(r); able {
		w.wait(gate.After.Sub(w.e.now()))
	}
}

// apply puts the message that was sent into the item, and its next one if the item goes on.
// Otherwise it returns the outcome for the item.
func (p *partEnd) apply(tx *store.Tx, e *Engine, b *full, item *record.Item, f *finishing) (goesOn bool, o outcome, err error) {
	o = f.outcome
	sent := p.receipt.WhatsAppID != ""
	if sent {
		part := record.SentPart{Instance: item.Instance, WhatsApp: p.receipt.WhatsAppID}
		if p.receipt.Record != nil {
			if part.MessageID, err = p.receipt.Record(tx); err != nil {
				return false, o, recordError{err}
			}
		}
		item.Parts, item.JID = append(slices.Clip(item.Parts), part), p.receipt.RecipientJID
	}
	item.ClientID = ""
	if window, _ := b.windowAt(tx.Now()); !p.goesOn || b.Status != event.BatchProcessing || window != schedule.Open {
		return false, o, nil
	}
	if e.optedOut(tx, b, choice{recipient: item.Recipient()}) { // since partEnd looked
		return false, optedOut(), nil
	}
	if !sent && p.id == "" {
		return true, o, errUnchanged
	}
	item.ClientID = p.id
	b.putItem(tx, b.Current, item)
	return true, o, e.step(tx, b, table.Input{On: table.OnPart}, f.states, nil)
}
