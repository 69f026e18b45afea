package instance

import (
	"context"

	"postern/event"
)

// Labels acts on the labels of a business account. They are part of the app state, which
// WhatsApp stores encrypted and does not check; other accounts do not see them. Every
// change is reported once, by label events. Further error of a change:
// event.ErrStateConflict.
type Labels interface {
	// Labels reads all labels from WhatsApp, sorted by id.
	Labels(ctx context.Context) ([]event.Label, error)
	// CreateLabel assigns the lowest id above all ids ever used.
	CreateLabel(ctx context.Context, name string, color int) (event.Label, error)
	// EditLabel returns event.ErrNoLabel if the id is unknown.
	EditLabel(ctx context.Context, id string, change event.LabelChange) (event.Label, error)
	// DeleteLabel returns event.ErrNoLabel if the id is unknown.
	DeleteLabel(ctx context.Context, id string) (event.Label, error)
	// LabelChat adds a label to a chat or removes it. It does not check that the label
	// exists.
	LabelChat(ctx context.Context, label, chat string, labeled bool) error
}
