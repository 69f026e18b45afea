package later

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"postern/event"
	"postern/store"
)

func TestTooLateIsReportedOnTime(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		id := r.instance("a", false)
		key := r.in(id, time.Hour)
		short := r.in(id, time.Hour+time.Minute, within(time.Minute)) // behind it, and over before it
		time.Sleep(time.Hour + 2*time.Minute + 10*time.Millisecond)
		r.wantFailed(short, event.TooLate)
		time.Sleep(8*time.Minute - time.Second)
		r.wantQuiet()
		time.Sleep(2 * time.Second)
		r.wantFailed(key, event.TooLate)
		r.connect(id)
		time.Sleep(time.Hour)
		if got := r.arrivals(); len(got) != 0 {
			t.Errorf("%+v", got)
		}
		r.wantEmpty()
	})
}

func TestTooLateAfterALongStop(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		id := r.instance("a", true)
		key := r.in(id, time.Hour)
		r.stop()
		time.Sleep(2 * time.Hour)
		r.boot()
		synctest.Wait()
		r.wantFailed(key, event.TooLate)
		if got := r.arrivals(); len(got) != 0 {
			t.Errorf("%+v", got)
		}
	})
}

func TestEveryOtherFailureIsReported(t *testing.T) {
	for code, failure := range map[string]error{
		"RECIPIENT_NOT_ON_WHATSAPP": event.NotOnWhatsApp("1"),
		event.SendMessageFailed:     &event.RefusedError{Code: 400, Cause: errors.New("no")},
		event.SendResultUnknown:     fmt.Errorf("%w: no answer", event.ErrOutcomeUnknown),
		event.ReachoutTimelocked:    event.ErrTimelocked,
		"INVALID_MEDIA":             fmt.Errorf("%w: 404", event.ErrMedia),
	} {
		t.Run(code, func(t *testing.T) {
			inBubble(t, nil, func(r *rig) {
				r.onSend = func(context.Context, event.Outgoing) error { return failure }
				id := r.instance("a", true)
				key := r.in(id, time.Hour)
				time.Sleep(time.Hour + time.Minute)
				r.wantFailed(key, code)
				r.wantEmpty()
			})
		})
	}
}

func TestLostConnectionIsTriedAgain(t *testing.T) {
	for name, begun := range map[string]bool{"before it left": false, "after the commit": true} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, nil, func(r *rig) {
				tries := 0
				lost := func() error {
					if tries++; tries < 4 {
						return fmt.Errorf("%w: lost", event.ErrNotConnected)
					}
					return nil
				}
				if begun {
					r.onSend = func(context.Context, event.Outgoing) error { return lost() }
				} else {
					r.before = func(context.Context, event.Outgoing) error { return lost() }
				}
				id := r.instance("a", true)
				key := r.in(id, time.Hour)
				time.Sleep(time.Hour + time.Minute)
				r.wantSent(key)
				r.wantEmpty()
			})
		})
	}
}

func TestNothingLeavesAfterTheDeadline(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		id := r.instance("a", true)
		key := r.in(id, time.Hour, within(time.Minute), func(d *Send) { d.Out.Delay = 2 * time.Minute })
		time.Sleep(2 * time.Hour)
		r.wantFailed(key, event.TooLate)
		if got := r.arrivals(); len(got) != 0 {
			t.Errorf("%+v", got)
		}
		r.wantEmpty()
	})
}

func TestDamagedSendIsReported(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		id := r.instance("a", true)
		key := r.in(id, time.Hour)
		other := r.in(id, time.Hour+time.Minute)
		err := r.store.Update(bg, func(tx *store.Tx) error { return tx.Put(sends, store.Key(id, key), []byte("{")) })
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour + 2*time.Minute)
		r.wantSent(other)
		time.Sleep(2 * time.Hour)
		r.wantFailed(key, "RECORD_DAMAGED")
		r.wantEmpty()
	})
}

func TestFullDiskDelaysTheSend(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		full := true
		r.before = func(context.Context, event.Outgoing) error {
			if full {
				return fmt.Errorf("%w: %w", event.ErrSendRefused, store.ErrDiskFull)
			}
			return nil
		}
		id := r.instance("a", true)
		key := r.in(id, time.Hour)
		time.Sleep(time.Hour + 5*time.Minute)
		r.wantQuiet()
		full = false
		time.Sleep(2 * time.Minute)
		r.wantSent(key)
	})
}

// TestUnstoredMessageIsNotSentAgain sends a message that arrives and cannot be stored, and one behind it.
func TestUnstoredMessageIsNotSentAgain(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		id := r.instance("a", true)
		key, next := r.in(id, time.Hour), r.in(id, 2*time.Hour)
		r.broken = 1
		time.Sleep(time.Hour + time.Minute)
		r.wantFailed(key, event.SendResultUnknown)
		time.Sleep(time.Hour)
		r.wantSent(next)
		if got := r.arrivals(); len(got) != 2 {
			t.Errorf("%+v", got)
		}
		r.wantEmpty()
	})
}

// TestBegunSendDoesNotBeginAgain has a send in the file whose end could not be stored.
func TestBegunSendDoesNotBeginAgain(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		id := r.instance("a", true)
		key := r.in(id, time.Hour)
		var w *waiting
		err := r.store.Update(bg, func(tx *store.Tx) (err error) {
			if w, err = read(tx, id, key); err != nil {
				return err
			}
			return tx.Put(begun, w.key(), nil)
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := r.s.mark(w); !errors.Is(err, ErrBegun) {
			t.Errorf("marked again: %v", err)
		}
		next := r.in(id, 2*time.Hour)
		time.Sleep(2*time.Hour + time.Minute)
		r.wantSent(next)
		r.restart()
		r.wantFailed(key, event.SendResultUnknown)
		if got := r.arrivals(); len(got) != 1 {
			t.Errorf("%+v", got)
		}
	})
}

func TestEndOfASendIsTriedAgain(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		id := r.instance("a", true)
		began, tries := time.Now(), 0
		settled := r.s.settle(r.s.lane(id), nil, func() error {
			if tries++; tries < 3 {
				return errors.New("no")
			}
			return nil
		})
		if took := time.Since(began); !settled || tries != 3 || took != 2*maxPause {
			t.Errorf("%t after %d tries and %v", settled, tries, took)
		}
	})
}

func TestStopLeavesWaitingSends(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		id := r.instance("a", true)
		key := r.in(id, time.Hour, func(d *Send) { d.Out.Delay = time.Minute })
		time.Sleep(time.Hour + time.Second)
		r.restart()
		r.wantQuiet()
		time.Sleep(2 * time.Minute)
		r.wantSent(key)
		if got := r.arrivals(); len(got) != 1 {
			t.Errorf("%+v", got)
		}
	})
}

func TestStopWaitsForABegunSend(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		r.onSend = func(ctx context.Context, _ event.Outgoing) error {
			if !wait(ctx, time.Second) {
				return fmt.Errorf("%w: cut off", event.ErrOutcomeUnknown)
			}
			return nil
		}
		id := r.instance("a", true)
		key := r.in(id, time.Hour)
		time.Sleep(time.Hour + 500*time.Millisecond)
		r.restart()
		r.wantSent(key)
	})
}

// restored starts the program on the present file, as restored from a backup.
func (r *rig) restored() {
	r.stop()
	before := r.adapt
	r.adapt = func(c *Config) { c.Restored = true }
	r.boot()
	r.adapt = before
}

func TestRestoredBackupSendsNothingTwice(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		id := r.instance("a", true)
		passed, ahead := r.in(id, time.Hour), r.in(id, 3*time.Hour)
		r.stop() // the backup
		raw, err := os.ReadFile(r.path)
		if err != nil {
			t.Fatal(err)
		}
		r.boot()
		time.Sleep(time.Hour + time.Minute)
		r.wantSent(passed)
		r.stop()
		if err := os.WriteFile(r.path, raw, 0o600); err != nil {
			t.Fatal(err)
		}
		r.boot()
		r.restored()
		r.wantFailed(passed, event.SendResultUnknown)
		time.Sleep(3 * time.Hour)
		r.wantSent(ahead)
		if got := r.arrivals(); len(got) != 2 {
			t.Errorf("%+v", got)
		}
	})
}
