package main

import (
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/google/uuid"

	"postern/event"
	"postern/store"
)

// verify brings everything to its end and compares the program's promises with
// what the phones decrypted, what the receiver took and what the file holds.
func (s *siege) verify() {
	s.t.Helper()
	s.await("the end of all batches", s.allEnded)
	s.await("an empty outbox", func() bool { return s.metric("postern_outbox_pending") == 0 })
	for _, l := range s.accounts {
		s.awaitAllRead(l)
	}
	s.await("silence on the network", func() bool {
		return time.Since(time.Unix(0, s.wire.last.Load())) > 300*time.Millisecond
	})
	s.actors.Wait()
	for _, u := range s.users {
		u.catchUp()
	}
	decrypted := s.decryptedTexts()
	batches := s.listed()
	s.checkLedger(batches)
	for _, b := range batches {
		s.checkBatch(b, decrypted)
	}
	s.checkTexts(decrypted)
	s.client.CloseIdleConnections()
	_ = s.cmd.Process.Signal(syscall.SIGTERM)
	s.load.Wait()
	s.checkFile(batches)
	s.report(batches)
}

// awaitAllRead has the stranger write once more, until the receiver hears of
// it: messages are taken in their order, so those before it were taken too.
// Its event is not delivered again when it fails, hence another text each time.
func (s *siege) awaitAllRead(l *account) {
	var asked time.Time
	s.heard.Store(false)
	s.await("the messages to "+l.name, func() bool {
		if time.Since(asked) > 2*time.Second {
			asked = time.Now()
			text := s.ledger.name("last-word")
			s.lastWord.Store(&text)
			s.write(l, text)
		}
		return s.heard.Load()
	})
}

// listedBatch is a batch as its owner sees it, with its items.
type listedBatch struct {
	batchAnswer
	Name      string
	NextRunAt *string
	owner     *user
	items     []itemAnswer
}

// listed reads every batch of every user.
func (s *siege) listed() (all []*listedBatch) {
	for _, u := range s.users {
		for cursor := ""; ; {
			var page struct {
				NextCursor *string
				Records    []*listedBatch
			}
			s.call(bearer(u.token), http.MethodGet, "/message/batches?limit=200"+cursor, nil, &page)
			for _, b := range page.Records {
				b.owner = u
			}
			all = append(all, page.Records...)
			if page.NextCursor == nil {
				break
			}
			cursor = "&nextCursor=" + *page.NextCursor
		}
	}
	return all
}

// allEnded does what is left to a user: it starts what rests and stops the
// large drafts.
func (s *siege) allEnded() bool {
	open := 0
	for _, b := range s.listed() {
		do := ""
		switch b.Status {
		case event.BatchIsStopped, event.BatchIsCompleted, event.BatchIsWithErrors:
			continue
		case event.BatchDraft:
			do = "start"
			if strings.HasPrefix(b.Name, "large") {
				do = "stop"
			}
		case event.BatchIsPaused, event.BatchIsInterrupted:
			do = "start"
		case event.BatchWaitingForWindow:
			if b.NextRunAt == nil {
				do = "pause"
			}
		default:
		}
		open++
		if do != "" {
			s.ask(b.owner.token, http.MethodPost, "/message/batches/"+b.ID.String()+"/"+do, nil)
		}
	}
	return open == 0
}

// metric reads one figure of the program, -1 when there is none.
func (s *siege) metric(name string) float64 {
	req, err := http.NewRequestWithContext(s.t.Context(), http.MethodGet, s.api.base+"/metrics", nil)
	if err != nil {
		s.t.Fatal(err)
	}
	req.Header.Set("apikey", s.sec.GlobalAuthToken)
	status, text := s.send(req)
	if status != http.StatusOK {
		return -1
	}
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(line, name+" "); ok {
			f, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
			if err != nil {
				s.t.Fatal(err)
			}
			return f
		}
	}
	return -1
}

// reading is a text on a phone.
type reading struct{ number, text string }

// decryptedTexts counts how often each recipient read each text.
func (s *siege) decryptedTexts() map[reading]int {
	all := map[reading]int{}
	for _, number := range s.numbers {
		if phone, ok := s.sandbox.Phone(number); ok {
			for _, m := range phone.Received() {
				all[reading{number, m.Text}]++
			}
		}
	}
	for r, n := range all {
		if n > 1 {
			s.t.Errorf("%s read %q %d times", r.number, r.text, n)
		}
	}
	return all
}

// checkLedger: what was answered exists, and nothing exists that nobody asked
// for, or twice.
func (s *siege) checkLedger(batches []*listedBatch) {
	byName := map[string]*listedBatch{}
	for _, b := range batches {
		in := s.ledger.batches[b.Name]
		if in == nil || byName[b.Name] != nil || in.owner != b.owner || in.answered && in.id != b.ID {
			s.t.Errorf("batch %s of %s is not the one that was asked for", b.Name, b.owner.id)
		}
		byName[b.Name] = b
	}
	for name, in := range s.ledger.batches {
		b := byName[name]
		switch {
		case in.answered && b == nil:
			s.t.Errorf("batch %s was answered 201 and is lost", name)
		case in.stopped && b.Status != event.BatchIsStopped:
			s.t.Errorf("batch %s: a stop was answered, and it is %s", name, b.Status)
		}
	}
}

// checkBatch: a batch is whole, its counts are those of its items, and each
// item tells the truth about its recipient's phone.
func (s *siege) checkBatch(b *listedBatch, decrypted map[reading]int) {
	b.items = s.itemsOf(b.owner.token, b.ID)
	if in := s.ledger.batches[b.Name]; in == nil || len(b.items) != in.recipients || b.Counts.Total != in.recipients {
		s.t.Errorf("batch %s has %d items and counts %d of %+v", b.Name, len(b.items), b.Counts.Total, in)
	}
	results := map[string]int{}
	for _, item := range b.items {
		results[item.Status]++
		s.results[item.Status]++
		n := decrypted[reading{item.NormalizedRecipient, b.Name}]
		wrong := true
		switch item.Status {
		case "SUCCESS":
			wrong = n != 1
		case "UNKNOWN":
			wrong = n > 1
		case "FAILED", "SKIPPED":
			wrong = n != 0
		case "PENDING":
			wrong = n != 0 || b.Status != event.BatchIsStopped
		}
		if wrong {
			s.t.Errorf("batch %s (%s), %s: %s, and the phone read it %d times", b.Name, b.Status, item.NormalizedRecipient, item.Status, n)
		}
	}
	c := b.Counts
	counted := map[string]int{"SUCCESS": c.Success, "UNKNOWN": c.Unknown, "FAILED": c.Failed, "SKIPPED": c.Skipped, "PENDING": c.Pending, "SENDING": c.Sending}
	for status, n := range counted {
		if results[status] != n {
			s.t.Errorf("batch %s counts %d %s and has %d", b.Name, n, status, results[status])
		}
	}
	if c.Processed != c.Success+c.Unknown+c.Failed+c.Skipped {
		s.t.Errorf("batch %s: %+v", b.Name, c)
	}
}

// checkTexts: a send that was answered 200 was read, one that was refused was
// not.
func (s *siege) checkTexts(decrypted map[reading]int) {
	for _, t := range s.ledger.texts {
		n := decrypted[reading{t.number, t.text}]
		least, most := 0, 0
		switch t.status {
		case http.StatusOK:
			least, most = 1, 1
		case http.StatusRequestTimeout, http.StatusNotAcceptable, http.StatusConflict, 0:
			most = 1
		}
		if n < least || n > most {
			s.t.Errorf("text %s was answered %d, and the phone read it %d times", t.text, t.status, n)
		}
	}
}

// checkFile reads the data file of the program that ended.
func (s *siege) checkFile(batches []*listedBatch) {
	file, err := store.Open(store.Options{Path: s.dataFile(), Buckets: buckets()})
	if err != nil {
		s.t.Fatal(err)
	}
	defer file.Close()
	err = file.View(func(tx *store.Tx) error {
		entries, err := tx.OutboxAfter(0, 10_000_000)
		if err != nil {
			return err
		}
		s.checkSequences(entries)
		s.checkDeliveries(entries)
		s.checkHeard(entries)
		s.checkWalks(entries, batches)
		if err := s.checkLeftovers(tx, batches); err != nil {
			return err
		}
		return s.checkMessages(tx, batches)
	})
	if err != nil {
		s.t.Error(err)
	}
}

// checkSequences: each user's events are numbered from 1 without holes.
func (s *siege) checkSequences(entries []store.OutboxEntry) {
	newest := map[uuid.UUID]uint64{}
	for i, e := range entries {
		if newest[e.Owner]++; e.OwnerSeq != newest[e.Owner] {
			s.t.Fatalf("event %d has number %d of its owner, want %d", e.Seq, e.OwnerSeq, newest[e.Owner])
		}
		if e.Seq != uint64(i+1) {
			s.t.Fatalf("event %d is the %d. one", e.Seq, i+1)
		}
	}
}

// checkDeliveries: the receiver took every committed event, and never saw
// bytes that are not those of a committed event.
func (s *siege) checkDeliveries(entries []store.OutboxEntry) {
	committed := map[string]bool{}
	for _, e := range entries {
		committed[string(e.Body)] = true
		s.told[e.Kind]++
		if s.ledger.accepted[string(e.Body)] == 0 || e.State != store.OutboxDelivered {
			s.t.Errorf("event %d %s is %s, and the receiver took it %d times", e.Seq, e.Kind, e.State, s.ledger.accepted[string(e.Body)])
		}
	}
	for body := range s.ledger.offered {
		if !committed[body] {
			s.t.Errorf("the receiver was sent an event that was never committed: %s", body)
		}
	}
}

// checkWalks: the events of each batch are a way through the state machine
// that ends where the batch is, with one event for each item that ended badly.
func (s *siege) checkWalks(entries []store.OutboxEntry, batches []*listedBatch) {
	events := map[uuid.UUID][]store.OutboxEntry{}
	for _, e := range entries {
		events[e.Batch] = append(events[e.Batch], e)
	}
	for _, b := range batches {
		own := events[b.ID]
		delete(events, b.ID)
		if at, err := walk(own); err != nil || len(own) > 0 && !slices.Contains(at, b.Status) {
			s.t.Errorf("batch %s is %s, its events lead to %v: %v; %v", b.Name, b.Status, at, err, kindsOf(own))
		}
		told := map[string]string{}
		for _, e := range own {
			var body struct{ Data struct{ ItemID string } }
			if json.Unmarshal(e.Body, &body) == nil && body.Data.ItemID != "" {
				if told[body.Data.ItemID] != "" {
					s.t.Errorf("batch %s: item %s is told twice", b.Name, body.Data.ItemID)
				}
				told[body.Data.ItemID] = strings.ToUpper(strings.TrimPrefix(string(e.Kind), "message.batch.item."))
			}
		}
		for _, item := range b.items {
			if bad := item.Status == "FAILED" || item.Status == "UNKNOWN"; bad && told[item.ID] != item.Status || !bad && told[item.ID] != "" {
				s.t.Errorf("batch %s: item %s is %s, and was told as %q", b.Name, item.ID, item.Status, told[item.ID])
			}
		}
	}
	for id := range events {
		s.t.Errorf("events of batch %s, which does not exist", id)
	}
}

func kindsOf(entries []store.OutboxEntry) (all []event.Kind) {
	for _, e := range entries {
		all = append(all, e.Kind)
	}
	return all
}

// checkLeftovers: a creation that was cut off left no items.
func (s *siege) checkLeftovers(tx *store.Tx, batches []*listedBatch) error {
	known := map[string]bool{}
	for _, b := range batches {
		known[string(b.ID[:])] = true
	}
	for _, bucket := range []string{"batch", "batch_spec", "batch_message", "batch_item", "batch_attempt"} {
		lost := map[string]bool{}
		err := tx.Scan(bucket, store.Range{}, func(key, _ []byte) (bool, error) {
			if id := string(key[:16]); !known[id] {
				lost[id] = true
			}
			return true, nil
		})
		if err != nil || len(lost) > 0 {
			s.t.Errorf("%s holds records of %d batches that do not exist (%v)", bucket, len(lost), err)
		}
	}
	for _, bucket := range []string{"batch_creating", "batch_open"} {
		err := tx.Scan(bucket, store.Range{}, func(key, _ []byte) (bool, error) {
			s.t.Errorf("%s still holds %x", bucket, key)
			return true, nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// checkMessages: every message that a phone sent to an instance is stored
// once, and so is every message that was sent and answered.
func (s *siege) checkMessages(tx *store.Tx, batches []*listedBatch) error {
	stored := map[string]int{}
	err := tx.Scan("message", store.Range{}, func(_, value []byte) (bool, error) {
		var m struct {
			Message struct {
				Content struct{ Text string }
			}
		}
		err := json.Unmarshal(value, &m)
		stored[m.Message.Content.Text]++
		return true, err
	})
	if err != nil {
		return err
	}
	for _, in := range s.ledger.inbound {
		if stored[in.text] != 1 {
			s.t.Errorf("%s (%s) to %s is stored %d times", in.text, in.id, in.line.name, stored[in.text])
		}
	}
	for _, t := range s.ledger.texts {
		if t.status == http.StatusOK && stored[t.text] != 1 {
			s.t.Errorf("%s was answered 200 and is stored %d times", t.text, stored[t.text])
		}
	}
	for _, b := range batches {
		if stored[b.Name] != b.Counts.Success {
			s.t.Errorf("batch %s sent %d messages, %d are stored", b.Name, b.Counts.Success, stored[b.Name])
		}
	}
	return nil
}

// report tells how much happened, so that a run in which nothing did is seen.
func (s *siege) report(batches []*listedBatch) {
	answered := 0
	for _, in := range s.ledger.batches {
		if in.answered {
			answered++
		}
	}
	s.t.Logf("%d kills at an exact moment; %d creations asked for, %d answered, %d there; items %v; %d sends by the API, %d inbound texts",
		s.trap.hits, len(s.ledger.batches), answered, len(batches), s.results, len(s.ledger.texts), len(s.ledger.inbound))
	s.t.Logf("events: %v", s.told)
}
