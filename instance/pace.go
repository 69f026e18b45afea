package instance

import (
	"context"
	"errors"
	"fmt"

	"postern/event"
	"postern/instance/pace"
	"postern/store"
)

// pace takes a message to the limits of its instance: it is asked about now, and
// counted when it leaves. The caller ends the Pass.
func (s *Supervisor) pace(id int64, out *event.Outgoing) (*pace.Pass, error) {
	if s.cfg.Pacer == nil || !paced(out.Content) {
		return nil, nil //nolint:nilnil // a nil Pass lets pass
	}
	pass, err := s.cfg.Pacer.Begin(id, out.To, out.Holder)
	if err != nil || pass == nil {
		return nil, err
	}
	leaving := out.Leaving
	out.Turn, out.Left = pass.Space, pass.Left
	out.Leaving = func() error {
		if err := pass.Leave(); err != nil || leaving == nil {
			return err
		}
		return leaving()
	}
	return pass, nil
}

// paced reports whether limits hold for a message. What corrects or takes back
// one that was sent reaches nobody anew, and must always be possible.
func paced(c event.Content) bool { return c.Edit == nil && c.Delete == nil }

// left reports whether a message whose send ended so may have reached WhatsApp.
func left(err error) bool {
	var refused *event.RefusedError
	return err == nil || errors.Is(err, event.ErrOutcomeUnknown) || errors.As(err, &refused) || errors.Is(err, event.ErrTimelocked)
}

// MaySend returns why a message must not leave an instance now, nil when it may:
// an error that wraps event.ErrNotNow.
func (s *Supervisor) MaySend(id int64, out event.Outgoing) error {
	if s.cfg.Pacer == nil || !paced(out.Content) {
		return nil
	}
	if err := s.cfg.Pacer.Ask(id, out.To); err != nil {
		return fmt.Errorf("instance %d: %w", id, err)
	}
	return nil
}

// SetLimits replaces the limits of an instance and returns them as they are
// kept. Errors: ErrNotFound, a pace.RuleError and those of the store.
func (s *Supervisor) SetLimits(ctx context.Context, id int64, limits pace.Limits) (pace.Limits, error) {
	kept, err := s.cfg.Pacer.Set(ctx, id, limits, func(tx *store.Tx) bool { return There(tx, id) == nil })
	if errors.Is(err, pace.ErrGone) {
		return pace.Limits{}, ErrNotFound
	}
	return kept, err
}

// Limits returns the limits of an instance.
func (s *Supervisor) Limits(id int64) pace.Limits { return s.cfg.Pacer.Limits(id) }

// LimitStatus tells how an instance stands to its limits; nil: none are set.
func (s *Supervisor) LimitStatus(id int64) *pace.Status { return s.cfg.Pacer.Status(id) }
