package instance

import (
	"context"
	"errors"
	"fmt"

	"postern/event"
	"postern/instance/pace"
	"postern/store"
)

// pace checks a message against the limits of its instance now, and counts it when it
// leaves. The caller ends the Pass.
func (s *Supervisor) pace(id int64, out *event.Outgoing) (*pace.Pass, error) {
	if s.cfg.Pacer == nil || !paced(out.Content) {
		return nil, nil //nolint:nilnil // a nil Pass has no limits
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

// paced reports whether limits apply to a message. A deletion takes back what was counted, and must always be
// possible.
func paced(c event.Content) bool { return c.Delete == nil }

// left reports whether a message may have reached WhatsApp, given the error of its send.
func left(err error) bool {
	var refused *event.RefusedError
	return err == nil || errors.Is(err, event.ErrOutcomeUnknown) || errors.As(err, &refused) || errors.Is(err, event.ErrTimelocked)
}

// MaySend returns why a message must not be sent from an instance now, nil if it may: an
// error that wraps event.ErrNotNow.
func (s *Supervisor) MaySend(id int64, out event.Outgoing) error {
	if s.cfg.Pacer == nil || !paced(out.Content) {
		return nil
	}
	if err := s.cfg.Pacer.Ask(id, out.To); err != nil {
		return fmt.Errorf("instance %d: %w", id, err)
	}
	return nil
}

// SetLimits replaces the limits of an instance and returns them as stored. Errors:
// ErrNotFound, an event.RuleError and those of the store.
func (s *Supervisor) SetLimits(ctx context.Context, id int64, limits pace.Limits) (pace.Limits, error) {
	kept, err := s.cfg.Pacer.Set(ctx, id, limits, func(tx *store.Tx) bool { return There(tx, id) == nil })
	if errors.Is(err, pace.ErrGone) {
		return pace.Limits{}, ErrNotFound
	}
	return kept, err
}

// Limits returns the limits of an instance.
func (s *Supervisor) Limits(id int64) pace.Limits { return s.cfg.Pacer.Limits(id) }

// LimitStatus returns the usage of an instance's limits, nil if none are set.
func (s *Supervisor) LimitStatus(id int64) *pace.Status { return s.cfg.Pacer.Status(id) }
