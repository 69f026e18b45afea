package crash

import (
	"net/http"
	"strings"
	"syscall"
	"time"

	"postern/delivery/outbox"
	"postern/e2e/rig"
	"postern/event"
)

// verify brings everything to its end and compares the program's promises with
// what the phones decrypted, what the receiver took and what the file holds.
func (s *siege) verify() {
	s.T.Helper()
	s.Await("the end of all batches", s.allEnded)
	s.Await("an empty outbox", func() bool { return s.Metric("postern_outbox_pending") == 0 })
	s.deleteSome()
	s.Await("the end of asynchronous sends", func() bool { return s.Metric("postern_asynchronous_sends") == 0 })
	s.Await("the end of scheduled sends", func() bool { return s.Metric("postern_scheduled_sends") == 0 })
	for _, l := range s.accounts {
		s.awaitAllRead(l)
	}
	s.Await("the end of durable deliveries and replays", s.nothingWaits)
	s.Await("silence on the network", func() bool {
		return time.Since(time.Unix(0, s.wire.last.Load())) > 300*time.Millisecond
	})
	s.actors.Wait()
	for _, u := range s.users {
		u.catchUp()
	}
	s.checkReplays()
	decrypted := s.decryptedTexts()
	batches := s.listed()
	s.checkLedger(batches)
	for _, b := range batches {
		s.checkBatch(b, decrypted)
	}
	s.checkTexts(decrypted)
	s.client.CloseIdleConnections()
	_ = s.Cmd.Process.Signal(syscall.SIGTERM)
	s.load.Wait()
	s.noFileLeft()
	s.checkFile(batches)
	s.report(batches)
}

// deleteSome deletes a batch of each user for good, so that some are gone
// however the load went.
func (s *siege) deleteSome() {
	for _, u := range s.users {
		for _, in := range s.ledger.batches {
			if in.owner == u && in.answered && !in.deleting {
				if !u.remove(in) {
					s.T.Errorf("batch %s could not be deleted", in.id)
				}
				break
			}
		}
	}
}

// awaitAllRead makes the stranger write once more, until the receiver hears of
// it: messages are taken in their order, so those before it were taken too.
// Its event is not delivered again when it fails, hence another text each time.
func (s *siege) awaitAllRead(l *account) {
	var asked time.Time
	s.heard.Store(false)
	s.Await("the messages to "+l.name, func() bool {
		if time.Since(asked) > 2*time.Second {
			asked = time.Now()
			text := s.ledger.name("last-word")
			s.lastWord.Store(&text)
			s.write(l, text)
		}
		return s.heard.Load()
	})
}

// listedBatch is a batch as its owner sees it, with its items and events.
type listedBatch struct {
	rig.BatchAnswer
	Name      string
	NextRunAt *string
	owner     *user
	items     []rig.ItemAnswer
	events    []listedEvent
}

type listedEvent struct {
	Sequence uint64
	Event    event.Kind
	State    outbox.State
}

// listed reads every batch of every user.
func (s *siege) listed() (all []*listedBatch) {
	for _, u := range s.users {
		own := rig.Pages[*listedBatch](s.World, u.token, "/message/batches")
		for _, b := range own {
			b.owner = u
		}
		all = append(all, own...)
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

// reading is a text on a phone.
type reading struct{ number, text string }

// decryptedTexts counts how often each recipient read each text.
func (s *siege) decryptedTexts() map[reading]int {
	all := map[reading]int{}
	for _, number := range append(s.strangers(), s.numbers...) {
		if phone, ok := s.Sandbox.Phone(number); ok {
			for _, m := range phone.Received() {
				all[reading{number, wordsOf(m)}]++
			}
		}
	}
	for r, n := range all {
		if n > 1 {
			s.T.Errorf("%s read %q %d times", r.number, r.text, n)
		}
	}
	return all
}

// checkLedger: what was answered exists, and nothing exists that no call asked
// for, or twice.
func (s *siege) checkLedger(batches []*listedBatch) {
	byName := map[string]*listedBatch{}
	for _, b := range batches {
		in := s.ledger.batches[b.Name]
		if in == nil || byName[b.Name] != nil || in.owner != b.owner || in.answered && in.id != b.ID {
			s.T.Errorf("batch %s of %s is not the one that was asked for", b.Name, b.owner.id)
		}
		byName[b.Name] = b
	}
	for name, in := range s.ledger.batches {
		b := byName[name]
		switch {
		case in.deleted && b != nil:
			s.T.Errorf("batch %s was deleted, and is there", name)
		case in.answered && b == nil && !in.deleting:
			s.T.Errorf("batch %s was answered 201 and is lost", name)
		case b == nil:
		case in.stopped && b.Status != event.BatchIsStopped:
			s.T.Errorf("batch %s: a stop was answered, and it is %s", name, b.Status)
		}
	}
}

// checkBatch: a batch is whole, its counts are those of its items, and each
// item tells the truth about its recipient's phone.
func (s *siege) checkBatch(b *listedBatch, decrypted map[reading]int) {
	path := "/message/batches/" + b.ID.String()
	b.items = rig.Pages[rig.ItemAnswer](s.World, b.owner.token, path+"/items")
	b.events = rig.Pages[listedEvent](s.World, b.owner.token, path+"/events")
	if in := s.ledger.batches[b.Name]; in == nil || len(b.items) != in.recipients || b.Counts.Total != in.recipients {
		s.T.Errorf("batch %s has %d items and counts %d of %+v", b.Name, len(b.items), b.Counts.Total, in)
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
			s.T.Errorf("batch %s (%s), %s: %s, and the phone read it %d times", b.Name, b.Status, item.NormalizedRecipient, item.Status, n)
		}
	}
	c := b.Counts
	counted := map[string]int{"SUCCESS": c.Success, "UNKNOWN": c.Unknown, "FAILED": c.Failed, "SKIPPED": c.Skipped, "PENDING": c.Pending, "SENDING": c.Sending}
	for status, n := range counted {
		if results[status] != n {
			s.T.Errorf("batch %s counts %d %s and has %d", b.Name, n, status, results[status])
		}
	}
	if c.Processed != c.Success+c.Unknown+c.Failed+c.Skipped {
		s.T.Errorf("batch %s: %+v", b.Name, c)
	}
}

// checkTexts: a send that was answered 200 was read by all whom it was for, one
// that no phone refused. The result of an accepted one is what was
// reported of it, if anything.
func (s *siege) checkTexts(decrypted map[reading]int) {
	for _, t := range s.ledger.texts {
		least, most := 0, 0
		switch t.status {
		case http.StatusOK:
			least, most = 1, 1
		case http.StatusRequestTimeout, http.StatusNotAcceptable, http.StatusConflict, 0:
			most = 1
		case http.StatusAccepted:
			least, most = rangeOf(s.endOf(t))
		}
		s.answers[t.status]++
		for _, number := range t.readers {
			if n := decrypted[reading{number, t.text}]; n < least || n > most {
				s.T.Errorf("text %s was answered %d, and %s read it %d times; %s %s", t.text, t.status, number, n, t.asked.path, t.answer)
			}
		}
	}
}

// rangeOf returns how often the message of an asynchronous send was read that ended
// so.
func rangeOf(end string) (least, most int) {
	switch end {
	case "sent":
		return 1, 1
	case "", "failed " + event.SendResultUnknown:
		return 0, 1
	}
	return 0, 0
}

// report reports how much happened, so that a run in which nothing did is seen.
func (s *siege) report(batches []*listedBatch) {
	answered, deleted := 0, 0
	for _, in := range s.ledger.batches {
		if in.deleted {
			deleted++
		}
		if in.answered {
			answered++
		}
	}
	s.T.Logf("%d kills at an exact moment; %d creations asked for, %d answered, %d deleted, %d there; items %v; %d sends by the API, answered %v; %d ends of asynchronous ones; %d inbound texts",
		s.trap.hits, len(s.ledger.batches), answered, deleted, len(batches), s.results, len(s.ledger.texts), s.answers, len(s.ledger.ends), len(s.ledger.inbound))
	s.T.Logf("events: %v; %d durable ones, taken %v", s.reported, s.durableEvents, s.takenKinds())
}
