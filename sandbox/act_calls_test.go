package sandbox

import (
	"testing"

	"go.mau.fi/whatsmeow/types"
	"go.mau.fi/whatsmeow/types/events"
)

func TestCallStagesReachTheClient(t *testing.T) {
	s, _, anne, c := withContacts(t)
	id := does(t, s, anneNumber, `{"do":"call-offer","video":true,"to":"`+ownNumber+`"}`)["id"]
	check := func(stage string, m types.BasicCallMeta) {
		t.Helper()
		if m.CallID != id || m.From != anne.LID() || m.CallCreator != anne.LID() || m.CallCreatorAlt != anne.JID() ||
			m.Timestamp.IsZero() || !m.GroupJID.IsEmpty() {
			t.Errorf("%s of call %s: %+v", stage, id, m)
		}
	}
	offer := wait(c, 1, every[*events.CallOffer])
	check("offer", offer.BasicCallMeta)
	if _, video := offer.Data.GetOptionalChildByTag("video"); !video || offer.RemotePlatform != "android" {
		t.Errorf("offer %+v, want a video call", offer)
	}
	stage := func(do, more string) {
		t.Helper()
		if got := does(t, s, anneNumber, `{"do":"`+do+`","id":"`+id+`","to":"`+ownNumber+`"`+more+`}`)["id"]; got != id {
			t.Errorf("%s returned the call %q, want %q", do, got, id)
		}
	}
	stage("call-preaccept", "")
	check("preaccept", wait(c, 1, every[*events.CallPreAccept]).BasicCallMeta)
	stage("call-accept", "")
	check("accept", wait(c, 1, every[*events.CallAccept]).BasicCallMeta)
	stage("call-transport", "")
	check("transport", wait(c, 1, every[*events.CallTransport]).BasicCallMeta)
	stage("call-relaylatency", `,"latencyMs":42`)
	latency := wait(c, 1, every[*events.CallRelayLatency])
	check("relaylatency", latency.BasicCallMeta)
	if got := latency.Data.AttrGetter().Int("latency"); got != 42 {
		t.Errorf("latency %d, want 42", got)
	}
	stage("call-reject", "")
	check("reject", wait(c, 1, every[*events.CallReject]).BasicCallMeta)
	stage("call-terminate", `,"reason":"timeout"`)
	end := wait(c, 1, every[*events.CallTerminate])
	check("terminate", end.BasicCallMeta)
	if end.Reason != "timeout" {
		t.Errorf("ended because of %q", end.Reason)
	}
	stage("call-unknown", "")
	if e := wait(c, 1, every[*events.UnknownCallEvent]); e.Node.GetChildren()[0].AttrGetter().String("call-id") != id {
		t.Errorf("unknown: %s", e.Node)
	}
}

func TestGroupCallIsNoticed(t *testing.T) {
	s, _, anne, c := withContacts(t)
	group := types.NewJID("120363000000000001", types.GroupServer)
	does(t, s, anneNumber, `{"do":"call-offer","notice":true,"id":"C1","to":"`+ownNumber+`","group":"`+group.String()+`"}`)
	e := wait(c, 1, every[*events.CallOfferNotice])
	if e.CallID != "C1" || e.Media != "audio" || e.Type != "group" || e.GroupJID != group || e.CallCreatorAlt != anne.JID() {
		t.Errorf("noticed %+v", e)
	}
	does(t, s, anneNumber, `{"do":"call-offer","notice":true,"video":true,"to":"`+ownNumber+`"}`)
	if e := wait(c, 2, every[*events.CallOfferNotice]); e.Media != "video" || e.Type != "single" || e.CallID == "" {
		t.Errorf("noticed %+v", e)
	}
}
