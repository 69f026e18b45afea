package webhooks

import (
	"cmp"
	"context"
	"log/slog"
	"slices"

	"postern/delivery"
	"postern/event"
	"postern/store"
)

// EditorConfig configures an Editor. Directory and Owner are required.
type EditorConfig struct {
	Directory *Directory
	// Owner returns ErrNoInstance, or an error that wraps it, if an instance does not exist.
	Owner func(tx *store.Tx, id int64) error
	Rules Rules

	// Ledger withholds credentials from changed destinations, in the commit of the change.
	// nil: no event is durable.
	Ledger *delivery.Ledger
	// OnChange is called after the commit for each instance whose webhook changed, in the
	// order of the commits. It must not block. It may be nil.
	OnChange func(id int64)
	// OnLanes is called after the commit with lanes whose destinations may have changed:
	// see Directory.Resolve. It must not block. It may be nil.
	OnLanes func([]delivery.Lane)
	// ClearLanes cancels pending events of removed endpoints before new ones reuse their
	// ids. It may be nil.
	ClearLanes func(context.Context, []delivery.Lane) error

	Logger *slog.Logger // nil discards
}

// Editor changes webhooks and options: in the file, then in its directory. It is safe for
// concurrent use.
type Editor struct {
	*Directory

	cfg EditorConfig
	log *slog.Logger
}

// NewEditor returns an editor. It first withholds credentials from a global webhook that
// is another one than before.
func NewEditor(ctx context.Context, cfg EditorConfig) *Editor {
	cfg.Logger = cmp.Or(cfg.Logger, slog.New(slog.DiscardHandler))
	e := &Editor{Directory: cfg.Directory, cfg: cfg, log: cfg.Logger.With("component", "webhooks")}
	e.withholdGlobal(ctx)
	return e
}

// SetGlobalURL sets the global webhook from the next commit on; an empty url disables it.
// Pending durable events go to the new webhook, except those with credentials.
func (e *Editor) SetGlobalURL(ctx context.Context, url string) {
	e.globalURL.Store(&url)
	e.withholdGlobal(ctx)
	e.tellLanes(lanesOf(Global))
}

// Removed takes an instance out of the directory, after the commit that deleted it.
func (e *Editor) Removed(id int64) {
	s := e.scope(id)
	if s == nil {
		return
	}
	s.change.Lock()
	defer s.change.Unlock()
	s.gone = true
	e.mu.Lock()
	delete(e.scopes, id)
	e.mu.Unlock()
	e.tellLanes(lanesOf(id, s.chosen()))
}

// Added reports the lanes of an instance that was added with stored options.
func (e *Editor) Added(s *Scope) { e.tellLanes(lanesOf(s.id, s.chosen())) }

// tellChange reports a changed webhook.
func (e *Editor) tellChange(id int64) {
	if e.cfg.OnChange != nil {
		e.cfg.OnChange(id)
	}
}

// tellLanes reports lanes whose destinations may have changed.
func (e *Editor) tellLanes(lanes []delivery.Lane) {
	if e.cfg.OnLanes != nil {
		e.cfg.OnLanes(lanes)
	}
}

// lanesOf returns all lanes affected by the options of a scope.
func lanesOf(id int64, all ...*heldOptions) []delivery.Lane {
	if id == Global {
		return []delivery.Lane{delivery.GlobalLane, delivery.BatchLane}
	}
	lanes := []delivery.Lane{webhookLane(id)}
	for _, o := range all {
		for i := range o.Endpoints {
			if lane := endpointLane(id, o.Endpoints[i].ID); !slices.Contains(lanes, lane) {
				lanes = append(lanes, lane)
			}
		}
	}
	return lanes
}

func webhookLane(id int64) delivery.Lane {
	return delivery.Lane{Flow: delivery.FlowInstance, Instance: id, Target: event.TargetWebhook}
}

func endpointLane(id int64, endpoint string) delivery.Lane {
	return delivery.Lane{Flow: delivery.FlowInstance, Instance: id, Target: event.TargetEndpoint, Endpoint: endpoint}
}
