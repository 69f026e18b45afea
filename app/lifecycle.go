package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"postern/store"
)

// stopStack has the started parts in order. They are stopped in reverse
// order, so that no part loses a part that it depends on.
type stopStack struct {
	log   *slog.Logger
	quiet bool // the steps are not logged
	steps []stopStep
}

type stopStep struct {
	name string
	stop func(context.Context) error
}

// push adds the stop function of a started part.
func (s *stopStack) push(name string, stop func(context.Context) error) {
	s.steps = append(s.steps, stopStep{name, stop})
}

// pushFunc adds a stop function that cannot fail and needs no context.
func (s *stopStack) pushFunc(name string, stop func()) {
	s.push(name, func(context.Context) error {
		stop()
		return nil
	})
}

// stop runs all steps, the last started first. A step that fails, or that is
// cut short because ctx ended, does not keep the others from running. That one
// finds the disk full is logged and is no error: what was accepted is in the
// file, and a part that could not note its end starts as after a crash.
func (s *stopStack) stop(ctx context.Context) error {
	var errs []error
	for len(s.steps) > 0 {
		step := s.steps[len(s.steps)-1]
		s.steps = s.steps[:len(s.steps)-1]
		start := time.Now()
		err := step.stop(ctx)
		switch {
		case store.IsFull(err) && !errors.Is(err, store.ErrFailed):
			s.log.Warn("the disk is full: a part could not store its end; nothing accepted is lost, and the next start recovers as after a crash; free some space first", "part", step.name, "error", err)
		case err != nil:
			errs = append(errs, fmt.Errorf("stop %s: %w", step.name, err))
		}
		level := slog.LevelInfo
		if s.quiet {
			level = slog.LevelDebug
		}
		s.log.Log(ctx, level, "stopped", "part", step.name, "duration", time.Since(start).Round(time.Millisecond))
	}
	return errors.Join(errs...)
}
