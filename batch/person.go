package batch

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"sync"

	"postern/batch/record"
	"postern/event"
	"postern/store"
)

// One person may be in a batch under two numbers: WhatsApp answers a look-up of one of them with the
// account of the other. A creation ignores duplicates that earlier look-ups have
// shown. Those that the look-up before a send shows are found here, before the message leaves.

// Errors of Outgoing.Found.
var (
	errDuplicate = errors.New("another recipient of the batch is the same person, by another number, and has the message or may have it")
	errOptedOut  = errors.New(textOptedOut)
)

// account returns a distinct number for each account that a phone number reaches, as far as it is known.
func (e *Engine) account(digits string) uint64 {
	if e.cfg.AccountOf == nil {
		return recipientNumber(digits)
	}
	account := e.cfg.AccountOf(digits)
	if lid, is := strings.CutSuffix(account, "@"+event.LIDServer); is {
		account = "000" + lid // no phone number
	}
	return recipientNumber(account)
}

// positions finds the items of a batch by number. It is filled when the first person with several
// numbers is met, and takes 16 bytes an item then.
type positions struct {
	mu    sync.Mutex
	items []numbered // by number; nil: not filled
}

type numbered struct {
	number   uint64
	position int
}

func (p *positions) of(tx *store.Tx, b *full, digits string) (position int, found bool, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.items == nil {
		items := make([]numbered, 0, b.Counts.Total)
		err := tx.Scan(record.BucketItem, b.itemRange(), func(key, raw []byte) (bool, error) {
			if position, r, err := b.readItem(key, raw); err == nil {
				items = append(items, numbered{recipientNumber(r.Recipient()), position})
			}
			return true, nil
		})
		if err != nil {
			return 0, false, err
		}
		slices.SortFunc(items, func(a, b numbered) int { return cmp.Compare(a.number, b.number) })
		p.items = items
	}
	number := recipientNumber(digits)
	i, found := slices.BinarySearchFunc(p.items, number, func(a numbered, n uint64) int { return cmp.Compare(a.number, n) })
	if !found {
		return 0, false, nil
	}
	return p.items[i].position, true, nil
}

// found returns Outgoing.Found for the current item. It ends the send to a person who opted out under an
// address that the look-up has shown, and to one for whom another item has, or may have, the message.
func (w *worker) found(digits string, first bool) func(context.Context, string) error {
	if w.e.cfg.NumbersOf == nil {
		return nil
	}
	b := w.b
	current := b.Current
	return func(_ context.Context, jid string) error {
		numbers := slices.DeleteFunc(w.e.cfg.NumbersOf(jid), func(n string) bool { return n == digits })
		return w.e.cfg.Store.View(func(tx *store.Tx) error {
			if w.e.optedOut(tx, b, choice{recipient: digits}) {
				return errOptedOut
			}
			for _, number := range numbers {
				position, is, err := w.positions.of(tx, b, number)
				if err != nil {
					return err
				}
				if !is || position == current || !first {
					continue
				}
				switch r, err := b.loadOrLost(tx, position); {
				case err != nil:
					return err
				case r.Status == record.ItemSending, r.Status == record.ItemSuccess, r.Status == record.ItemUnknown:
					return errDuplicate
				}
			}
			return nil
		})
	}
}
