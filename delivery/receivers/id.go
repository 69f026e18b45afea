package receivers

import (
	"strconv"
	"strings"

	"postern/delivery"
	"postern/event"
)

// ID names a receiver: one segment of a path, unique over all instances.
type ID string

// Global is the receiver that is the global webhook, of both flows.
const Global ID = "global"

// Target is the kind of a receiver.
type Target string

// The kinds of receivers.
const (
	TargetWebhook  Target = "webhook"
	TargetGlobal   Target = "global"
	TargetEndpoint Target = "endpoint"
	TargetConsumer Target = "consumer"
)

// Of returns the receiver that a lane leads to.
func Of(lane delivery.Lane) ID {
	switch lane.Target {
	case event.TargetGlobal:
		return Global
	case event.TargetEndpoint:
		return ID(number(lane.Instance) + ":endpoint:" + lane.Endpoint)
	case event.TargetWebhook:
	}
	return ID(number(lane.Instance) + ":webhook")
}

// OfConsumer returns the receiver that is a consumer; instance 0 is the stream of all events.
func OfConsumer(instance int64, name string) ID {
	return ID(number(instance) + ":consumer:" + name)
}

func number(n int64) string { return strconv.FormatInt(n, 10) }

// parts are what an ID says.
type parts struct {
	instance int64
	target   Target
	name     string // of an endpoint or a consumer
}

func (id ID) parts() (p parts, ok bool) {
	if id == Global {
		return parts{target: TargetGlobal}, true
	}
	instance, rest, _ := strings.Cut(string(id), ":")
	target, name, named := strings.Cut(rest, ":")
	n, err := strconv.ParseInt(instance, 10, 64)
	p = parts{n, Target(target), name}
	switch p.target {
	case TargetWebhook:
		ok = !named && n > 0
	case TargetEndpoint:
		ok = name != "" && n > 0
	case TargetConsumer:
		ok = name != "" && n >= 0
	case TargetGlobal:
	}
	return p, err == nil && ok && number(n) == instance
}

// Instance returns the instance of a receiver, 0 for the global webhook and consumers of all events.
func (id ID) Instance() int64 {
	p, _ := id.parts()
	return p.instance
}

// lanes returns the lanes that lead to a receiver, the one of instance events first; none for a consumer.
func (id ID) lanes() []delivery.Lane {
	switch p, ok := id.parts(); {
	case !ok:
		return nil
	case p.target == TargetGlobal:
		return []delivery.Lane{delivery.GlobalLane, delivery.BatchLane}
	case p.target == TargetWebhook:
		return []delivery.Lane{{Flow: delivery.FlowInstance, Instance: p.instance, Target: event.TargetWebhook}}
	case p.target == TargetEndpoint:
		return []delivery.Lane{{Flow: delivery.FlowInstance, Instance: p.instance, Target: event.TargetEndpoint, Endpoint: p.name}}
	}
	return nil
}
