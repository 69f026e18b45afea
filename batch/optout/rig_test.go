package optout

import (
	"context"
	"encoding/json"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"postern/batch/paging"
	"postern/event"
	"postern/store"
)

var (
	anna  = uuid.MustParse("0190a1b2-0000-7000-8000-00000000000a")
	bert  = uuid.MustParse("0190a1b2-0000-7000-8000-00000000000b")
	sale  = uuid.MustParse("0190a1b2-0000-7000-8000-000000000001")
	other = uuid.MustParse("0190a1b2-0000-7000-8000-000000000002")
)

const number = "4915112345678"

// rig is a book on a file, with a clock and an address book.
type rig struct {
	*testing.T
	path  string
	s     *store.Store
	b     *Book
	mu    sync.Mutex
	ahead time.Duration       // of the clock
	same  map[string][]string // the other addresses of each JID
	final map[uuid.UUID]bool
	made  int // commits
}

func newRig(t *testing.T) *rig {
	r := &rig{T: t, path: filepath.Join(t.TempDir(), "o.db"), same: map[string][]string{}, final: map[uuid.UUID]bool{}}
	r.boot()
	t.Cleanup(func() { _ = r.s.Close() })
	return r
}

func (r *rig) boot() {
	r.Helper()
	var err error
	r.s, err = store.Open(store.Options{Path: r.path, Buckets: Buckets(), NoSync: true, MinFree: 1, OnCommit: func(int, time.Duration) { r.made++ }, Now: func() time.Time {
		r.mu.Lock()
		defer r.mu.Unlock()
		return time.Now().Add(r.ahead)
	}})
	if err == nil {
		r.b, err = Open(Config{Store: r.s, Addresses: func(jid string) []string { return r.same[jid] }, Open: func(_ *store.Tx, id uuid.UUID) bool { return !r.final[id] }})
	}
	if err != nil {
		r.Fatal(err)
	}
}

// reboot closes the file without a stop of the book, checks it and opens it again.
func (r *rig) reboot() {
	r.Helper()
	if err := r.s.Close(); err != nil {
		r.Fatal(err)
	}
	found, err := store.Check(context.Background(), r.path, Buckets())
	if err != nil || len(found.Faults) > 0 {
		r.Fatalf("%v, faults %q", err, found.Faults)
	}
	r.boot()
}

func (r *rig) pass(d time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ahead += d
}

// met makes a phone number and a LID one person.
func (r *rig) met(number, lid string) {
	r.same[number+"@s.whatsapp.net"], r.same[lid+"@lid"] = []string{lid + "@lid"}, []string{number + "@s.whatsapp.net"}
}

func to(address string) event.Recipient {
	who, err := event.ParseRecipient(address)
	if err != nil {
		panic(err)
	}
	return who
}

func (r *rig) add(owner uuid.UUID, addresses ...string) int {
	r.Helper()
	var all []Addition
	for _, a := range addresses {
		all = append(all, Addition{To: to(a), Reason: "asked", Source: "test"})
	}
	n, err := r.b.Add(context.Background(), owner, all)
	if err != nil {
		r.Fatal(err)
	}
	return n
}

func (r *rig) remove(owner uuid.UUID, addresses ...string) int {
	r.Helper()
	var all []event.Recipient
	for _, a := range addresses {
		all = append(all, to(a))
	}
	n, err := r.b.Remove(context.Background(), owner, all)
	if err != nil {
		r.Fatal(err)
	}
	return n
}

func (r *rig) out(owner uuid.UUID, number string) (out bool) {
	r.Helper()
	err := r.s.View(func(tx *store.Tx) error {
		out = r.b.OptedOut(tx, owner, number)
		return nil
	})
	if err != nil {
		r.Fatal(err)
	}
	return out
}

func (r *rig) list(owner uuid.UUID) (numbers []string) {
	r.Helper()
	l, err := r.b.List(owner, paging.Page{Limit: 200})
	if err != nil {
		r.Fatal(err)
	}
	for _, e := range l.Records {
		numbers = append(numbers, e.Number)
	}
	if l.TotalRecords != len(numbers) {
		r.Errorf("the list has %d entries and counts %d", len(numbers), l.TotalRecords)
	}
	return numbers
}

// campaign creates a batch with words that contacts numbers.
func (r *rig) campaign(id, owner uuid.UUID, words []string, numbers ...string) {
	r.Helper()
	r.update(func(tx *store.Tx) error { return r.b.Campaign(tx, id, owner, words, []int64{1, 2}) })
	for _, n := range numbers {
		r.update(func(tx *store.Tx) error { return r.b.Contacted(tx, id, n) })
	}
}

func (r *rig) update(fn func(*store.Tx) error) {
	r.Helper()
	if err := r.s.Update(context.Background(), fn); err != nil {
		r.Fatal(err)
	}
}

func text(from, said string) *event.Message {
	content, _ := json.Marshal(map[string]string{"text": said})
	return &event.Message{KeyID: "X", KeyRemoteJID: &from, MessageType: "conversation", Content: content}
}

// says has somebody write to an instance. It reports whether the message was a word.
func (r *rig) says(instance int64, m *event.Message) bool {
	r.Helper()
	fn := r.b.Heed(instance, m)
	if fn == nil {
		return false
	}
	r.update(fn)
	return true
}
