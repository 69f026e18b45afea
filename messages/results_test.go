package messages

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"postern/event"
	"postern/store"
)

const person = "1@s.whatsapp.net"

// sentAt is when the messages of these tests were sent.
var sentAt = time.Unix(1_700_000_000, 0).UTC()

// send stores a message that the account sent to the person.
func (r *rig) send(id int64, keyID string) SentMessage {
	r.Helper()
	m, _, err := r.a.Keep(bg, r.source(id), text(keyID, person, true), Keeping{Kind: event.SendMessage})
	if err != nil {
		r.Fatal(err)
	}
	return SentMessage{id, m.ID, keyID}
}

// write stores a message from a chat, written after sentAt, that may quote another.
func (r *rig) write(id int64, keyID, chat string, after time.Duration, quotes string, adapt ...func(*event.Message)) {
	r.Helper()
	m := text(keyID, chat, false)
	m.MessageTimestamp = sentAt.Add(after).Unix()
	if quotes != "" {
		m.Content = json.RawMessage(`{"text":"hello","contextInfo":{"stanzaId":"` + quotes + `"}}`)
	}
	for _, change := range adapt {
		change(m)
	}
	r.report(id, event.Fact{Kind: event.MessagesUpsert, Data: m})
}

func (r *rig) receipt(id int64, keyID string, status event.UpdateStatus, after time.Duration) {
	r.Helper()
	r.report(id, event.Fact{Kind: event.MessagesUpdate, Data: event.Receipt{KeyIDs: []string{keyID}, Status: status, At: sentAt.Add(after)}})
}

func (r *rig) resultOf(sent ...SentMessage) Result {
	r.Helper()
	all, err := r.a.Results([]Sending{{person, sentAt, sent}})
	if err != nil {
		r.Fatal(err)
	}
	return all[0]
}

func (r *rig) wantResult(name string, got Result, delivered, read, replied time.Duration) {
	r.Helper()
	for what, pair := range map[string]struct {
		got  time.Time
		want time.Duration
	}{"delivered": {got.Delivered, delivered}, "read": {got.Read, read}, "replied": {got.Replied, replied}} {
		if want := sentAt.Add(pair.want); pair.want == 0 && !pair.got.IsZero() || pair.want != 0 && !pair.got.Equal(want) {
			r.Errorf("%s: %s at %s, want after %s", name, what, pair.got, pair.want)
		}
	}
}

func TestReadImpliesDelivered(t *testing.T) {
	r := newRig(t, nil)
	defer r.stop()
	id := r.create()
	none, delivered, read, both := r.send(id, "A"), r.send(id, "B"), r.send(id, "C"), r.send(id, "D")
	r.receipt(id, "A", event.StatusSent, 1*time.Second)
	r.receipt(id, "A", event.StatusServerError, 2*time.Second)
	r.receipt(id, "B", event.StatusDelivered, 3*time.Second)
	r.receipt(id, "B", event.StatusDelivered, 2*time.Second)
	r.receipt(id, "C", event.StatusPlayed, 4*time.Second)
	r.receipt(id, "D", event.StatusRead, 6*time.Second)
	r.receipt(id, "D", event.StatusDelivered, 5*time.Second)
	r.wantResult("none", r.resultOf(none), 0, 0, 0)
	r.wantResult("delivered twice", r.resultOf(delivered), 2*time.Second, 0, 0)
	r.wantResult("played", r.resultOf(read), 4*time.Second, 4*time.Second, 0)
	r.wantResult("both", r.resultOf(both), 5*time.Second, 6*time.Second, 0)
	r.wantResult("any of several parts", r.resultOf(none, delivered, both), 2*time.Second, 6*time.Second, 0)
	r.wantResult("not stored", r.resultOf(SentMessage{id, 0, "D"}), 0, 0, 0)
}

func TestAReplyQuotesOrComesWithinSevenDays(t *testing.T) {
	const week = 7 * 24 * time.Hour
	mine := func(m *event.Message) { m.KeyFromMe = true }
	lid := "900@lid"
	for name, row := range map[string]struct {
		write func(r *rig, id int64)
		want  time.Duration
	}{
		"nothing":       {func(*rig, int64) {}, 0},
		"within 7 days": {func(r *rig, id int64) { r.write(id, "R", person, week, "") }, week},
		"the first of two": {func(r *rig, id int64) {
			r.write(id, "R", person, time.Hour, "")
			r.write(id, "S", person, 2*time.Hour, "A")
		}, time.Hour},
		"later":               {func(r *rig, id int64) { r.write(id, "R", person, week+time.Second, "") }, 0},
		"later, quoting":      {func(r *rig, id int64) { r.write(id, "R", person, 9*week, "A") }, 9 * week},
		"quoting part 2":      {func(r *rig, id int64) { r.write(id, "R", person, 9*week, "B") }, 9 * week},
		"quoting another":     {func(r *rig, id int64) { r.write(id, "R", person, 9*week, "X") }, 0},
		"later, then quoting": {func(r *rig, id int64) { r.write(id, "R", person, 8*week, ""); r.write(id, "S", person, 9*week, "A") }, 9 * week},
		"own":                 {func(r *rig, id int64) { r.write(id, "R", person, time.Hour, "A", mine) }, 0},
		"another chat":        {func(r *rig, id int64) { r.write(id, "R", "11@s.whatsapp.net", time.Hour, "A") }, 0},
		"another instance":    {func(r *rig, _ int64) { r.write(r.create(), "R", person, time.Hour, "A") }, 0},
		"by LID": {func(r *rig, id int64) {
			r.write(id, "R", person, time.Hour, "", func(m *event.Message) { m.KeyLID = &lid })
		}, time.Hour},
		"by history": {func(r *rig, id int64) {
			before, after := text("R", person, false), text("S", person, false)
			before.MessageTimestamp, after.MessageTimestamp = sentAt.Unix()-1, sentAt.Add(time.Hour).Unix()
			r.report(id, event.Fact{Kind: event.HistorySync, Data: &event.HistoryPart{Messages: []*event.Message{after, before}}})
		}, time.Hour},
		"after own ones": {func(r *rig, id int64) {
			for i := range 2 * replyLook {
				r.write(id, fmt.Sprint("O", i), person, time.Minute, "", mine)
			}
			r.write(id, "R", person, time.Hour, "")
		}, time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, nil)
			defer r.stop()
			id := r.create()
			r.write(id, "earlier", person, -time.Hour, "")
			first, second := r.send(id, "A"), r.send(id, "B")
			row.write(r, id)
			r.wantResult(name, r.resultOf(first, second), 0, 0, row.want)
		})
	}
}

func TestResultsNeedWhatIsStored(t *testing.T) {
	for name, row := range map[string]struct {
		adapt              func(*Config)
		receipts, received bool
		delivered, replied time.Duration
	}{
		"all":         {nil, true, true, time.Second, time.Hour},
		"no receipts": {func(c *Config) { c.SaveUpdates = false }, false, true, 0, time.Hour},
		"no messages": {func(c *Config) { c.SaveMessages = false }, true, false, time.Second, 0},
	} {
		r := newRig(t, row.adapt)
		id := r.create()
		sent := r.send(id, "A")
		r.receipt(id, "A", event.StatusDelivered, time.Second)
		r.write(id, "R", person, time.Hour, "")
		r.wantResult(name, r.resultOf(sent), row.delivered, 0, row.replied)
		if receipts, received := r.a.Keeps(); receipts != row.receipts || received != row.received {
			t.Errorf("%s: %v, %v", name, receipts, received)
		}
		r.stop()
	}
}

// BenchmarkResults asks for the results of 100 000 messages, 250 at a time, of which each has two receipts and every
// tenth has a reply.
func BenchmarkResults(b *testing.B) {
	const n, step = 100_000, 250
	r := newRig(b, nil)
	defer r.stop()
	id := r.create()
	all := make([]Sending, n)
	for from := 0; from < n; from += step {
		err := r.s.Update(b.Context(), func(tx *store.Tx) error {
			for i := from; i < from+step; i++ {
				chat := fmt.Sprintf("4915%09d@s.whatsapp.net", i)
				lid := fmt.Sprintf("%d@lid", 1e14+i)
				m := text(fmt.Sprintf("3EB0%016X", i*2654435761), chat, true)
				m.KeyLID = &lid
				stored, err := r.a.StoreMessage(tx, id, m)
				if err != nil {
					return err
				}
				for _, status := range []event.UpdateStatus{event.StatusDelivered, event.StatusRead} {
					if err := putUpdate(tx, id, stored, StoredUpdate{status, event.At(sentAt)}); err != nil {
						return err
					}
				}
				all[i] = Sending{chat, sentAt, []SentMessage{{id, stored, m.KeyID}}}
				if i%10 == 0 {
					reply := text(fmt.Sprint("R", i), chat, false)
					reply.KeyLID = &lid
					if _, err := r.a.StoreMessage(tx, id, reply); err != nil {
						return err
					}
				}
			}
			return nil
		})
		if err != nil {
			b.Fatal(err)
		}
	}
	for b.Loop() {
		read, replied := 0, 0
		for from := 0; from < n; from += step {
			results, err := r.a.Results(all[from : from+step])
			if err != nil {
				b.Fatal(err)
			}
			for _, one := range results {
				if !one.Read.IsZero() {
					read++
				}
				if !one.Replied.IsZero() {
					replied++
				}
			}
		}
		if read != n || replied != n/10 {
			b.Fatal(read, replied)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/n, "µs/message")
}
