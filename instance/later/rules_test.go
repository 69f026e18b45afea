package later

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"postern/event"
	"postern/instance"
	"postern/instance/pace"
	"postern/store"
)

func TestSentAtItsTimeAndStored(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		id := r.instance("a", true)
		began := time.Now()
		key := r.in(id, 3*time.Hour, func(d *Send) { d.Attributes = event.Attributes(`{"order":5}`) })
		time.Sleep(3*time.Hour - time.Second)
		r.wantQuiet()
		time.Sleep(2 * time.Second)
		all := r.told()
		if len(all) != 1 || all[0].Metadata.ScheduledID != key.String() || string(all[0].ExternalAttributes) != `{"order":5}` || all[0].RequestID != "req-1" {
			t.Errorf("%+v", all)
		}
		if got := r.arrivals(); len(got) != 1 || got[0].at.Sub(began) > 3*time.Hour+10*time.Millisecond || got[0].at.Sub(began) < 3*time.Hour {
			t.Errorf("%+v", got)
		}
		r.wantEmpty()
	})
}

func TestRestartKeepsTheSend(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		id := r.instance("a", true)
		key := r.in(id, time.Hour)
		r.restart()
		time.Sleep(time.Hour + time.Minute)
		r.wantSent(key)
		r.restart()
		time.Sleep(time.Hour)
		if got := r.arrivals(); len(got) != 1 {
			t.Errorf("%+v", got)
		}
		r.wantEmpty()
	})
}

func TestOfflineInstanceSendsWhenItConnects(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		id := r.instance("a", false)
		key := r.in(id, time.Hour)
		time.Sleep(time.Hour + 9*time.Minute)
		r.wantQuiet()
		r.connect(id)
		synctest.Wait()
		r.wantSent(key)
		r.wantEmpty()
	})
}

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

func TestSendsToAChatKeepTheirOrder(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		r.onSend = func(ctx context.Context, _ event.Outgoing) error {
			wait(ctx, time.Second)
			return nil
		}
		id := r.instance("a", true)
		var want []string
		for i := range 8 {
			name := fmt.Sprintf("M%d", i)
			want = append(want, name)
			r.in(id, time.Hour, func(d *Send) { d.Out.ID = name })
		}
		time.Sleep(time.Hour + time.Minute)
		var got []string
		for _, a := range r.arrivals() {
			got = append(got, a.id)
		}
		if strings.Join(got, " ") != strings.Join(want, " ") {
			t.Errorf("%v", got)
		}
	})
}

func TestSlowSendDoesNotDelayOtherChats(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		id := r.instance("a", true)
		r.in(id, time.Hour, func(d *Send) { d.Out.Delay = 5 * time.Minute })
		r.in(id, time.Hour+time.Second, to("2@s.whatsapp.net"))
		time.Sleep(time.Hour + 2*time.Second)
		if got := r.arrivals(); len(got) != 1 || got[0].to != "2@s.whatsapp.net" {
			t.Errorf("%+v", got)
		}
		time.Sleep(time.Hour)
	})
}

func TestOfflineInstanceDoesNotDelayOthers(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		offline, online := r.instance("a", false), r.instance("b", true)
		for i := range 50 {
			r.in(offline, time.Hour, to(fmt.Sprintf("%d@s.whatsapp.net", i)))
		}
		key := r.in(online, time.Hour+time.Second)
		time.Sleep(time.Hour + 2*time.Second)
		r.wantSent(key)
	})
}

func TestLimitOfTheInstanceIsWaitedFor(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		id := r.instance("a", true)
		if _, err := r.sup.SetLimits(bg, id, pace.Limits{PerMinute: new(int64(2))}); err != nil {
			t.Fatal(err)
		}
		for i := range 6 {
			r.in(id, time.Hour, to(fmt.Sprintf("%d@s.whatsapp.net", i)))
		}
		time.Sleep(time.Hour + 10*time.Second)
		if got := r.arrivals(); len(got) != 2 {
			t.Errorf("%d left in the first minute", len(got))
		}
		time.Sleep(3 * time.Minute)
		if got := r.arrivals(); len(got) != 6 {
			t.Errorf("%d left", len(got))
		}
		r.wantEmpty()
	})
}

func TestLimitThatLastsEndsTooLate(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		id := r.instance("a", true)
		if _, err := r.sup.SetLimits(bg, id, pace.Limits{PerHour: new(int64(1))}); err != nil {
			t.Fatal(err)
		}
		r.in(id, time.Hour, to("2@s.whatsapp.net"))
		key := r.in(id, time.Hour+time.Second)
		time.Sleep(time.Hour + 5*time.Second)
		r.told()
		time.Sleep(10 * time.Minute)
		r.wantFailed(key, event.TooLate)
	})
}

func TestDeleteRemovesTheSend(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		id := r.instance("a", true)
		key := r.in(id, time.Hour)
		if err := r.s.Delete(bg, id+1, key, nil); !errors.Is(err, ErrNotFound) {
			t.Errorf("of another instance: %v", err)
		}
		refused := errors.New("no")
		if err := r.s.Delete(bg, id, key, func(string) error { return refused }); !errors.Is(err, refused) {
			t.Error(err)
		}
		if err := r.s.Delete(bg, id, key, nil); err != nil {
			t.Error(err)
		}
		if err := r.s.Delete(bg, id, key, nil); !errors.Is(err, ErrNotFound) {
			t.Error(err)
		}
		time.Sleep(2 * time.Hour)
		r.wantQuiet()
		r.wantEmpty()
	})
}

func TestDeleteBeforeTheMessageLeavesKeepsIt(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		id := r.instance("a", true)
		key := r.in(id, time.Hour, func(d *Send) { d.Out.Delay = time.Minute })
		time.Sleep(time.Hour + time.Second)
		if err := r.s.Delete(bg, id, key, nil); err != nil {
			t.Error(err)
		}
		time.Sleep(time.Hour)
		r.wantQuiet()
		if got := r.arrivals(); len(got) != 0 {
			t.Errorf("%+v", got)
		}
		r.wantEmpty()
	})
}

func TestDeleteIsRefusedOnceBegun(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		r.onSend = func(ctx context.Context, _ event.Outgoing) error {
			wait(ctx, time.Minute)
			return nil
		}
		id := r.instance("a", true)
		key := r.in(id, time.Hour)
		time.Sleep(time.Hour + time.Second)
		if err := r.s.Delete(bg, id, key, nil); !errors.Is(err, ErrBegun) {
			t.Error(err)
		}
		if page, err := r.s.List(bg, id, Query{Limit: 5}); err != nil || len(page.Sends) != 1 || !page.Sends[0].Begun {
			t.Errorf("%+v, %v", page, err)
		}
		time.Sleep(time.Minute)
		r.wantSent(key)
	})
}

func TestDeletedInstanceLeavesNothing(t *testing.T) {
	for name, after := range map[string]time.Duration{"before its time": time.Hour, "while it waits": -time.Second} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, nil, func(r *rig) {
				id := r.instance("a", false)
				for range 10 {
					r.in(id, time.Minute, r.file(700_000))
				}
				time.Sleep(time.Minute - after)
				synctest.Wait()
				if err := r.reg.Delete(bg, id, true); err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
				r.wantEmpty()
				time.Sleep(time.Hour)
				r.wantQuiet()
				if _, err := r.accept(id, time.Hour, r.file(5)); !errors.Is(err, instance.ErrNotFound) {
					t.Error(err)
				}
				r.wantEmpty()
			})
		})
	}
}

// file gives a send a file of that size.
func (r *rig) file(size int) func(*Send) {
	r.Helper()
	path := filepath.Join(r.TempDir(), "file")
	if err := os.WriteFile(path, []byte(content(size)), 0o600); err != nil {
		r.Fatal(err)
	}
	return func(d *Send) {
		d.Out.Content = event.Content{Media: &event.Media{
			Kind: event.MediaDocument, FileName: "a.txt",
			File: &event.MediaFile{Path: path, MediaInfo: event.MediaInfo{Kind: event.MediaDocument, MimeType: "text/plain", Size: int64(size)}},
		}}
	}
}

func content(size int) string { return strings.Repeat("0123456789abcde\n", size/16+1)[:size] }

func TestFilesAreKeptUntilSent(t *testing.T) {
	for _, size := range []int{1, pieceSize - 1, pieceSize, pieceSize + 1, perCommit * pieceSize, 3_000_000} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			inBubble(t, nil, func(r *rig) {
				id := r.instance("a", true)
				change := r.file(size)
				d := Send{}
				change(&d)
				key := r.in(id, time.Hour, change)
				if err := os.Remove(d.Out.Content.Media.File.Path); err != nil { // its creator's
					t.Fatal(err)
				}
				r.restart()
				time.Sleep(time.Hour + time.Second)
				r.wantSent(key)
				if got := r.arrivals(); len(got) != 1 || got[0].file != content(size) {
					t.Errorf("%d arrived", len(got))
				}
				r.wantEmpty()
			})
		})
	}
}

func TestDamagedFileIsReported(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		id := r.instance("a", true)
		key := r.in(id, time.Hour, r.file(600_000))
		err := r.store.Update(bg, func(tx *store.Tx) error { return tx.Delete(files, store.Key(id, key, 1)) })
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Hour)
		r.wantFailed(key, "INVALID_MEDIA")
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

func TestLimitsOfTheScheduler(t *testing.T) {
	inBubble(t, func(c *Config) { c.Max, c.MaxBytes = 3, 4*pieceSize }, func(r *rig) {
		id, other := r.instance("a", true), r.instance("b", true)
		for range 2 {
			r.in(id, time.Hour)
		}
		first := r.in(id, time.Hour, r.file(3*pieceSize))
		if _, err := r.accept(id, time.Hour); !errors.Is(err, ErrTooMany) || !strings.Contains(err.Error(), "message.scheduled.max)") {
			t.Error(err)
		}
		if _, err := r.accept(other, time.Hour, r.file(pieceSize+1)); !errors.Is(err, ErrTooMany) || !strings.Contains(err.Error(), "message.scheduled.max_bytes") {
			t.Error(err)
		}
		r.in(other, time.Hour, r.file(pieceSize))
		r.restart() // the counts are those of the file
		if _, err := r.accept(other, time.Hour, r.file(1)); !errors.Is(err, ErrTooMany) {
			t.Error(err)
		}
		if err := r.s.Delete(bg, id, first, nil); err != nil {
			t.Error(err)
		}
		r.in(id, time.Hour, r.file(3*pieceSize))
	})
}

func TestListIsInOrderOfTime(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		id := r.instance("a", true)
		r.in(r.instance("b", true), time.Hour)
		var want []uuid.UUID
		for i := range 7 {
			want = append(want, r.in(id, time.Hour+time.Duration(i)*time.Minute))
		}
		var got []uuid.UUID
		q := Query{Limit: 3}
		for {
			page, err := r.s.List(bg, id, q)
			if err != nil || page.Total != 7 {
				t.Fatal(page, err)
			}
			for _, one := range page.Sends {
				got = append(got, one.ID)
			}
			if (q.After == uuid.Nil) != (page.Previous == uuid.Nil) {
				t.Errorf("previous of the page after %s is %s", q.After, page.Previous)
			}
			if page.Next == uuid.Nil {
				break
			}
			q.After = page.Next
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%v, want %v", got, want)
		}
		page, err := r.s.List(bg, id, Query{Limit: 3, Before: want[6]})
		if err != nil || len(page.Sends) != 3 || page.Sends[0].ID != want[3] || page.Previous != want[3] || page.Next != want[5] {
			t.Errorf("%+v, %v", page, err)
		}
	})
}

func TestRejectedCommitLeavesNothing(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		id := r.instance("a", true)
		no := errors.New("no")
		_, err := r.accept(id, time.Hour, r.file(600_000), func(d *Send) { d.InCommit = func(*store.Tx, uuid.UUID) error { return no } })
		if !errors.Is(err, no) {
			t.Error(err)
		}
		r.wantEmpty()
	})
}

func TestClockThatIsSetForward(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		id := r.instance("a", true)
		key := r.in(id, 3*time.Hour)
		time.Sleep(time.Minute)
		r.skew.Store(int64(3 * time.Hour))
		time.Sleep(time.Minute + time.Second)
		r.wantSent(key)
	})
}

func TestClockThatIsSetBack(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		id := r.instance("a", true)
		key := r.in(id, 3*time.Hour)
		r.skew.Store(-int64(time.Hour))
		time.Sleep(3*time.Hour + 59*time.Minute)
		r.wantQuiet()
		time.Sleep(2 * time.Minute)
		r.wantSent(key)
	})
}

// A clock that is ahead by days would end every send as too late.
func TestUntrustedClockEndsNothing(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		id := r.instance("a", true)
		key := r.in(id, 3*time.Hour)
		r.stop()
		r.skew.Store(int64(1000 * time.Hour))
		r.boot()
		time.Sleep(time.Hour)
		r.wantQuiet()
		r.skew.Store(0)
		r.s.ring() // as the alarm does, within a minute
		time.Sleep(2*time.Hour + 2*time.Minute)
		r.wantSent(key)
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

func TestNothingIsAcceptedOnAFullDisk(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		id := r.instance("a", true)
		r.stop()
		r.minFree = math.MaxUint64
		r.boot()
		if _, err := r.accept(id, time.Hour, r.file(600_000)); !errors.Is(err, store.ErrDiskFull) {
			t.Error(err)
		}
		r.wantEmpty()
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

func TestAllKindsOfContentSurviveTheFile(t *testing.T) {
	quoted := &event.Original{Key: event.MessageKey{RemoteJID: "1@s.whatsapp.net", ID: "X"}, MessageType: "conversation", Content: []byte(`{"text":"a"}`)}
	for _, c := range []event.Content{
		{Text: &event.TextContent{Text: "a"}},
		{Link: &event.LinkContent{Link: "https://example.org", Title: "t", Description: "d", ThumbnailURL: "https://example.org/a.jpg"}},
		{Media: &event.Media{Kind: event.MediaImage, URL: "https://example.org/a.jpg", Caption: "c", ViewOnce: true}},
		{Media: &event.Media{Kind: event.MediaVoice, UploadID: "17", Seconds: 3, Waveform: "AAAA"}},
		{Contacts: []event.ContactContent{{FullName: "Ada", PhoneNumber: "4915"}}},
		{Location: &event.LocationContent{Latitude: 1.5, Longitude: 2.5, Name: "n"}},
		{Reaction: &event.ReactionContent{Key: quoted.Key, Reaction: "👍"}},
		{Poll: &event.PollContent{Name: "n", Options: []string{"a", "b"}, SelectableCount: 1}},
		{Status: &event.StatusContent{Text: "t", BackgroundColor: "#ffffff"}},
		{Forward: quoted},
	} {
		inBubble(t, nil, func(r *rig) {
			var got event.Outgoing
			r.before = func(_ context.Context, out event.Outgoing) error {
				got = out
				return nil
			}
			id := r.instance("a", true)
			want := event.Outgoing{ID: "I", To: "1@g.us", Content: c, Presence: event.PresenceComposing, Delay: time.Second, Quoted: quoted, MentionAll: true}
			r.in(id, time.Hour, func(d *Send) { d.Out = want })
			time.Sleep(time.Hour + time.Minute)
			got.By, got.Leaving, got.Left, got.Turn = 0, nil, nil, nil
			if a, b := asText(t, got), asText(t, want); a != b {
				t.Errorf("sent %s, want %s", a, b)
			}
		})
	}
}

func asText(t *testing.T, out event.Outgoing) string {
	t.Helper()
	raw, err := store.EncodeJSON(out)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// TestStopDuringAccept has Accept and Stop exclude each other.
func TestAcceptAndDeleteAtOnce(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		id := r.instance("a", true)
		var work sync.WaitGroup
		for i := range 20 {
			work.Go(func() {
				key, err := r.accept(id, time.Duration(i)*time.Millisecond, to(fmt.Sprintf("%d@s.whatsapp.net", i)))
				if err != nil {
					t.Error(err)
				}
				_ = r.s.Delete(bg, id, key, nil)
			})
		}
		work.Wait()
		time.Sleep(time.Minute)
		r.wantEmpty()
	})
}
