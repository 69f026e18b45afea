package delivery

import (
	"slices"
	"testing"
	"time"

	"postern/event"
	"postern/store"
)

var (
	ana   = event.About{Chat: "5511@s.whatsapp.net", LID: "11@lid"}
	bruno = event.About{Chat: "5522@s.whatsapp.net", LID: "22@lid"}
)

// TestChatOrderWaitsForAcceptance: a refusal does not release the next one,
// and chats do not wait for each other.
func TestChatOrderWaitsForAcceptance(t *testing.T) {
	r := newRig(t, Config{Log: true})
	lane := laneBy(tagWebhook, 1, "")
	a1, a2 := r.emit(ana, hook(event.OrderChat)), r.emit(ana, hook(event.OrderChat))
	b1 := r.emit(bruno, hook(event.OrderChat))
	if got, want := r.due(lane), []uint64{a1.First(), b1.First()}; !slices.Equal(got, want) {
		t.Fatalf("due are %v, want %v", got, want)
	}
	if !a1.To[0].Head || a2.To[0].Head || !b1.To[0].Head {
		t.Errorf("heads at emission: %v %v %v", a1.To, a2.To, b1.To)
	}
	follows, rec := r.settle(a1.First(), false, time.Now().Add(time.Minute))
	if follows != nil || rec.State != Pending || rec.NextAttemptAt.IsZero() {
		t.Errorf("after a refusal %v follows, %+v", follows, rec)
	}
	if got, want := r.due(lane), []uint64{b1.First(), a1.First()}; !slices.Equal(got, want) {
		t.Fatalf("after a refusal due are %v, want %v", got, want)
	}
	r.reopen()
	follows, rec = r.settle(a1.First(), true, time.Time{})
	if follows == nil || follows.Record != a2.First() || rec.State != Delivered || rec.Attempts != 2 {
		t.Errorf("after acceptance %v follows, %+v", follows, rec)
	}
	if got, want := r.due(lane), []uint64{a2.First(), b1.First()}; !slices.Equal(got, want) {
		t.Errorf("after acceptance due are %v, want %v", got, want)
	}
}

// TestADeliveryTellsBehindWhichItWaits while that delivery is pending, and a retry of it sends
// that delivery.
func TestADeliveryTellsBehindWhichItWaits(t *testing.T) {
	r := newRig(t, Config{Log: true})
	first, second, third := r.emit(ana, hook(event.OrderChat)).First(), r.emit(ana, hook(event.OrderChat)).First(), r.emit(ana, hook(event.OrderChat)).First()
	want := func(id, waitsFor uint64) {
		t.Helper()
		rec, _ := r.record(id)
		r.view(func(tx *store.Tx) error {
			if got, err := WaitsFor(tx, rec); err != nil || got != waitsFor {
				t.Errorf("%d waits for %d, want %d; %v", id, got, waitsFor, err)
			}
			return nil
		})
	}
	want(first, 0)
	want(second, first)
	want(third, first)
	r.settle(first, false, time.Now().Add(time.Minute))
	want(third, first)
	r.settle(first, true, time.Time{})
	want(first, 0)
	want(second, 0)
	want(third, second)
	other := r.emit(bruno, hook(event.OrderNone)).First()
	want(other, 0)
}

// TestWhoBecomesKnownByPhoneStaysOneChat: events about a person wait behind those emitted while
// only the LID was known.
func TestWhoBecomesKnownByPhoneStaysOneChat(t *testing.T) {
	r := newRig(t, Config{Log: true})
	first := r.emit(event.About{Chat: ana.LID, LID: ana.LID}, hook(event.OrderChat))
	second := r.emit(ana, hook(event.OrderChat))
	third := r.emit(event.About{Chat: ana.Chat}, hook(event.OrderChat))
	_ = third // known by phone alone: whose it is cannot be known
	if second.To[0].Head {
		t.Error("the second does not wait for the first")
	}
	if follows, _ := r.settle(first.First(), true, time.Time{}); follows == nil || follows.Record != second.First() {
		t.Errorf("%v follows", follows)
	}
}

// TestEventsWithoutAChatAreOneChat, and with the order of an instance all are.
func TestEventsWithoutAChatAreOneChat(t *testing.T) {
	r := newRig(t, Config{Log: true})
	lane := laneBy(tagWebhook, 1, "")
	one := r.emit(event.About{}, hook(event.OrderChat))
	r.emit(event.About{}, hook(event.OrderChat))
	if got := r.due(lane); !slices.Equal(got, []uint64{one.First()}) {
		t.Errorf("due are %v", got)
	}
	lane = laneBy(tagEndpoint, 1, "crm")
	one = r.emit(ana, endpoint("crm", event.OrderInstance))
	r.emit(bruno, endpoint("crm", event.OrderInstance))
	if got := r.due(lane); !slices.Equal(got, []uint64{one.First()}) {
		t.Errorf("due are %v", got)
	}
}

// TestDestinationsDoNotWaitForEachOther: each has its own lane, and the shown URL has no
// credentials and no query.
func TestDestinationsDoNotWaitForEachOther(t *testing.T) {
	r := newRig(t, Config{Log: true})
	e := r.emit(ana, hook(event.OrderChat), endpoint("crm", event.OrderNone), global(event.OrderInstance))
	r.emit(ana, hook(event.OrderChat), endpoint("crm", event.OrderNone), global(event.OrderInstance))
	for i, lane := range []Lane{laneBy(tagWebhook, 1, ""), laneBy(tagEndpoint, 1, "crm"), GlobalLane} {
		if e.To[i].Lane != lane || e.To[i].Due.Record != e.First()+uint64(i) {
			t.Errorf("addressee %d is %+v", i, e.To[i])
		}
		r.settle(e.To[i].Due.Record, i != 0, time.Now().Add(time.Hour))
		if want := 1; len(r.due(lane)) != want {
			t.Errorf("lane %d: due are %v", i, r.due(lane))
		}
	}
	if rec, _ := r.record(e.First()); rec.URL != "https://a.example:8443/in" || rec.RequestID == "" || rec.Instance != 1 {
		t.Errorf("%+v", rec)
	}
}
