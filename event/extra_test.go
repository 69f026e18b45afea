package event

import (
	"encoding/json"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

// extended is a payload of every type that allows extra keys.
func extended(x Extra) map[Kind]any {
	return map[Kind]any{
		ChatsUpdated:      ChatUpdate{Type: ChatArchive, DateTime: At(exampleTime), Extra: x},
		ChatsDelete:       ChatDelete{ChatJID: "c", DateTime: At(exampleTime), Extra: x},
		LabelsAssociation: LabelAssociation{Type: LabelOnChat, ChatJID: "c", LabelID: "l", DateTime: At(exampleTime), Extra: x},
		LabelsEdit:        LabelEdit{ID: "l", Extra: x},
		NewsLetter:        NewsletterUpdate{Type: NewsletterJoin, DateTime: At(exampleTime), Extra: x},
		PresenceUpdated:   PresenceUpdate{DateTime: At(exampleTime), Extra: x},
		StatusInstance:    InstanceStatus{Type: StatusAppState, Extra: x, Data: x},
		HistorySync:       HistoryUpdate{Type: HistorySyncType, DateTime: At(exampleTime), Data: &HistoryContent{Extra: x}},
	}
}

func payloadTypes() map[Kind]reflect.Type {
	all := map[Kind]reflect.Type{}
	for _, d := range Catalogue() {
		if d.Family == Instance {
			all[d.Kind] = d.payload.data
		}
	}
	return all
}

func TestEveryTypeWithExtraKeysIsTriedHere(t *testing.T) {
	tried := extended(nil)
	for kind, p := range payloadTypes() {
		_, has := p.FieldByName("Extra")
		if _, ok := tried[kind]; ok != has && kind != HistorySync {
			t.Errorf("%s has extra keys: %t, is tried: %t", kind, has, ok)
		}
	}
}

func TestExtraKeysNeverOverwriteDeclaredKeys(t *testing.T) {
	for kind, p := range payloadTypes() {
		data, ok := extended(nil)[kind]
		if !ok || kind == HistorySync {
			continue
		}
		plain, err := Marshal(data)
		if err != nil {
			t.Fatal(err)
		}
		hostile := Extra{}
		for _, name := range names(p) {
			hostile[name], hostile[strings.ToUpper(name)] = "spoilt", "spoilt"
		}
		got, err := Marshal(extended(hostile)[kind])
		// status.instance carries the same keys in its own open object too.
		if kind == StatusInstance {
			got, err = Marshal(InstanceStatus{Type: StatusAppState, Extra: hostile})
		}
		if err != nil || string(got) != string(plain) {
			t.Errorf("%s: %s, %v; want %s", kind, got, err, plain)
		}
	}
}

type cycle struct{ Next *cycle }

func TestExtraLeavesOutInvalidValues(t *testing.T) {
	loop := &cycle{}
	loop.Next = loop
	got, err := Marshal(LabelEdit{ID: "l", Extra: Extra{
		"z": "<&>", "a": []any{1, nil}, "nil": nil, "nilPtr": (*int)(nil), "nan": math.NaN(), "chan": make(chan int),
		"func": func() {}, "loop": loop, "huge": []json.Number{"1e999"}, "raw": json.RawMessage(`{"k":1,"k":2}`), "bad": json.RawMessage(`{`),
		"": 1, "bad\xff": 2, "bad\xfe": 3, "big": uint64(math.MaxUint64), "line\u2028": "\u2028",
		"nested": map[string]any{"n\xff": 1, "n\xfe": 2},
	}})
	const want = `{"id":"l","a":[1,null],"bad` + "\uFFFD" + `":3,"big":18446744073709551615,"line\u2028":"\u2028",` +
		`"nested":{"n` + "\uFFFD" + `":1},"raw":{"k":2},"z":"<&>"}`
	if err != nil || string(got) != want {
		t.Errorf("%v\n got %s\nwant %s", err, got, want)
	}
}

func TestAnExtraOfItsOwnIsAnObject(t *testing.T) {
	for want, e := range map[string]Extra{"{}": nil, `{"a":1}`: {"a": 1, "b": nil}} {
		if got, err := Marshal(e); err != nil || string(got) != want {
			t.Errorf("%s, %v; want %s", got, err, want)
		}
	}
}

func TestParticipantsAreAnArrayEvenWhenNil(t *testing.T) {
	if b, err := Marshal(Participants(nil)); err != nil || string(b) != "[]" {
		t.Errorf("%s, %v", b, err)
	}
}

func TestTimesOutsideTheCalendarAreClamped(t *testing.T) {
	for want, in := range map[string]time.Time{
		"9999-12-31T23:59:59.999Z": time.Unix(math.MaxInt64/4, 0),
		"0001-01-01T00:00:00.001Z": time.Date(-400, 1, 1, 0, 0, 0, 0, time.UTC),
		"1970-01-01T00:00:00.000Z": time.Unix(0, 0),
	} {
		if got := At(in).String(); got != want {
			t.Errorf("%v: %s, want %s", in, got, want)
		}
	}
	if !At(time.Time{}).IsZero() {
		t.Error("the zero time is a time now")
	}
}

func FuzzHostileExtraKeysNeverBreakAPayload(f *testing.F) {
	kinds := slices.Sorted(maps.Keys(extended(nil)))
	for i := range kinds {
		f.Add(uint8(i), "chatJid", "CHATJID", "x", []byte(`{"a":1,"a":2}`))
		f.Add(uint8(i), "a\xff", "a\xfe", "\xff", []byte(`[{"b":null}]`))
		f.Add(uint8(i), "\u212aey", "ſtate", "\"},{", []byte(`null`))
		f.Add(uint8(i), "type", "type\x00", "\u2028", []byte(`1e999`))
	}
	f.Fuzz(func(t *testing.T, pick uint8, k1, k2, value string, raw []byte) {
		kind := kinds[int(pick)%len(kinds)]
		data := extended(Extra{
			k1: value, k2: map[string]any{k1: raw, k2: value, value: json.RawMessage(raw)},
			k1 + k2: json.RawMessage(raw), k2 + k1: json.Number(value), value: []string{k1, k2},
		})[kind]
		body, err := MarshalInstance(kind, exampleInstance(data), data, exampleTime)
		if err != nil {
			t.Fatalf("%s: %v", kind, err)
		}
		if err := check(kind, body); err != nil {
			t.Fatalf("%s: %v\n%s", kind, err, body)
		}
		declaredSurvive(t, kind, body)
	})
}

// declaredSurvive checks that a Go receiver, which matches keys without
// looking at capitals, reads the declared fields and not the extra ones.
func declaredSurvive(t *testing.T, kind Kind, body []byte) {
	t.Helper()
	if kind == HistorySync {
		return
	}
	type envelope struct{ Data json.RawMessage }
	var e envelope
	got, want := reflect.New(payloadTypes()[kind]), reflect.New(payloadTypes()[kind])
	clean, err := Marshal(extended(nil)[kind])
	if err != nil || json.Unmarshal(body, &e) != nil || json.Unmarshal(e.Data, got.Interface()) != nil || json.Unmarshal(clean, want.Interface()) != nil {
		t.Fatalf("%s cannot be read back: %s", kind, body)
	}
	if kind == StatusInstance { // its data is open as well
		got.Elem().FieldByName("Data").SetZero()
	}
	if !reflect.DeepEqual(got.Interface(), want.Interface()) {
		t.Fatalf("%s: read %+v, want %+v", kind, got.Elem(), want.Elem())
	}
}
