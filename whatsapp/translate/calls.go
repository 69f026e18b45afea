package translate

import (
	"strconv"

	wabinary "go.mau.fi/whatsmeow/binary"
	"go.mau.fi/whatsmeow/types"
	"go.mau.fi/whatsmeow/types/events"

	"postern/event"
)

func (t Translator) callFacts(evt any) ([]event.Fact, bool) {
	var c event.Call
	switch evt := evt.(type) {
	case *events.CallOffer:
		c = t.call(evt.BasicCallMeta, evt.Data, event.CallOffer)
		if c.IsGroup == nil { // an offer names the group that it rings
			c.IsGroup = new(false)
		}
		if c.IsVideo == nil {
			c.IsVideo = new(false)
		}
	case *events.CallOfferNotice:
		c = t.call(evt.BasicCallMeta, evt.Data, event.CallRinging)
		c.IsGroup = new(evt.Type == "group" || evt.GroupJID.User != "")
		if evt.Media != "" {
			c.IsVideo = new(evt.Media == "video")
		}
	case *events.CallPreAccept:
		c = t.call(evt.BasicCallMeta, evt.Data, event.CallPreAccept)
	case *events.CallAccept:
		c = t.call(evt.BasicCallMeta, evt.Data, event.CallAccept)
	case *events.CallReject:
		c = t.call(evt.BasicCallMeta, evt.Data, event.CallReject)
	case *events.CallTerminate:
		c = t.call(evt.BasicCallMeta, evt.Data, event.CallTerminate)
		if evt.Reason == "timeout" {
			c.Status = event.CallTimeout
		}
	case *events.UnknownCallEvent:
		c = t.unknownCall(evt.Node)
	default:
		return nil, false
	}
	return one(event.CallUpsert, c)
}

func (t Translator) call(meta types.BasicCallMeta, data *wabinary.Node, status event.CallStatus) event.Call {
	c := event.Call{
		ID: meta.CallID, Date: t.at(meta.Timestamp), Status: status,
		IsVideo: hasVideo(data), Offline: t.Offline, LatencyMs: latency(data),
	}
	var fromAlt types.JID
	if person(meta.From) == person(meta.CallCreator) {
		fromAlt = meta.CallCreatorAlt
	}
	c.From, _ = t.Both(meta.From, fromAlt)
	caller, lid := t.Both(meta.CallCreator, meta.CallCreatorAlt)
	if caller != "" && caller != lid {
		c.CallerPN = &caller
	}
	if c.ChatID = caller; c.ChatID == "" {
		c.ChatID = c.From
	}
	if meta.GroupJID.User != "" {
		c.GroupJID, c.IsGroup = new(meta.GroupJID.String()), new(true)
		c.ChatID = *c.GroupJID
	}
	return c
}

// unknownCall reads the attributes common to all call nodes from one that the library
// does not know.
func (t Translator) unknownCall(n *wabinary.Node) event.Call {
	if n == nil {
		n = &wabinary.Node{}
	}
	var meta types.BasicCallMeta
	meta.From, _ = n.Attrs["from"].(types.JID)
	var data *wabinary.Node
	if children := n.GetChildren(); len(children) > 0 {
		data = &children[0]
		meta.CallID = attribute(data, "call-id")
		meta.CallCreator, _ = data.Attrs["call-creator"].(types.JID)
		meta.CallCreatorAlt, _ = data.Attrs["caller_pn"].(types.JID)
		meta.GroupJID, _ = data.Attrs["group-jid"].(types.JID)
	}
	if seconds, err := strconv.ParseInt(attribute(n, "t"), 10, 64); err == nil {
		meta.Timestamp = unixTime(seconds)
	}
	c := t.call(meta, data, event.CallUnknown)
	c.Offline = c.Offline || attribute(n, "offline") != ""
	return c
}

// hasVideo returns the kind of a call by the streams that its node offers, nil if it
// offers none.
func hasVideo(n *wabinary.Node) *bool {
	if n == nil {
		return nil
	}
	if _, ok := n.GetOptionalChildByTag("video"); ok {
		return new(true)
	}
	if _, ok := n.GetOptionalChildByTag("audio"); ok {
		return new(false)
	}
	return nil
}

func latency(n *wabinary.Node) *int64 {
	ms, err := strconv.ParseInt(attribute(n, "latency"), 10, 64)
	if err != nil || ms < 0 {
		return nil
	}
	return &ms
}
