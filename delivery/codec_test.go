package delivery

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"postern/event"
	"postern/store"
)

func fullRecord() Record {
	at := time.UnixMilli(1_900_000_000_123).UTC()
	return Record{
		ID: 9, EventID: uuid.New(), Event: event.SendMessage, Lane: laneBy(tagEndpoint, 7, "crm"), Instance: 7, Name: "shop",
		Batch: uuid.New(), Chat: "5511@s.whatsapp.net", ChatLID: "99@lid", URL: "https://a.example/in", RequestID: uuid.NewString(),
		State: Pending, Once: true, Bytes: 70_000, CreatedAt: at, ExpiresAt: at.Add(time.Hour), NextAttemptAt: at.Add(time.Minute),
		Attempts: 3, LastAttemptAt: at, Duration: 31 * time.Millisecond, LastStatus: 503, LastError: "status 503", Answer: "né",
		ReplayOf: 4, Replay: 5, Replayed: true, Former: Dropped, Line: 1 << 63, EventSeq: 11, OutboxSeq: 12, OwnBody: true,
	}
}

func TestARecordIsReadAsItWasWritten(t *testing.T) {
	for name, want := range map[string]Record{
		"full":  fullRecord(),
		"small": {ID: 9, Event: event.BatchCreated, Lane: BatchLane, State: Delivered, RequestID: "not a uuid"},
		"none":  {ID: 9, Event: event.StatusInstance, Lane: GlobalLane, Instance: 3, State: Expired},
	} {
		got, err := decodeRecord(9, encodeRecord(want))
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s: %v\n%s", name, err, diff)
		}
	}
}

// TestAnAcceptedAttemptDoesNotGrowARecord, so that full pages do not change.
func TestAnAcceptedAttemptDoesNotGrowARecord(t *testing.T) {
	r := fullRecord()
	r.Former, r.Attempts, r.LastError, r.Answer, r.LastStatus, r.LastAttemptAt = "", 0, "", "", 0, time.Time{}
	before := len(encodeRecord(r))
	r.State, r.Attempts, r.LastStatus, r.Duration, r.LastAttemptAt, r.RequestID = Delivered, 1, 204, time.Second, time.Now(), uuid.NewString()
	if after := len(encodeRecord(r)); after > before {
		t.Errorf("%d bytes became %d", before, after)
	}
}

func TestAnEventIsReadAsItWasWritten(t *testing.T) {
	at := time.UnixMilli(1_900_000_000_123).UTC()
	want := Event{
		Seq: 5, ID: uuid.New(), Kind: event.MessagesUpsert, Instance: 7, Name: "shop", OwnerJID: "5@s.whatsapp.net", RequestID: "abc",
		About: event.About{Chat: "1@s.whatsapp.net", LID: "2@lid", FromMe: true}, Sequence: 8, CreatedAt: at, ExpiresAt: at.Add(time.Hour),
		Body: []byte("{}"),
		To: []Addressee{
			{Lane: laneBy(tagWebhook, 7, ""), Due: Due{At: at, Record: 20, Line: 3}, Head: true},
			{Lane: laneBy(tagEndpoint, 7, "crm"), Due: Due{At: at, Record: 21}},
			{Lane: GlobalLane, Due: Due{At: at, Record: 22}, Head: true},
		},
	}
	got, err := decodeEvent(5, encodeEvent(want))
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
}

func TestEveryEventHasANumberInTheFile(t *testing.T) {
	for _, d := range event.Catalogue() {
		n := kindNumber(d.Kind)
		if k, known := kindOf(n); n == 0 || !known || k != d.Kind {
			t.Errorf("%s has number %d, which is %q", d.Kind, n, k)
		}
	}
}

func TestALaneIsReadFromItsKey(t *testing.T) {
	lanes := []Lane{
		BatchLane, GlobalLane, GlobalLane.share(7), laneBy(tagWebhook, 7, ""), laneBy(tagEndpoint, 7, "a"), laneBy(tagEndpoint, 7, "aa"),
		laneBy(tagEndpoint, 7, strings.Repeat("x", 64)),
	}
	for _, lane := range lanes {
		got, rest, ok := parseLane(append(lane.key(), 1, 2))
		if !ok || got != lane || len(rest) != 2 {
			t.Errorf("%+v: %+v, %v, %v", lane, got, rest, ok)
		}
		for _, other := range lanes {
			if other != lane && bytes.HasPrefix(other.key(), lane.key()) {
				t.Errorf("the key of %+v begins as that of %+v", other, lane)
			}
		}
	}
}

func FuzzDecodeRecord(f *testing.F) {
	f.Add(encodeRecord(fullRecord()))
	f.Add(encodeRecord(Record{State: Failed, Event: event.CallUpsert, Lane: laneBy(tagWebhook, 1, "")}))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, raw []byte) {
		r, err := decodeRecord(9, raw)
		if err != nil {
			return
		}
		again, err := decodeRecord(9, encodeRecord(r))
		if diff := cmp.Diff(r, again); diff != "" || err != nil {
			t.Errorf("%v\n%s", err, diff)
		}
	})
}

func FuzzDecodeAttempt(f *testing.F) {
	f.Add(encodeAttempt(Attempt{StartedAt: time.Now(), Duration: time.Second, Status: 500, Error: "e", RequestID: uuid.NewString(), Answer: "a"}))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, raw []byte) {
		a, err := decodeAttempt(2, raw)
		if err != nil {
			return
		}
		if again, err := decodeAttempt(2, encodeAttempt(a)); again != a || err != nil {
			t.Errorf("%+v became %+v, %v", a, again, err)
		}
	})
}

func FuzzDecodeEvent(f *testing.F) {
	f.Add(encodeEvent(Event{Kind: event.CallUpsert, Instance: 1, Body: []byte("{}"), To: []Addressee{{Lane: GlobalLane, Head: true}, {Lane: laneBy(tagEndpoint, 1, "a")}}}))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, raw []byte) {
		e, err := decodeEvent(4, raw)
		if err != nil {
			return
		}
		again, err := decodeEvent(4, encodeEvent(e))
		if diff := cmp.Diff(e, again); diff != "" || err != nil {
			t.Errorf("%v\n%s", err, diff)
		}
	})
}

func FuzzParseLane(f *testing.F) {
	f.Add(laneBy(tagEndpoint, 7, "crm").key())
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, raw []byte) {
		if lane, rest, ok := parseLane(raw); ok && lane.Instance >= 0 {
			again, left, ok := parseLane(append(lane.key(), rest...))
			if !ok || again != lane || !bytes.Equal(left, rest) {
				t.Errorf("%x: %+v became %+v", raw, lane, again)
			}
		}
	})
}

func FuzzDecodeOwn(f *testing.F) {
	f.Add(store.Key(uint16(3), "jid", "body"))
	f.Add([]byte{0xff, 0xff})
	f.Fuzz(func(t *testing.T, raw []byte) {
		owner, body, ok := decodeOwn(raw)
		if ok && string(store.Key(uint16(len(owner)), owner, body)) != string(raw) {
			t.Errorf("%q and %q are not %q", owner, body, raw)
		}
	})
}
