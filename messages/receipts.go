package messages

import (
	"context"
	"fmt"
	"time"

	"postern/delivery/publish"
	"postern/event"
	"postern/store"
)

// A receipt can arrive before its message. The message is looked up this often, with a
// pause that doubles; receiptsWaiting bounds the receipts that wait concurrently.
const (
	receiptLooks    = 3
	receiptPause    = 100 * time.Millisecond
	receiptsWaiting = 256
)

// Receipt stores a receipt and publishes one update for each stored message. Missing messages are looked
// up again in the background, so that receipts for messages that are never stored delay
// nothing.
func (a *Archive) Receipt(ctx context.Context, src publish.Source, f event.Fact, receipt event.Receipt) error {
	if !a.cfg.SaveUpdates || a.departures.keep(src.ID, f, receipt) {
		return nil
	}
	w := src.Writer()
	commit := func(fn func(*store.Tx) error) error { return w.Commit(ctx, fn) }
	missing, err := a.updateMessages(ctx, src, w, commit, f, receipt, receipt.KeyIDs)
	if err != nil || len(missing) == 0 {
		return err
	}
	select {
	case a.looking <- struct{}{}:
	default:
		a.log.Debug("receipt dropped, too many wait for their message", "instance_id", src.ID)
		return nil
	}
	a.spawn(func() {
		defer func() { <-a.looking }()
		a.lookAgain(src, f, receipt, missing)
	})
	return nil
}

// lookAgain repeats the lookup.
func (a *Archive) lookAgain(src publish.Source, f event.Fact, receipt event.Receipt, missing []string) {
	pause := receiptPause
	for range receiptLooks - 1 {
		select {
		case <-time.After(pause):
			pause *= 2
		case <-a.life.Done():
			return
		}
		w := src.Writer()
		var err error
		if missing, err = a.updateMessages(a.life, src, w, w.CommitAlong, f, receipt, missing); err != nil {
			a.log.Warn("receipt not stored", "instance_id", src.ID, "error", err)
			return
		}
		if len(missing) == 0 {
			return
		}
	}
	a.log.Debug("receipt of an unknown message dropped", "instance_id", src.ID)
}

// updateMessages stores and publishes the receipt for the stored messages, by a commit of
// w, and returns the key ids of the others.
func (a *Archive) updateMessages(ctx context.Context, src publish.Source, w *publish.Writer, commit func(func(*store.Tx) error) error,
	f event.Fact, receipt event.Receipt, keyIDs []string,
) (missing []string, err error) {
	known, err := a.anyStored(src.ID, keyIDs)
	if err != nil || !known {
		return keyIDs, err
	}
	about := src.About(receipt)
	err = commit(func(tx *store.Tx) error {
		missing = nil
		at := receiptTime(tx, receipt)
		for _, keyID := range keyIDs {
			n, err := addUpdate(tx, src.ID, keyID, StoredUpdate{receipt.Status, at})
			if err != nil {
				return err
			}
			if n == 0 {
				missing = append(missing, keyID)
				continue
			}
			w.Add(f.Kind, event.MessageUpdate{MessageID: n, Status: receipt.Status, DateTime: at}, about, f.RequestID)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("store receipts of instance %d: %w", src.ID, err)
	}
	w.PublishStored(ctx)
	return missing, nil
}

// anyStored avoids a commit for receipts of unknown messages.
func (a *Archive) anyStored(id int64, keyIDs []string) (known bool, err error) {
	err = a.cfg.Store.View(func(tx *store.Tx) error {
		for _, keyID := range keyIDs {
			n, err := findMessage(tx, id, keyID)
			if err != nil || n != 0 {
				known = n != 0
				return err
			}
		}
		return nil
	})
	return known, err
}
