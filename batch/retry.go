package batch

import (
	"context"
	"slices"

	"github.com/google/uuid"

	"postern/batch/mailing"
	"postern/batch/record"
	"postern/batch/table"
	"postern/store"
)

// RetryRequest selects items of a final batch for a new one.
type RetryRequest struct {
	Status []record.ItemStatus // empty: those that FAILED
	Codes  []string            // only items with one of these error codes; empty: with any or none

	Name      string // of the new batch
	Instances []record.InstanceRef

	// MayUnknown allows UNKNOWN in Status: the message may reach these recipients twice.
	MayUnknown bool
	// Check is called with the recipients before anything is stored; its error refuses the
	// retry. It may be nil.
	Check func(*mailing.Recipients) error

	Key      uuid.UUID                              // see CreateRequest
	InCommit func(tx *store.Tx, created View) error // see CreateRequest
}

// retriable are the statuses of items that a retry may select.
var retriable = []record.ItemStatus{record.ItemFailed, record.ItemSkipped, record.ItemPending, record.ItemUnknown}

// Retry creates a batch with the message, the options and those recipients of a final one that r
// selects. It starts at once, and has no schedule. Errors are ErrNotFound, *table.TransitionError
// and those of Create.
func (e *Engine) Retry(ctx context.Context, owner, id uuid.UUID, r RetryRequest) (View, error) {
	if err := r.validate(); err != nil {
		return View{}, err
	}
	var b *full
	var list *mailing.Recipients
	err := e.cfg.Store.View(func(tx *store.Tx) (err error) {
		if b, err = e.Shown(owner, nil).load(tx, id); err != nil {
			return err
		}
		if !table.Final(b.Status) {
			return &table.TransitionError{Status: b.Status, Trigger: table.OnRetry}
		}
		list, err = b.selected(tx, r)
		return err
	})
	if err != nil {
		return View{}, err
	}
	if list.Len() == 0 {
		return View{}, invalid(NothingToRetry, "no item of the batch has such a status and error code")
	}
	if r.Check != nil {
		if err := r.Check(list); err != nil {
			return View{}, err
		}
	}
	return e.Create(ctx, owner, CreateRequest{
		Name: r.Name, Instances: r.Instances, List: list, Message: b.message.Message, Original: b.message.Original, More: b.message.More, Options: b.spec.Options, Quoted: b.message.Quoted,
		AutoResume: &b.AutoResume, ExternalAttributes: b.message.Attributes, Key: r.Key, InCommit: r.InCommit, retryOf: id,
	})
}

func (r *RetryRequest) validate() error {
	if len(r.Status) == 0 {
		r.Status = []record.ItemStatus{record.ItemFailed}
	}
	for _, s := range r.Status {
		switch {
		case !slices.Contains(retriable, s):
			return invalid(InvalidRetry, "status may have FAILED, SKIPPED, PENDING and UNKNOWN")
		case s == record.ItemUnknown && !r.MayUnknown:
			return invalid(InvalidRetry, "status has UNKNOWN, which may have arrived; to send to these recipients again, perhaps twice, set includeUnknown to true")
		}
	}
	return nil
}

// selected returns the recipients of the items that r selects.
func (b *full) selected(tx *store.Tx, r RetryRequest) (*mailing.Recipients, error) {
	list := &mailing.Recipients{Names: b.message.Variables, Objects: b.message.Templated}
	err := tx.Scan(record.BucketItem, b.itemRange(), func(key, raw []byte) (bool, error) {
		position, item, err := b.readItem(key, raw)
		if err != nil || item.Lost() || !slices.Contains(r.Status, item.ShownStatus()) ||
			len(r.Codes) > 0 && !slices.Contains(r.Codes, item.Code) {
			return true, record.IgnoreDamage(err)
		}
		return true, record.IgnoreDamage(b.retryItem(tx, list, position, item))
	})
	return list, err
}

// retryItem adds the recipient of an item, with all that is its own, to those of a retry.
func (b *full) retryItem(tx *store.Tx, list *mailing.Recipients, position int, r record.Item) error {
	var own []byte
	if r.Detailed {
		if _, err := record.LoadDetails(tx, b.id, position, &r); err != nil {
			return err
		}
		var err error
		if own, err = tx.Get(record.BucketDetails, record.ItemKey(b.id, position)); err != nil {
			return err
		}
	}
	if len(r.Parts) > 0 { // it begins with the message after these
		if list.Sent == nil {
			list.Sent = map[int][]record.SentPart{}
		}
		list.Sent[list.Len()] = r.Parts
	}
	list.Append([]byte(r.Input), own)
	return nil
}
