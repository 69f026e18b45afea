package crash

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"postern/app"
	"postern/batch"
	"postern/delivery/logbook"
	"postern/delivery/outbox"
	"postern/e2e/powerloss"
	"postern/event"
	"postern/sandbox"
	"postern/store"
	"postern/store/pages/pagestest"
)

func trapWhenRecorded() {
	if os.Getenv(asRecorded) != "1" {
		return
	}
	if err := powerloss.Trap(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// afterCut is an image of the folder, opened by the real store.
type afterCut struct {
	folder string
	file   *store.Store
	engine *batch.Engine

	events    map[uuid.UUID][]outbox.Entry // of each user, by number
	entries   map[uint64]outbox.Entry
	bodies    map[string]bool
	texts     map[string]bool // of stored messages
	instances map[string]int64
	hooks     map[int64]string
	keys      map[string][]byte // answers by Idempotency-Key
	items     map[uuid.UUID]map[string]string
	durable   map[string]string // bodies of durable events by webhook-id
	numbered  map[uint64]string // and by number
	records   []uint64          // of their deliveries
	log       *logbook.Log
}

// check opens an image and checks it against what was reported before the cut.
func (w *watched) check(folder string, pos int) (err error) {
	d := &afterCut{folder: folder}
	path := filepath.Join(folder, "var", "lib", "postern.db")
	if _, err := os.Stat(path); err == nil {
		if err := pagestest.Check(path); err != nil {
			return err
		}
		report, err := store.Check(context.Background(), path, app.Buckets())
		if err != nil || len(report.Faults) > 0 {
			return fmt.Errorf("faults: %q (%w)", report.Faults, err)
		}
		if d.file, err = store.Open(store.Options{Path: path, Buckets: app.Buckets(), MinFree: 1}); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, d.file.Close()) }()
		if err := d.read(); err != nil {
			return err
		}
	}
	for _, f := range w.facts {
		if f.pos > pos {
			break
		}
		if f.until > 0 && f.until <= pos {
			continue
		}
		if d.file == nil && f.kind != "secrets" {
			return fmt.Errorf("there is no data file, and %s was reported", f.kind)
		}
		if err := f.holds(d); err != nil {
			return fmt.Errorf("%s, reported at %d: %w", f.kind, f.pos, err)
		}
	}
	return nil
}

// read reads all that facts are about.
func (d *afterCut) read() (err error) {
	d.events, d.entries, d.bodies = map[uuid.UUID][]outbox.Entry{}, map[uint64]outbox.Entry{}, map[string]bool{}
	d.texts, d.instances, d.hooks, d.keys = map[string]bool{}, map[string]int64{}, map[int64]string{}, map[string][]byte{}
	d.items = map[uuid.UUID]map[string]string{}
	box, err := outbox.Open(d.file)
	if err != nil {
		return err
	}
	d.engine, err = batch.New(batch.Config{Store: d.file, Outbox: box, Fleet: noFleet{}, NewMessageID: func() string { return "" }})
	if err != nil {
		return err
	}
	err = d.file.View(func(tx *store.Tx) error {
		entries, err := outbox.After(tx, 0, 1<<20)
		if err != nil {
			return err
		}
		for _, e := range entries {
			d.entries[e.Seq], d.bodies[string(e.Body)] = e, true
			d.events[e.Owner] = append(d.events[e.Owner], e)
			if want := uint64(len(d.events[e.Owner])); e.OwnerSeq != want {
				return fmt.Errorf("event %d has number %d of its user, want %d", e.Seq, e.OwnerSeq, want)
			}
		}
		return errors.Join(d.readMessages(tx), d.readInstances(tx), d.readKeys(tx), d.readDurable(tx))
	})
	if err == nil {
		err = d.hasRecords()
	}
	if n := d.file.Stats().Damaged; n > 0 {
		err = errors.Join(err, fmt.Errorf("%d damaged records", n))
	}
	return err
}

func (d *afterCut) readMessages(tx *store.Tx) error {
	return tx.Scan("message", store.Range{}, func(_, value []byte) (bool, error) {
		if text, found := cutText(value); found {
			d.texts[text] = true
		}
		return true, nil
	})
}

func (d *afterCut) readInstances(tx *store.Tx) error {
	err := tx.Scan("instance_name", store.Range{}, func(key, value []byte) (bool, error) {
		id, err := strconv.ParseInt(fmt.Sprintf("%x", value), 16, 64)
		d.instances[string(key)] = id
		return true, err
	})
	return errors.Join(err, tx.Scan("webhook", store.Range{}, func(key, value []byte) (bool, error) {
		var hook struct{ URL string }
		id, err := strconv.ParseInt(fmt.Sprintf("%x", key), 16, 64)
		err = errors.Join(err, json.Unmarshal(value, &hook))
		d.hooks[id] = hook.URL
		return true, err
	}))
}

func (d *afterCut) readKeys(tx *store.Tx) error {
	return tx.Scan("idempotency_key", store.Range{}, func(key, value []byte) (bool, error) {
		_, answer, _ := bytes.Cut(value, []byte("\n"))
		owner := 1 + 16
		if key[0] == 'i' {
			owner = 1 + 8
		}
		d.keys[string(key[owner:])] = answer
		return true, nil
	})
}

func (d *afterCut) hasFile(content string, path ...string) error {
	raw, err := os.ReadFile(filepath.Join(append([]string{d.folder}, path...)...))
	if err == nil && string(raw) != content {
		err = fmt.Errorf("%s is %q", filepath.Join(path...), raw)
	}
	return err
}

// hasSandbox: the sandbox's file, written behind, is there and whole.
func (d *afterCut) hasSandbox() error {
	path := filepath.Join(d.folder, "phones", "sandbox.db")
	if _, err := os.Stat(path); err != nil {
		return err
	}
	if err := pagestest.Check(path); err != nil {
		return fmt.Errorf("sandbox: %w", err)
	}
	s, err := store.Open(store.Options{Path: path, Buckets: sandbox.Buckets(), MinFree: 1})
	if err != nil {
		return err
	}
	return s.Close()
}

func (d *afterCut) hasBatch(owner, id uuid.UUID, processed int) error {
	b, err := d.engine.Batch(owner, id)
	if err == nil && b.Counts.Processed < processed {
		err = fmt.Errorf("%d items of %s were reported to be processed, %d are", processed, id, b.Counts.Processed)
	}
	return err
}

func (d *afterCut) hasEnded(owner, id uuid.UUID, status event.BatchStatus) error {
	b, err := d.engine.Batch(owner, id)
	if err == nil && b.Status != status {
		err = fmt.Errorf("batch %s was reported to be %s and is %s", id, status, b.Status)
	}
	return err
}

func (d *afterCut) hasItem(owner, id uuid.UUID, item, status string) error {
	items := d.items[id]
	if items == nil {
		list, err := d.engine.Items(owner, id, batch.ItemFilter{}, batch.Page{Limit: 200})
		if err != nil {
			return err
		}
		items = map[string]string{}
		for _, i := range list.Records {
			items[i.ID.String()] = string(i.Status)
		}
		d.items[id] = items
	}
	if items[item] != status {
		return fmt.Errorf("item %s was reported as %s and is %q", item, status, items[item])
	}
	return nil
}

func (d *afterCut) hasEvent(owner uuid.UUID, n uint64, body string) error {
	own := d.events[owner]
	if uint64(len(own)) < n {
		return fmt.Errorf("event %d of %s is not there, %d are", n, owner, len(own))
	}
	if got := string(own[n-1].Body); body != "" && got != body {
		return fmt.Errorf("event %d of %s is\n%s\nand was reported as\n%s", n, owner, got, body)
	}
	return nil
}

func (d *afterCut) hasBody(body string) error {
	if !d.bodies[body] {
		return fmt.Errorf("an event that was delivered is not there: %s", body)
	}
	return nil
}

func (d *afterCut) hasEntry(id uint64, state string) error {
	e, found := d.entries[id]
	if !found || state == "delivered" && e.State != outbox.Delivered {
		return fmt.Errorf("event %d was reported as %s and is %q", id, state, e.State)
	}
	return nil
}

func (d *afterCut) hasText(text string) error {
	if !d.texts[text] {
		return fmt.Errorf("the message %s is not there", text)
	}
	return nil
}

func (d *afterCut) hasInstance(name string) error {
	if d.instances[name] == 0 {
		return fmt.Errorf("instance %s is not there", name)
	}
	return nil
}

func (d *afterCut) hasNoInstance(name string) error {
	if d.instances[name] != 0 {
		return fmt.Errorf("instance %s is there", name)
	}
	return nil
}

// hasWebhook: the configurations of the one instance that gets any carry rising
// numbers.
func (d *afterCut) hasWebhook(least int64) error {
	url := d.hooks[d.instances["red"]]
	if n, err := strconv.ParseInt(url[strings.LastIndex(url, "/")+1:], 10, 64); err != nil || n < least {
		return fmt.Errorf("webhook %d was reported and it is %q", least, url)
	}
	return nil
}

func (d *afterCut) hasKey(key string, answer []byte) error {
	if got, found := d.keys[key]; !found || !bytes.Equal(got, answer) {
		return fmt.Errorf("Idempotency-Key %s holds %q, the answer was %q", key, got, answer)
	}
	return nil
}

// noFleet is a fleet without instances.
type noFleet struct{}

func (noFleet) Instance(int64) (string, event.State, bool) { return "", "", false }
func (noFleet) Gate(batch.Question) batch.Gate             { return batch.Gate{} }
func (noFleet) Send(context.Context, int64, event.Outgoing) (batch.Receipt, error) {
	return batch.Receipt{}, event.ErrNotConnected
}
