package settings

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"postern/e2e/rig"
	"postern/event"
	"postern/sandbox"
)

func (s scene) phone(t *testing.T, number string) *sandbox.Phone {
	t.Helper()
	p, ok := s.Sandbox.Phone(number)
	if !ok {
		t.Fatalf("no phone %s", number)
	}
	return p
}

// received counts what a phone decrypted of a text.
func received(p *sandbox.Phone, text string) (n int) {
	for _, r := range p.Received() {
		if r.Text == text {
			n++
		}
	}
	return n
}

func rejected(p *sandbox.Phone, call string) bool {
	return slices.ContainsFunc(p.CallStages(), func(c sandbox.CallStage) bool { return c.ID == call && c.Stage == "reject" })
}

func (s scene) ring(t *testing.T, from, number, id, more string) {
	t.Helper()
	s.Do(t, rig.Act(from, fmt.Sprintf(`{"do":"call-offer","to":"$own","id":%q%s}`, id, more)))
	s.Await("the reject of "+id, func() bool { return rejected(s.phone(t, number), id) })
}

func TestRejectedCallerGetsOneTextAnHour(t *testing.T) {
	s := newScene(t)
	const text = "Please write."
	s.Do(t, rig.Act("$anne", `{"do":"call-offer","to":"$own","id":"QUIET"}`))
	s.AwaitEvent(t, 0, event.CallUpsert, `{"id":"QUIET","status":"offer"}`)
	s.settle(t, `{"rejectCalls":{"enabled":true,"message":"`+text+`"}}`)
	anne, bob := s.phone(t, rig.AnneNumber), s.phone(t, rig.BobNumber)

	s.ring(t, "$anne", rig.AnneNumber, "C1", "")
	s.Await("the text", func() bool { return received(anne, text) == 1 })
	s.AwaitEvent(t, 0, event.CallUpsert, `{"id":"C1","status":"offer"}`)
	s.AwaitEvent(t, 0, event.SendMessage, `{"content":{"text":"`+text+`"},"keyFromMe":true}`)
	s.ring(t, "$anne", rig.AnneNumber, "C2", "")
	s.restart(t)
	s.ring(t, "$anne", rig.AnneNumber, "C3", `,"video":true`)
	s.ring(t, "$anne", rig.AnneNumber, "C4", `,"notice":true`)

	// A group's call is rejected without a word; the next caller has an hour of
	// their own. Their text shows that those before it are not coming.
	s.ring(t, "$bob", rig.BobNumber, "G1", `,"group":"120363012345678901@g.us"`)
	s.ring(t, "$bob", rig.BobNumber, "B1", "")
	s.Await("Bob's text", func() bool { return received(bob, text) == 1 })
	if n := received(anne, text); n != 1 {
		t.Errorf("Anne got %d texts", n)
	}
	s.Await("both texts stored", func() bool { return s.stored(t, text) == 2 })
	if rejected(anne, "QUIET") {
		t.Error("a call from before was rejected")
	}
	s.settle(t, `{}`)
	s.Do(t, rig.Act("$anne", `{"do":"call-offer","to":"$own","id":"LAST"}`))
	s.AwaitEvent(t, 0, event.CallUpsert, `{"id":"LAST","status":"offer"}`)
	s.Stop()
	if rejected(anne, "LAST") {
		t.Error("a call was rejected though nothing says so")
	}
}

func TestCallWhileOfflineIsNotRejected(t *testing.T) {
	s := newScene(t)
	s.settle(t, `{"rejectCalls":{"enabled":true,"message":"too late"}}`)
	s.Kill()
	s.Do(t, rig.Act("$anne", `{"do":"call-offer","to":"$own","id":"MISSED"}`))
	s.Start()
	s.Online(t)
	s.AwaitEvent(t, 0, event.CallUpsert, `{"id":"MISSED","offline":true}`)
	s.ring(t, "$bob", rig.BobNumber, "NOW", "")
	s.Await("Bob's text", func() bool { return received(s.phone(t, rig.BobNumber), "too late") == 1 })
	anne := s.phone(t, rig.AnneNumber)
	if rejected(anne, "MISSED") || received(anne, "too late") != 0 {
		t.Error("a call that is over was rejected or answered")
	}
	s.Stop()
}

func TestReadReceiptsSurviveAKill(t *testing.T) {
	s := newScene(t)
	anne, bob := s.phone(t, rig.AnneNumber), s.phone(t, rig.BobNumber)
	s.Do(t, rig.Act("$bob", `{"do":"text","to":"$own","text":"before","id":"BEFORE"}`))
	s.AwaitEvent(t, 0, event.MessagesUpsert, `{"keyId":"BEFORE"}`)
	s.Do(t, rig.Act("$anne", `{"do":"group-create","subject":"Bakers","participants":["$own","$bob"]}`).As("g"))
	s.settle(t, `{"readMessages":true,"ignore":{"jids":["$bobLID"]}}`)
	s.Do(t, rig.Act("$bob", `{"do":"text","to":"$own","text":"ignored","id":"IGNORED"}`))
	for i := range 3 {
		s.Do(t, rig.Act("$anne", fmt.Sprintf(`{"do":"text","to":"$own","text":"read me","id":"A%d"}`, i)))
	}
	s.Do(t, rig.Act("$bob", `{"do":"text","to":"$g.group","text":"in the group","id":"G1"}`))
	s.Await("all receipts", func() bool {
		return anne.WasRead("A0") && anne.WasRead("A1") && anne.WasRead("A2") && bob.WasRead("G1")
	})
	if bob.WasRead("BEFORE") || bob.WasRead("IGNORED") {
		t.Error("a message was marked as read that should not be")
	}

	// Each kill is as soon as the message is reported, before the receipts that are
	// gathered leave.
	for i := range 3 {
		id := fmt.Sprintf("K%d", i)
		s.Do(t, rig.Act("$anne", fmt.Sprintf(`{"do":"text","to":"$own","text":"killed","id":%q}`, id)))
		s.AwaitEvent(t, 0, event.MessagesUpsert, fmt.Sprintf(`{"keyId":%q}`, id))
		s.Kill()
		if anne.WasRead(id) {
			t.Logf("%s was read before the kill", id)
		}
		s.Start()
		s.Online(t)
		s.Await(id+" read", func() bool { return anne.WasRead(id) })
	}
	s.Stop()
}

func TestAlwaysOnlineOnEveryConnection(t *testing.T) {
	s := scene{rig.NewScene(t)}
	s.settle(t, `{"alwaysOnline":true}`) // before the pairing, when the account's name is not known
	s.Online(t)
	own := s.phone(t, rig.OwnNumber)
	available := func() bool {
		online, _ := s.Sandbox.Available(own)
		return online
	}
	s.Await("available after the pairing", available)
	s.Kill()
	s.Await("gone", func() bool { return !available() })
	s.Start()
	s.Online(t)
	s.Await("available after a kill", available)
	s.Do(t, rig.Act("$own", `{"do":"drop"}`))
	s.Await("available after a loss", func() bool { return s.Seen(string(event.ConnectionUpdated)) > 0 && available() })
	s.settle(t, `{}`)
	s.Await("away", func() bool { return !available() })
	s.settle(t, `{"alwaysOnline":true}`)
	s.Await("available again", available)
	s.Stop()
}

// TestPresencePulseAfterEachLogin: the account is shown as available for a moment, and away again.
func TestPresencePulseAfterEachLogin(t *testing.T) {
	s := scene{rig.NewScene(t)}
	s.Online(t)
	own := s.phone(t, rig.OwnNumber)
	var seen time.Time
	pulsed := func() bool {
		online, _ := s.Sandbox.Available(own)
		last := s.Sandbox.LastSeen(own)
		if online || !last.After(seen) {
			return false
		}
		seen = last
		return true
	}
	time.Sleep(100 * time.Millisecond)
	if pulsed() {
		t.Error("the account was shown without the setting")
	}
	s.settle(t, `{"presencePulse":true}`)
	s.Await("the first pulse", pulsed)
	s.Do(t, rig.Act("$own", `{"do":"drop"}`))
	s.Await("a pulse after the next login", pulsed)
	s.settle(t, `{"presencePulse":true,"alwaysOnline":true}`)
	s.Await("available", func() bool { online, _ := s.Sandbox.Available(own); return online })
	s.Stop()
}
