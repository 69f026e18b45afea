package faults

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"postern/app"
	"postern/delivery"
	"postern/delivery/outbox"
	"postern/delivery/stream"
	"postern/e2e/rig"
	"postern/event"
	"postern/internal/nightly"
	"postern/store"
	"postern/store/pages"
)

// richFile returns a copy of a data file that has something in nearly every bucket, closed.
func richFile(t *testing.T) string {
	t.Helper()
	f, err := os.Open("e2e/upgrades/testdata/5bb81c9/postern.db.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	unpacked, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := io.ReadAll(unpacked)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "postern.db")
	if err := os.WriteFile(path, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	brought(t, path)
	edit(t, path, func(tx *store.Tx) error {
		upload, group := uuid.UUID{7}, "1-2@g.us"
		key := []byte("u-and-some-key")
		return errors.Join(
			store.PutJSON(tx, "media_upload", store.Key(1, upload), map[string]any{"id": upload, "number": 5}),
			tx.Put("media_upload_id", upload[:], store.Key(1, 5)),
			tx.Put("media_upload_id", store.Key(5), store.Key(1, upload)),
			tx.Put("idempotency_key", key, []byte(`{"at":1700000000000,"route":"x","digest":"","requestId":"r"}`+"\n")),
			tx.Put("idempotency_time", store.Key(1700000000000, key), nil),
			tx.Put("device", store.Key(1, byte('G'), uint16(len(group)), group, "u:1"), []byte("key")),
			tx.Put("device", store.Key(1, byte('g'), "u:1", byte(0), group), nil),
			tx.Put("proxy", store.Key(1), []byte(`{}`)),
			tx.Put("instance_settings", store.Key(1), []byte(`{}`)),
			tx.Put("processing", store.Key(1, upload), []byte(`{}`)),
			tx.Put("scheduled_send", store.Key(1, upload), []byte(`{"lateMax":1000}`)),
			tx.Put("scheduled_late", store.Key(1, int64(7)<<40+1000, upload), nil),
			tx.Put("sample_minute", store.Key(uint64(60)), []byte(`{}`)),
			tx.Put("sample_hour", store.Key(uint64(3600)), []byte(`{}`)),
			tx.Put("receiver_pause", store.Key(1, "1:webhook"), make([]byte, 8)),
			tx.Put("erasure", store.Key(1, upload), []byte(`{}`)),
			tx.Put("scheduled_begun", store.Key(1, upload), nil),
			tx.Put("scheduled_file", store.Key(1, upload, 0), []byte("piece")),
			tx.Put("call_answer", store.Key(1, "u@s.whatsapp.net"), make([]byte, 8)),
			tx.Put("read_due", store.Key(1, 1), []byte(`{}`)),
			tx.Put("pacing", store.Key(1, byte('L')), []byte(`{}`)),
			tx.Put("media_link", store.Key(1), []byte(`{}`)),
			tx.Put("media_file", store.Key(1, 1), []byte(`{}`)),
			tx.Put("media_file_due", store.Key(1, 1700000000000, 1), nil),
			tx.Put("media_file_old", store.Key(1, 1700000000000, 1), nil),
			tx.Put("chat_timer", store.Key(1, "u@lid"), []byte(`{}`)),
			tx.Put("poll_vote", store.Key(1, "POLL", byte(0), int64(1)), nil),
			tx.Put("message_awaited", store.Key(1, 1), make([]byte, 9)),
			tx.Put("delivery_consumer", store.Key(1, "crm"), []byte(`{}`)),
			tx.Put("delivery_loss", store.Key(1, 1), store.Key(1)),
			stream.Add(tx, stream.Row{Kind: event.MessagesUpsert, Instance: 1, CreatedAt: tx.Now(), Body: []byte("{}")}),
			tx.Put("notify", store.Key(1, 7, 1), make([]byte, 9)),
			tx.Put("pacing_heads", store.Key(1), make([]byte, 4)),
			tx.Put("webhook", store.Key(1), []byte(`{}`)),
			tx.Put("webhook_options", store.Key(1), []byte(`{}`)),
			tx.Put("client_version", []byte("state"), []byte(`{}`)),
			tx.Put("batch_creating", bytes.Repeat([]byte{7}, 16), nil),
			tx.Put("batch_removing", bytes.Repeat([]byte{8}, 16), nil),
			tx.Put("delivery_forget", store.Key(99), nil),
			tx.Put("delivery_expiry", store.Key(uint64(1), byte('e'), uint64(1)), nil),
			tx.Put("delivery_log", store.Key([]byte("gone"), int64(99)), store.Key(uint64(1))),
		)
	})
	if faults := faultsOf(t, path); len(faults) > 0 {
		t.Fatalf("of a whole file: %q", faults)
	}
	return path
}

// brought brings a file to the current schema, as the next start would.
func brought(t *testing.T, path string) {
	t.Helper()
	s, err := store.Open(store.Options{Path: path, Buckets: app.Buckets(), NoSync: true, MinFree: 1})
	if err != nil {
		t.Fatal(err)
	}
	box, err := outbox.Open(s)
	if err == nil {
		_, err = delivery.Open(s, delivery.Config{Outbox: box, Log: true})
	}
	if err := errors.Join(err, s.Close()); err != nil {
		t.Fatal(err)
	}
}

func edit(t *testing.T, path string, fn func(*store.Tx) error) {
	t.Helper()
	s, err := store.Open(store.Options{Path: path, Buckets: app.Buckets(), NoSync: true, MinFree: 1})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(s.Update(t.Context(), fn), s.Close()); err != nil {
		t.Fatal(err)
	}
}

func faultsOf(t *testing.T, path string) []string {
	t.Helper()
	r, err := store.Check(t.Context(), path, app.Buckets())
	if err != nil {
		t.Fatal(err)
	}
	return r.Faults
}

// repaired repairs a file and checks it against what the rule says: no fault is left, the
// store opens it, and the file that was there is beside it, byte for byte.
func repaired(t *testing.T, path, what string) store.Repaired {
	t.Helper()
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	done, err := store.Repair(t.Context(), path, app.Buckets(), ".replaced")
	if err != nil || done.Kept == "" {
		t.Errorf("%s: not repaired: %+v, %v", what, done, err)
		return done
	}
	if kept, err := os.ReadFile(done.Kept); err != nil || !bytes.Equal(kept, before) {
		t.Errorf("%s: the file that was there is not kept: %v", what, err)
	}
	if faults := faultsOf(t, path); len(faults) > 0 {
		t.Errorf("%s: repaired, and still: %q", what, faults)
	}
	edit(t, path, func(*store.Tx) error { return nil })
	if again, err := store.Repair(t.Context(), path, app.Buckets(), ".again"); err != nil || again.Kept != "" {
		t.Errorf("%s: repaired twice: %+v, %v", what, again, err)
	}
	return done
}

// missed is whether the check reports each record of a bucket that is missing; of the
// others it tells only when they say nonsense, or not at all: nothing else depends on
// them.
var missed = []string{
	"instance", "instance_name", "message", "message_key", "message_chat", "contact_jid", "lid_map",
	"batch", "batch_spec", "batch_message", "batch_item", "batch_owner", "batch_open",
	"media_upload", "media_upload_id", "idempotency_time", "scheduled_send", "scheduled_late",
	"outbox", "outbox_state", "outbox_owner", "outbox_replay", "outbox_batch",
	"delivery_due", "delivery_lane", "delivery_line", "delivery_backlog",
}

// understood is whether the check reports each record of a bucket that says nonsense.
var understood = []string{
	"instance", "message", "contact", "webhook", "webhook_options", "instance_settings", "proxy", "processing", "scheduled_send", "read_due",
	"device_run", "client_version", "delivery_log", "batch", "batch_item", "pacing", "pacing_heads", "access_audit",
}

// few returns up to n records of a bucket, from its beginning to its end.
func few(t *testing.T, path, bucket string, n int) (keys [][]byte) {
	t.Helper()
	edit(t, path, func(tx *store.Tx) error {
		keys = nil
		return tx.Scan(bucket, store.Range{}, func(k, _ []byte) (bool, error) {
			keys = append(keys, k)
			return true, nil
		})
	})
	for len(keys) > n {
		keys = slices.Delete(keys, 1+len(keys)/n*(n-1)/2, 2+len(keys)/n*(n-1)/2)
	}
	return keys
}

// TestMissingAndInvalidRecordsAreReported and the repair leaves a whole file: for
// records of each bucket in which something is said about others.
func TestMissingAndInvalidRecordsAreReported(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes a minute")
	}
	path := richFile(t)
	if _, _, err := store.Compact(t.Context(), path, app.Buckets()); err != nil { // it is copied again and again
		t.Fatal(err)
	}
	image, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range append(store.Buckets(), app.Buckets()...) {
		if b.Needs == nil {
			continue
		}
		for _, key := range few(t, path, b.Name, nightly.Or(1, 3)) {
			for name, change := range map[string]func(*store.Tx) error{
				"without":          func(tx *store.Tx) error { return tx.Delete(b.Name, key) },
				"with nonsense in": func(tx *store.Tx) error { return tx.Put(b.Name, key, []byte("{nonsense")) },
			} {
				what := fmt.Sprintf("%s %s/%x", name, b.Name, key)
				copied := filepath.Join(t.TempDir(), "copy.db")
				if err := os.WriteFile(copied, image, 0o600); err != nil {
					t.Fatal(err)
				}
				edit(t, copied, change)
				faults := faultsOf(t, copied)
				if len(faults) == 0 {
					if name == "without" && slices.Contains(missed, b.Name) {
						t.Errorf("%s: the check tells of no fault", what)
					}
					if name == "with nonsense in" && slices.Contains(understood, b.Name) {
						t.Errorf("%s: the check tells of no fault", what)
					}
					continue
				}
				repaired(t, copied, what)
			}
		}
	}
}

// TestOrphansOfALostInstanceAreRemoved in every bucket.
func TestOrphansOfALostInstanceAreRemoved(t *testing.T) {
	path := richFile(t)
	of := func(tx *store.Tx, bucket string) int {
		n, err := tx.Count(bucket, store.Key(1))
		if err != nil {
			t.Error(err)
		}
		return n
	}
	var owned []string
	edit(t, path, func(tx *store.Tx) error {
		owned = nil
		for _, b := range app.Buckets() {
			if strings.HasPrefix(b.Key, "instance") && b.Name != "delivery_forget" && b.Name != "delivery_backlog" && b.Name != "media_file_gone" {
				if owned = append(owned, b.Name); of(tx, b.Name) == 0 {
					t.Errorf("the file has nothing in %s", b.Name)
				}
			}
		}
		name, _, err := store.GetJSON[struct{ Name string }](tx, "instance", store.Key(1))
		return errors.Join(err, tx.Delete("instance", store.Key(1)), tx.Delete("instance_name", []byte(name.Name)))
	})
	reported := strings.Join(faultsOf(t, path), "\n")
	for _, bucket := range owned { // an index leads to what is there still, and goes with that
		if !strings.Contains(reported, "record "+bucket+"/") && !slices.Contains([]string{"message_key", "message_chat", "message_update", "contact_jid"}, bucket) {
			t.Errorf("the check tells of nothing in %s", bucket)
		}
	}
	repaired(t, path, "without an instance")
	edit(t, path, func(tx *store.Tx) error {
		for _, bucket := range append(owned, "delivery_lane") {
			if n := of(tx, bucket); n > 0 {
				t.Errorf("%s has %d records of it", bucket, n)
			}
		}
		for _, bucket := range []string{"delivery", "delivery_event"} {
			if n, _ := tx.Count(bucket, nil); n > 0 {
				t.Logf("%s has %d records of others", bucket, n)
			}
		}
		return nil
	})
}

// TestDeletionMarkOfALiveInstanceIsRemoved: a start would take away what waits
// for it.
func TestDeletionMarkOfALiveInstanceIsRemoved(t *testing.T) {
	for bucket, key := range map[string][]byte{"delivery_forget": store.Key(1), "delivery_log": store.Key([]byte("gone"), int64(1))} {
		path := richFile(t)
		edit(t, path, func(tx *store.Tx) error { return tx.Put(bucket, key, store.Key(uint64(1))) })
		if reported := strings.Join(faultsOf(t, path), "\n"); !strings.Contains(reported, "record "+bucket+"/") || !strings.Contains(reported, "marks as deleted what is there") {
			t.Errorf("%s: the check reports %q", bucket, reported)
		}
		repaired(t, path, "a mark in "+bucket)
		edit(t, path, func(tx *store.Tx) error {
			if tx.Has(bucket, key) {
				t.Errorf("the mark in %s is there", bucket)
			}
			return nil
		})
	}
}

// TestProgramStartsOnARepairedFile: the instance whose record was lost keeps
// its messages, other losses are reported, and a healthy file is left alone.
func TestProgramStartsOnARepairedFile(t *testing.T) {
	w := rig.NewWorld(t)
	raw, err := os.ReadFile(richFile(t))
	if err == nil {
		err = os.MkdirAll(filepath.Dir(w.DataFile()), 0o700)
	}
	if err == nil {
		err = os.WriteFile(w.DataFile(), raw, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	run := func(want int, says string, args ...string) string {
		t.Helper()
		status, output := rig.Program(t, w.Folder, nil, append(args, w.DataFile())...)
		if status != want || !strings.Contains(output, says) {
			t.Errorf("%q: %d %s", args, status, output)
		}
		return output
	}
	run(0, "nothing to repair", "check", "--repair")
	run(2, "--repair", "check", "--yes")
	var messages int
	edit(t, w.DataFile(), func(tx *store.Tx) (err error) {
		if messages, err = tx.Count("message", nil); err != nil {
			return err
		}
		return errors.Join(tx.Delete("instance", store.Key(1)), tx.Delete("delivery_due", first(tx, "delivery_due")))
	})
	run(1, "only the name of an instance is left", "check")
	run(2, "--yes", "check", "--repair")
	if beside, _ := filepath.Glob(w.DataFile() + ".*"); len(beside) > 0 {
		t.Errorf("without consent there are %q", beside)
	}
	run(0, "2 created; the old file is now "+w.DataFile()+".replaced-", "check", "--repair", "--yes")
	run(0, "no fault", "check")
	edit(t, w.DataFile(), func(tx *store.Tx) error {
		left, err := tx.Count("message", nil)
		rec, found, _ := store.GetJSON[struct {
			ID    int64
			Name  string
			Token struct{ Value string }
		}](tx, "instance", store.Key(1))
		if left != messages || !found || rec.ID != 1 || rec.Name == "" || rec.Token.Value != "" {
			t.Errorf("%d messages of %d, %+v", left, messages, rec)
		}
		return err
	})
	w.Start()
	w.Stop()
	run(0, "no fault", "check")
}

func first(tx *store.Tx, bucket string) (key []byte) {
	_ = tx.Walk(bucket, store.Range{}, func(k []byte) (bool, error) {
		key = bytes.Clone(k)
		return false, nil
	})
	return key
}

// TestARandomDamageIsRepairedOrRefused flips bits and overwrites pages of a rich file.
// What can be read at all is repaired to a file without a fault, which opens; otherwise
// nothing was done.
func TestARandomDamageIsRepairedOrRefused(t *testing.T) {
	image, err := os.ReadFile(richFile(t))
	if err != nil {
		t.Fatal(err)
	}
	used := usedPages(t, image)
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 1))
	outcomes := map[string]int{}
	files := nightly.Or(24, 150)
	for n := range files {
		broken, at := bytes.Clone(image), used[rng.IntN(len(used))]+rng.IntN(4096)
		what := fmt.Sprintf("bit %d of byte %d", n%8, at)
		if n%3 == 0 {
			at = at / 4096 * 4096
			what = fmt.Sprintf("page at %d is zeros", at)
			clear(broken[at:min(at+4096, len(broken))])
		} else {
			broken[at] ^= 1 << (n % 8)
		}
		path := filepath.Join(t.TempDir(), "copy.db")
		if err := os.WriteFile(path, broken, 0o600); err != nil {
			t.Fatal(err)
		}
		report, err := store.Check(t.Context(), path, app.Buckets())
		if err == nil && len(report.Faults) > 0 {
			if _, err = store.Repair(t.Context(), path, app.Buckets(), ".first"); err == nil {
				outcomes["repaired"]++
				if err := os.Remove(path + ".first"); err != nil {
					t.Error(what, err)
				}
				if faults := faultsOf(t, path); len(faults) > 0 {
					t.Errorf("%s: repaired, and still: %q", what, faults)
				}
				edit(t, path, func(*store.Tx) error { return nil })
				continue
			}
		}
		if err == nil {
			outcomes["no fault"]++
			continue
		}
		outcomes["refused"]++
		if !errors.Is(err, store.ErrCorrupt) && !errors.Is(err, store.ErrForeign) {
			t.Errorf("%s: %v", what, err)
		}
		if after, err := os.ReadFile(path); err != nil || !bytes.Equal(after, broken) {
			t.Errorf("%s: refused, and the file was changed (%v)", what, err)
		}
		if beside, _ := filepath.Glob(path + "?*"); len(beside) > 0 {
			t.Errorf("%s: refused, and there are %q", what, beside)
		}
	}
	t.Log(outcomes)
	if outcomes["repaired"] < files/3 {
		t.Error("little was repaired")
	}
}

// usedPages returns where the pages are that hold records, and the two heads.
func usedPages(t *testing.T, image []byte) []int {
	t.Helper()
	f, err := pages.Open(bytes.NewReader(image), int64(len(image)))
	if err != nil {
		t.Fatal(err)
	}
	all := map[int]bool{0: true, 4096: true}
	_, err = f.Walk(pages.Visitor{
		Bucket: func(string, uint64) error { return nil },
		Record: func(r pages.Record) error {
			all[int(r.At)/4096*4096] = true
			return nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return slices.Sorted(maps.Keys(all))
}

// TestRepairUsesSafeReplacements: no instance dials without the
// proxy that it had, and every session begins again when it is unknown whether the program
// was killed.
func TestRepairUsesSafeReplacements(t *testing.T) {
	path := richFile(t)
	marked := []byte(`"url":"http://marked.example:3128"`)
	edit(t, path, func(tx *store.Tx) error {
		return errors.Join(
			tx.Put("proxy", store.Key(1), slices.Concat([]byte("{"), marked, []byte(`,"for":["socket","media"]}`))),
			tx.Put("device_run", []byte("run"), []byte(`{"crashes":3,"open":true}`)),
		)
	})
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range [][]byte{marked, []byte(`{"crashes":3,"open":true}`)} {
		if !bytes.Contains(raw, part) {
			t.Fatalf("the file does not have %s", part)
		}
		raw = bytes.ReplaceAll(raw, part, bytes.Repeat([]byte{'?'}, len(part)))
	}
	if err := os.WriteFile(path, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	if done := repaired(t, path, "without proxy and run"); done.Damaged != 2 {
		t.Errorf("%d records could not be read: %q", done.Damaged, done.Told)
	}
	edit(t, path, func(tx *store.Tx) error {
		held, err := tx.Get("proxy", store.Key(1))
		run, _, errRun := store.GetJSON[struct{ Crashes uint32 }](tx, "device_run", []byte("run"))
		if held == nil || run.Crashes < 1_000_000 {
			t.Errorf("the proxy is %q, %d crashes", held, run.Crashes)
		}
		return errors.Join(err, errRun)
	})
}
