package cluster

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"postern/cli/consumer"
	"postern/event"
	"postern/sandbox"
)

// TestScheduledSendsOutliveTheirOwner kills the owner before, at, and after the time of sends that
// it accepted: each is sent once, or ends with an unknown outcome if it was on its way.
func TestScheduledSendsOutliveTheirOwner(t *testing.T) {
	t.Parallel()
	n := newNetwork(t)
	a, b := n.node("a"), n.node("b")
	a.launch()
	a.awaitOwner()
	b.launch()
	b.awaitStandby()
	token := b.Pair("shop")

	kill := func(owner, next *node, why string, at time.Duration, killed func(number, text string, at time.Time)) (number, text, id string) {
		t.Helper()
		number, text = "49151"+fmt.Sprintf("%07d", 2000+len(why)), "planned, killed "+why
		due := time.Now().Add(at)
		id = plan(owner, token, number, text, due)
		killed(number, text, due)
		owner.Kill()
		next.answered()
		next.AwaitOnline("shop", token)
		return number, text, id
	}
	back := func(owner *node) {
		t.Helper()
		owner.launch()
		owner.awaitStandby()
	}

	number, text, _ := kill(a, b, "before", 2*lease, func(string, string, time.Time) {})
	b.Await("the send that was due after the takeover", func() bool { return n.first.Decrypted(number, text) > 0 })
	sentOnce(b, token, number, text)
	back(a)

	// Its time comes while no node owns the cell.
	number, text, _ = kill(b, a, "just before", 500*time.Millisecond, func(_, _ string, due time.Time) { time.Sleep(time.Until(due) - 100*time.Millisecond) })
	a.Await("the send that was due meanwhile", func() bool { return n.first.Decrypted(number, text) > 0 })
	sentOnce(a, token, number, text)
	back(b)

	// The phone has it, and WhatsApp has not acknowledged it.
	n.first.Sandbox.SetFaults(sandbox.Faults{AckDelay: time.Hour})
	number, text, id := kill(a, b, "while it is sent", 500*time.Millisecond, func(number, text string, _ time.Time) {
		a.Await("the text at the phone", func() bool { return n.first.Decrypted(number, text) == 1 })
	})
	n.first.Sandbox.SetFaults(sandbox.Faults{})
	b.Await("its unknown outcome", func() bool { return n.first.BodyWith(event.SendMessage, id) })
	if n := n.first.BodiesWith(event.SendMessage, event.SendResultUnknown); n != 1 {
		t.Errorf("%d events report an unknown outcome", n)
	}
	sentOnce(b, token, number, text)
	back(a)

	number, text, _ = kill(b, a, "after it was sent", 500*time.Millisecond, func(number, text string, _ time.Time) {
		b.Await("the text at the phone", func() bool { return n.first.Decrypted(number, text) == 1 })
		b.Await("its end in the store", func() bool { return waitingSends(b, token) == 0 })
	})
	sentOnce(a, token, number, text)
}

// plan accepts a text for a later time, and returns its scheduledId.
func plan(n *node, token, number, text string, at time.Time) string {
	n.T.Helper()
	var answer struct{ ScheduledID string }
	n.Call(consumer.Bearer(token), http.MethodPost, "/instance/shop/send/text", map[string]any{
		"number": number, "textMessage": map[string]any{"text": text}, "options": map[string]any{"sendAt": at.UTC().Format(time.RFC3339Nano)},
	}, &answer)
	if answer.ScheduledID == "" {
		n.T.Fatal("no scheduledId")
	}
	return answer.ScheduledID
}

// waitingSends returns how many sends of the instance have not ended.
func waitingSends(n *node, token string) int {
	n.T.Helper()
	var list struct {
		Records []struct{ ScheduledID string }
	}
	n.Call(consumer.Bearer(token), http.MethodGet, "/instance/shop/scheduled", nil, &list)
	return len(list.Records)
}

// sentOnce waits until no send of the instance is left, sends another text to the same chat, which would come
// after a repetition, and checks that the first arrived once.
func sentOnce(n *node, token, number, text string) {
	n.T.Helper()
	n.Await("the end of the send", func() bool { return waitingSends(n, token) == 0 })
	after := text + ", afterwards"
	n.Call(consumer.Bearer(token), http.MethodPost, "/instance/shop/send/text", map[string]any{"number": number, "textMessage": map[string]any{"text": after}}, nil)
	n.Await("the next text", func() bool { return n.first.Decrypted(number, after) == 1 })
	if got := n.first.Decrypted(number, text); got != 1 {
		n.T.Errorf("%q arrived %d times", text, got)
	}
}
