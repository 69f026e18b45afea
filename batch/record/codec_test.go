package record

import (
	"encoding/hex"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"postern/batch/table"
	"postern/event"
	"postern/store"
)

func sampleHeader() Header {
	return Header{
		Core: table.Core{
			Status: event.BatchIsInterrupted, Started: true, Reported: 42, AutoResume: true,
			Counts: table.Counts{Total: 28, Pending: 1, Sending: 2, Success: 3, Failed: 4, Skipped: 5, Unknown: 6},
		},
		Fence: 1<<64 - 1, Cursor: 8, Current: 7, Reason: "LEASE_EXPIRED", WindowOff: true,
		UpdatedAt: 1, StartedAt: 2, CompletedAt: 3, PausedAt: 4, StoppedAt: 5, InterruptedAt: 6, RecoveredAt: 7, NextRunAt: -8,
		Shares: []Share{{1, 2, 3}, {}, {4, 5, 6}},
		Recent: []Newer{{6, []byte("six")}, {7, []byte("seven")}},
	}
}

func sampleItems() map[string]Item {
	delay := int64(1500)
	return map[string]Item{
		"untouched":               {Input: "4915112345678"},
		"untouched, reformatted":  {Input: "+49 151 12345678", To: "4915112345678"},
		"with details":            {Input: "49151", Detailed: true},
		"being sent, details":     {Input: "49151", Detailed: true, Status: ItemSending, Instance: 3, ClientID: "3EB0A1", Attempts: 1, UpdatedAt: 9, StartedAt: 9},
		"a part sent":             {Input: "49151", Parts: []SentPart{{3, "3EB0A1", 12}}},
		"between parts":           {Input: "49151", Detailed: true, Parts: []SentPart{{3, "3EB0A1", 12}, {4, "x", 0}}, Status: ItemSending, Instance: 3, Attempts: 1, UpdatedAt: 9, StartedAt: 9},
		"being sent":              {Input: "49151", Status: ItemSending, Instance: 3, ClientID: "3EB0A1", Attempts: 1, UpdatedAt: 9, StartedAt: 9},
		"back to pending":         {Input: "49151", Attempts: 2, UpdatedAt: 9},
		"sent as usual":           {Input: "49151", Status: ItemSuccess, JID: "49151@s.whatsapp.net", Instance: 3, ClientID: "3EB0A1", WhatsApp: "3EB0A1", Attempts: 1, UpdatedAt: 9, StartedAt: 8, EndedAt: 9},
		"another JID, another id": {Input: "49151", To: "4915", Status: ItemSuccess, JID: "1@lid", Instance: 3, ClientID: "3EB0A1", WhatsApp: "3EB0A2", MessageID: 77, Attempts: 1, DelayMs: &delay, UpdatedAt: 9, StartedAt: 8, EndedAt: 9},
		"failed":                  {Input: "49151", Status: ItemFailed, Instance: 1 << 40, ClientID: "x", Attempts: 3, DelayMs: new(int64), Code: event.SendMessageFailed, Error: "nö", UpdatedAt: 1 << 41, StartedAt: 1 << 40, EndedAt: 1 << 42},
	}
}

func TestRecordsComeBackAsTheyWere(t *testing.T) {
	h := sampleHeader()
	got, err := DecodeHeader(h.encode())
	if diff := cmp.Diff(h, got, cmp.AllowUnexported(Newer{})); err != nil || diff != "" {
		t.Errorf("header: %v\n%s", err, diff)
	}
	for name, want := range sampleItems() {
		got, err := DecodeItem(want.Encode())
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%s: %v\n%s", name, err, diff)
		}
	}
	for _, status := range itemCodes {
		want := Item{Status: status, Attempts: 1}
		if got, err := DecodeItem(want.Encode()); err != nil || got.Status != status {
			t.Errorf("status %q came back as %q, %v", status, got.Status, err)
		}
	}
}

// The bytes are in users' files: a change of the format needs a new version.
func TestTheFormatOfRecordsStays(t *testing.T) {
	h := sampleHeader()
	items := sampleItems()
	usual, other := items["sent as usual"], items["another JID, another id"]
	for name, c := range map[string]struct {
		raw  []byte
		want string
	}{
		"header":                  {h.encode(), "01070b494e5445525255505445440d4c454153455f4558504952454438020406080a0c54100effffffffffffffffff01020406080a0c0e0f06020406000000080a0c040c037369780e05736576656e"},
		"sent as usual":           {usual.Encode(), "02feff0b00030307a10000060002120100"},
		"another JID, another id": {other.Encode(), "02feff0bce990104031431406c696407a107a20000b817069a0102120100"},
		"with details":            {(&Item{Input: "49151", Detailed: true}).Encode(), "0301feff0b00"},
		"details of a recipient":  {Details{ExternalID: "r7", Values: []DetailValue{{0, "Ana"}, {200, ""}}}.Encode(nil), "0102723700" + "03416e61" + "c80100"},
	} {
		if got := hex.EncodeToString(c.raw); got != c.want {
			t.Errorf("%s\n got %s\nwant %s", name, got, c.want)
		}
	}
}

// TestItemsOfVersion1AreRead has records as they were written before version 2.
func TestItemsOfVersion1AreRead(t *testing.T) {
	items := sampleItems()
	for name, raw := range map[string]string{
		"sent as usual":           "01053439313531000303063345423041310000060002120100",
		"another JID, another id": "01053439313531043439313504030531406c696406334542304131063345423041320000b817069a0102120100",
	} {
		raw, err := hex.DecodeString(raw)
		if err != nil {
			t.Fatal(err)
		}
		got, err := DecodeItem(raw)
		if diff := cmp.Diff(items[name], got); err != nil || diff != "" {
			t.Errorf("%s: %v\n%s", name, err, diff)
		}
	}
}

// TestAShortTextComesBackAsItWas has those that are nearly numbers and ids, too.
func TestAShortTextComesBackAsItWas(t *testing.T) {
	for text, size := range map[string]int{
		"": 1, "0": 1, "7": 1, "4915112345678": 7, "999999999999999999": 9,
		"00": 3, "0123": 5, "+49151": 7, "-1": 3, "12345678901234567890": 21, "1152921504606846976": 20, // 2^60
		"3EB0": 1, "3EB0A1": 2, "3EB0C767D71D2F3A5B8E90": 10, "3EB0a1": 7, "3EB0A": 6, "3EB0Az": 7, "3eb0A1": 7, "ABCD": 5, "nö": 4,
	} {
		raw := appendShort(nil, text)
		d := decoder{rest: raw}
		if got := d.short(); got != text || d.end("text") != nil || len(raw) != size {
			t.Errorf("%q became %q in %d bytes, not %d", text, got, len(raw), size)
		}
	}
	for _, raw := range []string{"", "\x01", "\x05A", "\x08", "\x0fA", "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f"} {
		d := decoder{rest: []byte(raw)}
		if text := d.short(); d.end("text") == nil {
			t.Errorf("%x is the text %q", raw, text)
		}
	}
}

func TestMalformedRecordIsDamaged(t *testing.T) {
	h := sampleHeader()
	whole := h.encode()
	for n := range whole {
		if _, err := DecodeHeader(whole[:n]); !errors.Is(err, store.ErrDamaged) {
			t.Fatalf("header cut to %d bytes: %v", n, err)
		}
	}
	r := sampleItems()["another JID, another id"]
	whole = r.Encode()
	untouched := len((&Item{Input: r.Input, To: r.To}).Encode())
	for n := range whole {
		if _, err := DecodeItem(whole[:n]); n != untouched && !errors.Is(err, store.ErrDamaged) {
			t.Fatalf("item cut to %d bytes: %v", n, err)
		}
	}
	_, long := DecodeItem(append(whole, 0))
	whole[0] = featuresVersion + 1
	_, newer := DecodeItem(whole)
	_, code := DecodeItem([]byte{recordVersion, 0, 0, 0, byte(len(itemCodes))})
	for _, err := range []error{long, newer, code} {
		if !errors.Is(err, store.ErrDamaged) {
			t.Errorf("got %v", err)
		}
	}
}

func FuzzItemRecord(f *testing.F) {
	for _, r := range sampleItems() {
		f.Add(r.Encode())
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		first, err := DecodeItem(raw)
		if err != nil {
			return
		}
		again, err := DecodeItem(first.Encode())
		if diff := cmp.Diff(first, again); err != nil || diff != "" {
			t.Fatalf("%v\n%s", err, diff)
		}
	})
}

func FuzzHeader(f *testing.F) {
	h := sampleHeader()
	f.Add(h.encode())
	f.Fuzz(func(t *testing.T, raw []byte) {
		first, err := DecodeHeader(raw)
		if err != nil {
			return
		}
		again, err := DecodeHeader(first.encode())
		if diff := cmp.Diff(first, again, cmp.AllowUnexported(Newer{})); err != nil || diff != "" {
			t.Fatalf("%v\n%s", err, diff)
		}
	})
}
