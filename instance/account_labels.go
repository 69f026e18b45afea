package instance

import (
	"context"

	"postern/event"
)

// Labels is what a business account does with labels. They live in what the
// account's devices have in common, which WhatsApp keeps encrypted: it checks
// nothing, and phones of other accounts show none of it. Every change is told
// once, by the events of labels. Errors of a change may also be
// event.ErrStateConflict.
type Labels interface {
	// Labels reads all labels from WhatsApp, by id.
	Labels(ctx context.Context) ([]event.Label, error)
	// CreateLabel gives the label the lowest id above those ever used.
	CreateLabel(ctx context.Context, name string, color int) (event.Label, error)
	// EditLabel fails with event.ErrNoLabel when there is none of that id.
	EditLabel(ctx context.Context, id string, change event.LabelChange) (event.Label, error)
	// DeleteLabel fails with event.ErrNoLabel when there is none of that id.
	DeleteLabel(ctx context.Context, id string) (event.Label, error)
	// LabelChat puts a label on a chat or takes it off. Whether there is such
	// a label is not looked at.
	LabelChat(ctx context.Context, label, chat string, labeled bool) error
}
