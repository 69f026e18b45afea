package batch

import (
	"github.com/google/uuid"

	"postern/batch/optout"
	"postern/batch/record"
	"postern/batch/table"
	"postern/event"
	"postern/store"
)

// textOptedOut is the error text of an item whose recipient opted out.
const textOptedOut = "the recipient opted out of the batches of this user"

// MayStillSend reports whether a batch exists and is not final, for optout.Config.
func MayStillSend(tx *store.Tx, id uuid.UUID) bool { return tx.Has(record.BucketOpen, id[:]) }

// optedOut reports whether the recipient of the chosen item opted out. It is asked in the
// commit that would make the item SENDING.
func (e *Engine) optedOut(tx *store.Tx, b *full, c choice) bool {
	return e.cfg.OptOuts != nil && c.recipient != "" && e.cfg.OptOuts.OptedOut(tx, b.spec.Owner, c.recipient)
}

// skip ends the chosen item, whose recipient opted out, without an attempt.
func (e *Engine) skip(tx *store.Tx, b *full, c choice, states []event.State) error {
	r, err := b.loadOrLost(tx, c.position)
	if err != nil {
		return err
	}
	r.Status, r.EndedAt = record.ItemSkipped, tx.Now().UnixMilli()
	r.Code, r.Error = codeOptedOut, textOptedOut
	b.pointAt(c)
	b.putItem(tx, c.position, &r)
	return e.step(tx, b, table.Input{On: table.OnOptedOut}, states, &subject{c.position, r})
}

// give is full.give, and notes for a batch with opt-out words whom it writes to.
func (e *Engine) give(tx *store.Tx, b *full, c choice) (record.Item, error) {
	r, err := b.give(tx, c)
	if err == nil && e.cfg.OptOuts != nil && len(b.spec.Options.OptOutWords) > 0 && c.recipient != "" {
		err = e.cfg.OptOuts.Contacted(tx, b.id, c.recipient)
	}
	return r, err
}

// putWords stores the opt-out words of a batch. They count on all instances that it has, and had.
func (e *Engine) putWords(tx *store.Tx, id uuid.UUID, s *record.Spec) error {
	if len(s.Options.OptOutWords) == 0 {
		return nil
	}
	var ids []int64
	for _, ref := range s.All() {
		ids = append(ids, ref.ID)
	}
	return e.cfg.OptOuts.Campaign(tx, id, s.Owner, s.Options.OptOutWords, ids)
}

// checkWords reports which rule the opt-out words of a request break, empty for none.
func (e *Engine) checkWords(words []string) string {
	if len(words) > 0 && e.cfg.OptOuts == nil {
		return " needs a book of opt-outs, which this program has none of"
	}
	return optout.CheckWords(words)
}
