package sandbox

import (
	"context"
	"strconv"

	waBinary "go.mau.fi/whatsmeow/binary"
	"go.mau.fi/whatsmeow/types"

	"postern/sandbox/network"
	"postern/sandbox/phone"
)

// callActs make and end calls. Each returns the id of the call, which later acts of the
// same call take.
func callActs() []act {
	return []act{
		row("call-offer", "the phone calls an account", actCallOffer),
		row("call-preaccept", "a device of the phone is ready to take the call", callAct("preaccept")),
		row("call-accept", "the phone accepts the call", callAct("accept")),
		row("call-reject", "the phone rejects the call", callAct("reject")),
		row("call-terminate", "the phone hangs up", callAct("terminate")),
		row("call-transport", "the phones measure their connection; clients ignore it", callAct("transport")),
		row("call-relaylatency", "the network reports the latency of its relays; clients ignore it", callAct("relaylatency")),
		row("call-unknown", "an unknown call event", callAct("mystery")),
	}
}

type callFields struct {
	To        string `json:"to" help:"the account that is notified: a number or an address"`
	ID        string `json:"id" help:"the call, as call-offer returned it; missing: a new one"`
	Group     string `json:"group" help:"the group that is called, an address"`
	Reason    string `json:"reason" help:"with call-terminate, the reason: timeout, or any other"`
	LatencyMs int    `json:"latencyMs" help:"a latency to report, in milliseconds"`
}

type callOfferFields struct {
	To     string `json:"to" help:"the account to call: a number or an address"`
	ID     string `json:"id" help:"the id of the call; missing: a new one"`
	Group  string `json:"group" help:"the group that is called, an address"`
	Video  bool   `json:"video" help:"a video call"`
	Notice bool   `json:"notice" help:"only a notice of the call, as groups get it"`
}

type callResult struct {
	ID string `json:"id"`
}

func actCallOffer(_ context.Context, s *network.Server, p *phone.Phone, f callOfferFields) (any, error) {
	offer := waBinary.Node{Tag: "offer", Attrs: waBinary.Attrs{}}
	media := []waBinary.Node{{Tag: "audio", Attrs: waBinary.Attrs{"enc": "opus", "rate": "16000"}}}
	if f.Video {
		media = append(media, waBinary.Node{Tag: "video", Attrs: waBinary.Attrs{"enc": "vp8"}})
	}
	offer.Content = media
	if f.Notice {
		offer = waBinary.Node{Tag: "offer_notice", Attrs: waBinary.Attrs{"media": "audio", "type": "single"}}
		if f.Video {
			offer.Attrs["media"] = "video"
		}
		if f.Group != "" {
			offer.Attrs["type"] = "group"
		}
	}
	return sendCall(s, p, callFields{To: f.To, ID: f.ID, Group: f.Group}, offer)
}

// callAct returns the act that sends one stage of a call.
func callAct(stage string) func(context.Context, *network.Server, *phone.Phone, callFields) (any, error) {
	return func(_ context.Context, s *network.Server, p *phone.Phone, f callFields) (any, error) {
		n := waBinary.Node{Tag: stage, Attrs: waBinary.Attrs{}}
		if stage == "accept" {
			n.Content = []waBinary.Node{{Tag: "audio", Attrs: waBinary.Attrs{"enc": "opus", "rate": "16000"}}}
		}
		if f.Reason != "" {
			n.Attrs["reason"] = f.Reason
		}
		if f.LatencyMs > 0 {
			n.Attrs["latency"] = strconv.Itoa(f.LatencyMs)
		}
		return sendCall(s, p, f, n)
	}
}

// sendCall sends one stage of a call from the phone.
func sendCall(s *network.Server, p *phone.Phone, f callFields, stage waBinary.Node) (any, error) {
	if f.To == "" {
		return nil, invalidField("to", "is missing")
	}
	group, err := groupAddress("group", f.Group)
	if err != nil {
		return nil, err
	}
	if f.ID == "" {
		f.ID = phone.MessageID()
	}
	err = towards(p, "to", f.To, func(from, to types.JID) error { return s.Call(from, to, f.ID, group, stage) })
	return callResult{f.ID}, err
}
