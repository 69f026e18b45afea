package sandbox

import (
	"context"
	"fmt"
	"strconv"
	"time"

	waBinary "go.mau.fi/whatsmeow/binary"
	"go.mau.fi/whatsmeow/types"
)

// callActs ring and hang up. Each returns the id of the call, which the later
// acts of the same call take.
func callActs() []act {
	return []act{
		row("call-offer", "the phone calls an account", actCallOffer),
		row("call-preaccept", "a device of the phone is ready to take the call", callAct("preaccept")),
		row("call-accept", "the phone takes the call", callAct("accept")),
		row("call-reject", "the phone refuses the call", callAct("reject")),
		row("call-terminate", "the phone hangs up", callAct("terminate")),
		row("call-transport", "the phones measure their connection; clients make nothing of it", callAct("transport")),
		row("call-relaylatency", "the network tells how far its relays are; clients make nothing of it", callAct("relaylatency")),
		row("call-unknown", "something of a call that no client knows", callAct("mystery")),
	}
}

type callFields struct {
	To        string `json:"to" help:"the account that is told: a number or an address"`
	ID        string `json:"id" help:"the call, as call-offer returned it; a new one when missing"`
	Group     string `json:"group" help:"the group that is called, an address"`
	Reason    string `json:"reason" help:"with call-terminate, why: timeout, or what you like"`
	LatencyMs int    `json:"latencyMs" help:"a latency that is told along, in milliseconds"`
}

type callOfferFields struct {
	To     string `json:"to" help:"the account to call: a number or an address"`
	ID     string `json:"id" help:"the id of the call; a new one when missing"`
	Group  string `json:"group" help:"the group that is called, an address"`
	Video  bool   `json:"video" help:"a video call"`
	Notice bool   `json:"notice" help:"only a notice of the call, as groups get it"`
}

type callResult struct {
	ID string `json:"id"`
}

func actCallOffer(_ context.Context, s *Server, p *Phone, f callOfferFields) (any, error) {
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
	return s.call(p, callFields{To: f.To, ID: f.ID, Group: f.Group}, offer)
}

// callAct makes the act that sends one stage of a call.
func callAct(stage string) func(context.Context, *Server, *Phone, callFields) (any, error) {
	return func(_ context.Context, s *Server, p *Phone, f callFields) (any, error) {
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
		return s.call(p, f, n)
	}
}

// call sends one stage of a call as the phone's.
func (s *Server) call(p *Phone, f callFields, stage waBinary.Node) (any, error) {
	if f.To == "" {
		return nil, invalidField("to", "is missing")
	}
	group, err := groupAddress("group", f.Group)
	if err != nil {
		return nil, err
	}
	if f.ID == "" {
		f.ID = messageID()
	}
	err = s.between(p, "to", f.To, func(from, to *account) {
		stage.Attrs["call-id"], stage.Attrs["call-creator"], stage.Attrs["caller_pn"] = f.ID, from.lid, from.pn
		if !group.IsEmpty() {
			stage.Attrs["group-jid"] = group
		}
		s.queueForAll(to, callNode(from, stage))
	})
	return callResult{f.ID}, err
}

// dispatchCall gives a stage of a call, as a client tells it, to the other side's devices.
// The caller holds s.mu.
func (s *Server) dispatchCall(sender *account, n waBinary.Node) error {
	to := s.accountOf(attrJID(&n, "to").ToNonAD())
	stage := firstChild(&n)
	if to == nil || stage.Tag == "" {
		return fmt.Errorf("call to %s: %w", attrJID(&n, "to"), ErrNoAccount)
	}
	s.queueForAll(to, callNode(sender, stage))
	return nil
}

func callNode(from *account, stage waBinary.Node) waBinary.Node {
	return waBinary.Node{Tag: "call", Content: []waBinary.Node{stage}, Attrs: waBinary.Attrs{
		"from": from.lid, "id": messageID(), "t": time.Now().Unix(), "platform": "android", "version": "2.26.1",
	}}
}

// groupAddress reads the address of a group, which may be missing.
func groupAddress(field, text string) (types.JID, error) {
	if text == "" {
		return types.EmptyJID, nil
	}
	jid, err := types.ParseJID(text)
	if err != nil || jid.Server != types.GroupServer || jid.User == "" || len(text) > maxAddress {
		return types.EmptyJID, invalidField(field, "is not the address of a group, such as 1203630000@g.us")
	}
	return jid, nil
}
