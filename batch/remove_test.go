package batch

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"postern/batch/record"
	"postern/batch/table"
	"postern/event"
	"postern/store"
)

// rows counts what the file has of batches, but for events.
func (r *rig) rows() map[string]int {
	r.Helper()
	all := map[string]int{}
	for _, b := range record.Buckets() {
		n, err := r.s.Rows(b.Name)
		if err != nil {
			r.Fatal(err)
		}
		if n > 0 && b.Name != record.BucketNumber { // of these, checkNumbers
			all[b.Name] = n
		}
	}
	checkNumbers(r, r.s)
	return all
}

func (r *rig) wantNothing(after string) {
	r.Helper()
	if left := r.rows(); len(left) > 0 {
		r.Errorf("%s there is %v", after, left)
	}
}

// gone checks that no reader finds the batch, whatever it asks for.
func (r *rig) gone(id uuid.UUID) {
	r.Helper()
	ctx := context.Background()
	call := func(fn func(context.Context, uuid.UUID, uuid.UUID) (View, error)) error {
		_, err := fn(ctx, owner, id)
		return err
	}
	errs := map[string]error{
		"start": call(r.e.StartBatch), "pause": call(r.e.Pause), "stop": call(r.e.StopBatch), "delete": r.e.Delete(ctx, owner, id),
	}
	_, errs["batch"] = r.e.Batch(owner, id)
	_, errs["items"] = r.e.Items(owner, id, ItemFilter{}, Page{})
	_, errs["attempts"] = r.e.Attempts(owner, id, ItemFilter{}, Page{})
	_, errs["item"] = r.e.Item(owner, id, record.ItemID(id, 0))
	_, _, errs["processing"] = r.e.Processing(owner, id)
	_, errs["pause of an operator"] = r.e.PauseAny(ctx, id)
	_, errs["stop of an operator"] = r.e.StopAny(ctx, id)
	for what, err := range errs {
		if !errors.Is(err, ErrNotFound) {
			r.Errorf("%s: %v, want that there is no such batch", what, err)
		}
	}
	for name, list := range map[string]func(Filter, Page) (List[View], error){
		"the owner's": func(f Filter, p Page) (List[View], error) { return r.e.Batches(owner, f, p) }, "the operator's": r.e.AllBatches,
	} {
		for _, f := range []Filter{{}, {Status: in(stopped, complete, witherr)}} {
			l, err := list(f, Page{})
			if err != nil {
				r.Fatal(err)
			}
			for _, v := range l.Records {
				if v.ID == id {
					r.Errorf("%s list has it", name)
				}
			}
			if l.TotalRecords != len(l.Records) {
				r.Errorf("%s list counts %d batches and has %d", name, l.TotalRecords, len(l.Records))
			}
		}
	}
}

func TestOnlyOwnFinalBatchesCanBeDeleted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(1, 2)
		r := newRig(t, f, nil)
		defer r.stop()
		req := delayed(2, time.Hour)
		r.create(req)
		r.status(process)
		var refused *table.TransitionError
		if err := r.e.Delete(t.Context(), owner, r.batch); !errors.As(err, &refused) || !errors.Is(err, ErrInvalidTransition) || refused.Status != process {
			t.Errorf("while it sends: %v", err)
		}
		r.do(r.e.Pause)
		r.status(paused)
		if err := r.e.Delete(t.Context(), owner, r.batch); !errors.Is(err, ErrInvalidTransition) {
			t.Errorf("while it is paused: %v", err)
		}
		r.do(r.e.StopBatch)
		r.status(stopped)
		if err := r.e.Delete(t.Context(), uuid.New(), r.batch); !errors.Is(err, ErrNotFound) {
			t.Errorf("by a stranger: %v", err)
		}
		if err := r.e.Delete(t.Context(), owner, r.batch); err != nil {
			t.Fatal(err)
		}
		r.gone(r.batch)
		synctest.Wait()
		r.wantNothing("after a deletion")
	})
}

// A batch with many items and attempts is gone at once, and what it had is
// removed in small commits. Whatever the file is like after one of them, as a
// crash leaves it: no reader finds a part of the batch, and the next start goes
// on until nothing is left.
func TestDeletionIsAtomicAndSurvivesACrash(t *testing.T) {
	const items, attempts = 2*record.RemoveStep + 300, record.RemoveStep + 1
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(1)
		r := newRig(t, f, func(c *Config) { c.Enabled = false })
		kept := r.create(request(3)).ID
		r.create(request(items))
		err := r.s.Update(t.Context(), func(tx *store.Tx) error {
			for n := range attempts {
				if err := store.PutJSON(tx, record.BucketAttempt, record.AttemptKey(r.batch, n, 1), record.Attempt{}); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		r.do(r.e.StopBatch)
		synctest.Wait()
		r.stop()

		var images [][]byte
		r.onCommit = func(int, time.Duration) {
			image, err := os.ReadFile(r.path)
			if err != nil {
				t.Error(err)
			}
			images = append(images, image)
		}
		r.boot()
		synctest.Wait()
		images = nil
		if err := r.e.Delete(t.Context(), owner, r.batch); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		r.gone(r.batch)
		r.stop()
		if n := len(images); n < 5 {
			t.Fatalf("the removal of %d records took %d commits", items+attempts, n)
		}
		r.onCommit = nil
		left := items + attempts + 3
		for n, image := range images[:5] {
			if err := os.WriteFile(r.path, image, 0o600); err != nil {
				t.Fatal(err)
			}
			// Before the next start: the batch is gone, and no commit took more than a step.
			s := openStore(t, r.path)
			had := left
			left = 0
			for _, b := range []string{record.BucketItem, record.BucketAttempt} {
				rows, err := s.Rows(b)
				if err != nil {
					t.Fatal(err)
				}
				left += rows
			}
			if removed := had - left; removed > record.RemoveStep || n > 0 && removed == 0 {
				t.Errorf("commit %d removed %d records", n, removed)
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			r.boot()
			r.gone(r.batch)
			synctest.Wait()
			r.gone(r.batch)
			want := map[string]int{record.BucketHeader: 1, record.BucketSpec: 1, record.BucketMessage: 1, record.BucketOwner: 1, record.BucketOpen: 1, record.BucketItem: 3}
			if got := r.rows(); fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("after the start on the file of commit %d there is %v, want %v", n, got, want)
			}
			if _, err := r.e.Batch(owner, kept); err != nil {
				t.Errorf("the other batch: %v", err)
			}
			r.stop()
		}
	})
}

// Retention: a final batch goes when it has ended, be it that the program ran all
// the time or began only then; what is not final stays.
func TestFinalBatchesGoWhenTheirRetentionIsOver(t *testing.T) {
	const life = 100 * time.Hour
	for _, restarts := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			f := newFleet(1, 2)
			r := newRig(t, f, func(c *Config) { c.Retention, c.MaxDelay = life, 100*time.Hour })
			defer r.stop()
			draftRequest := request(2)
			draftRequest.AutoStart = new(false)
			unfinished := r.create(draftRequest).ID
			slow := r.create(delayed(3, 60*time.Hour)).ID // ends 120 h later
			fast := r.create(request(2)).ID
			synctest.Wait()
			began := time.Now()
			there := func(id uuid.UUID) bool {
				_, err := r.e.Batch(owner, id)
				if err != nil && !errors.Is(err, ErrNotFound) {
					t.Fatal(err)
				}
				return err == nil
			}
			at := func(after time.Duration, want map[uuid.UUID]bool) {
				t.Helper()
				if restarts {
					r.stop()
				}
				time.Sleep(time.Until(began.Add(after)))
				if restarts {
					r.boot()
					if after > life {
						time.Sleep(25 * time.Hour) // the store trusts a clock that is days ahead after a day
					}
				}
				synctest.Wait()
				for id, want := range want {
					if there(id) != want {
						t.Errorf("restarts %t, after %s: batch %s is there: %t", restarts, after, id, !want)
					}
				}
			}
			at(life-time.Minute, map[uuid.UUID]bool{fast: true, slow: true, unfinished: true})
			at(life+life/10, map[uuid.UUID]bool{fast: false, slow: true, unfinished: true})
			r.batch = slow
			if restarts { // the delay begins again with each start
				time.Sleep(60 * time.Hour)
				synctest.Wait()
			}
			ended := r.view()
			for ended.Status != complete {
				time.Sleep(time.Hour)
				synctest.Wait()
				ended = r.view()
			}
			began = ended.CompletedAt.Time
			at(life-time.Minute, map[uuid.UUID]bool{slow: true, unfinished: true})
			at(life+life/10, map[uuid.UUID]bool{slow: false, unfinished: true})
			want := map[string]int{record.BucketHeader: 1, record.BucketSpec: 1, record.BucketMessage: 1, record.BucketOwner: 1, record.BucketOpen: 1, record.BucketItem: 2}
			if got := r.rows(); fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("left are %v, want %v", got, want)
			}
		})
	}
}

// A batch whose id is of another time than its creation, as after a clock was
// set back, is kept no longer for it.
func TestFutureIDDoesNotPreventRetention(t *testing.T) {
	for _, ahead := range []time.Duration{-1000 * time.Hour, 0, 1000 * time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, newFleet(1), func(c *Config) { c.Retention = 100 * time.Hour })
			defer r.stop()
			id := uuid.Must(uuid.NewV7())
			copy(id[:6], idAt(time.Now().Add(ahead)))
			err := r.s.Update(t.Context(), func(tx *store.Tx) error {
				now := tx.Now().UnixMilli()
				h := record.Header{Core: table.Core{Status: complete}, CompletedAt: now}
				return errors.Join(
					record.PutHeader(tx, id, &h), store.PutJSON(tx, record.BucketSpec, id[:], record.Spec{Owner: owner, CreatedAt: now}),
					store.PutJSON(tx, record.BucketMessage, id[:], record.Message{}), tx.Put(record.BucketOwner, store.Key(owner, id), nil),
					record.NoteStatus(tx, owner, id, "", complete),
				)
			})
			if err != nil {
				t.Fatal(err)
			}
			time.Sleep(99 * time.Hour)
			if left := r.rows(); left[record.BucketHeader] != 1 {
				t.Errorf("an id %s ahead: before its time there is %v", ahead, left)
			}
			time.Sleep(200 * time.Hour)
			synctest.Wait()
			r.wantNothing(fmt.Sprintf("an id %s ahead: after its time", ahead))
		})
	}
}

// A list continues where it was although what its cursor pointed to is gone.
func TestACursorOutlivesWhatItPointedTo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(1, 2)
		r := newRig(t, f, nil)
		defer r.stop()
		var ids []uuid.UUID
		for range 6 {
			ids = append(ids, r.create(request(1)).ID)
			synctest.Wait()
		}
		for name, list := range map[string]func(Filter, Page) (List[View], error){
			"the owner's": func(f Filter, p Page) (List[View], error) { return r.e.Batches(owner, f, p) }, "the operator's": r.e.AllBatches,
		} {
			l, err := list(Filter{}, Page{Limit: 2})
			if err != nil || len(l.Records) != 2 || l.Records[1].ID != ids[len(ids)-2] {
				t.Fatalf("%s list begins with %v (%v)", name, l.Records, err)
			}
			for _, gone := range []int{len(ids) - 2, len(ids) - 3} { // the cursor's own, and the next
				if err := r.e.Delete(t.Context(), owner, ids[gone]); err != nil {
					t.Fatal(err)
				}
			}
			ids = append(ids[:len(ids)-3], ids[len(ids)-1])
			l, err = list(Filter{}, Page{Limit: 2, Next: *l.NextCursor})
			if err != nil || len(l.Records) == 0 || l.Records[0].ID != ids[len(ids)-2] || l.TotalRecords != len(ids) {
				t.Errorf("%s list goes on with %v of %d (%v)", name, l.Records, l.TotalRecords, err)
			}
		}
	})
}

// A stream of a batch that is deleted meanwhile ends with an error, and never
// looks whole.
func TestDeletionEndsTheProcessingStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, newFleet(1), func(c *Config) { c.Enabled = false })
		defer r.stop()
		r.create(request(2*partSize + 1))
		r.do(r.e.StopBatch)
		_, parts, err := r.e.Processing(owner, r.batch)
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for _, err = range parts {
			if n++; n == 1 {
				if err := r.e.Delete(t.Context(), owner, r.batch); err != nil {
					t.Fatal(err)
				}
			}
		}
		if n != 2 || !errors.Is(err, ErrNotFound) {
			t.Errorf("it ended after %d parts with %v", n, err)
		}
	})
}

// An operator sees the batches of all users and pauses and stops any.
func TestOperatorControlsBatchesOfAllUsers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, newFleet(1, 2), nil)
		defer r.stop()
		var want []uuid.UUID
		for n := range 7 {
			req := request(1)
			if n%2 == 1 {
				req = delayed(2, time.Hour)
			}
			v, err := r.e.Create(t.Context(), uuid.UUID{1, byte(n % 3)}, req)
			if err != nil {
				t.Fatal(err)
			}
			want = append([]uuid.UUID{v.ID}, want...)
			time.Sleep(2 * time.Millisecond)
			synctest.Wait()
		}
		all := func(f Filter) (ids []uuid.UUID, total int) {
			for p := (Page{Limit: 2}); ; {
				l, err := r.e.AllBatches(f, p)
				if err != nil {
					t.Fatal(err)
				}
				for _, v := range l.Records {
					ids = append(ids, v.ID)
				}
				if l.NextCursor == nil {
					return ids, l.TotalRecords
				}
				p.Next = *l.NextCursor
			}
		}
		if got, total := all(Filter{}); fmt.Sprint(got) != fmt.Sprint(want) || total != len(want) {
			t.Errorf("%d batches %v, want %v", total, got, want)
		}
		working := []uuid.UUID{want[1], want[3], want[5]}
		if got, total := all(Filter{Status: in(process, queued)}); fmt.Sprint(got) != fmt.Sprint(working) || total != 3 {
			t.Errorf("%d batches %v are at work, want %v", total, got, working)
		}
		if got, _ := all(Filter{Status: in(process, complete)}); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("at work or completed are %v, want %v", got, want)
		}
		for _, to := range []struct {
			do   func(context.Context, uuid.UUID) (View, error)
			want event.BatchStatus
		}{{r.e.PauseAny, paused}, {r.e.StopAny, stopped}} {
			if _, err := to.do(t.Context(), working[0]); err != nil {
				t.Errorf("to %s: %v", to.want, err)
			}
			synctest.Wait()
			l, err := r.e.AllBatches(Filter{Status: in(to.want)}, Page{})
			if err != nil || len(l.Records) != 1 || l.Records[0].ID != working[0] {
				t.Errorf("%s are %v, %v", to.want, l.Records, err)
			}
		}
		if _, err := r.e.StopAny(t.Context(), uuid.New()); !errors.Is(err, ErrNotFound) {
			t.Errorf("an unknown batch: %v", err)
		}
	})
}
