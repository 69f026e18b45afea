package delivery

import (
	"encoding/binary"

	"postern/event"
)

// A lane in a key is its instance (eight bytes), a tag, and the length and text of an
// endpoint's id. Therefore all lanes of an instance are adjacent, and none is a prefix of
// another. Deliveries to the global webhook are in GlobalLane, whose instance is 0, and also
// in the share of the instance whose event it is.
const (
	tagWebhook  = 'w'
	tagEndpoint = 'e'
	tagGlobal   = 'g'
	tagBatch    = 'b'
	tagOutbox   = 'o'
)

func (l Lane) tag() byte {
	switch {
	case l.Outbox:
		return tagOutbox
	case l.Flow == FlowBatch:
		return tagBatch
	case l.Target == event.TargetGlobal:
		return tagGlobal
	case l.Target == event.TargetEndpoint:
		return tagEndpoint
	}
	return tagWebhook
}

// LaneOf returns the lane of a destination of an instance's event.
func LaneOf(instance int64, to event.Destination) Lane {
	return laneBy(Lane{Flow: FlowInstance, Target: to.Target}.tag(), instance, to.Endpoint)
}

// laneBy returns the lane of a tag. It uses the instance and the endpoint only if the tag has
// them.
func laneBy(tag byte, instance int64, endpoint string) Lane {
	switch tag {
	case tagOutbox:
		return OutboxLane
	case tagBatch:
		return BatchLane
	case tagGlobal:
		return GlobalLane
	case tagEndpoint:
		return Lane{Flow: FlowInstance, Instance: instance, Target: event.TargetEndpoint, Endpoint: endpoint}
	}
	return Lane{Flow: FlowInstance, Instance: instance, Target: event.TargetWebhook}
}

func validTag(tag byte) bool {
	return tag == tagWebhook || tag == tagEndpoint || tag == tagGlobal || tag == tagBatch || tag == tagOutbox
}

// share returns the part of a lane that is about one instance.
func (l Lane) share(instance int64) Lane {
	l.Instance = instance
	return l
}

// whole returns the lane that l is a share of.
func (l Lane) whole() Lane {
	if l.Target == event.TargetGlobal {
		l.Instance = 0
	}
	return l
}

// again returns the lane in which a delivery of l is repeated.
func (l Lane) again() Lane {
	if l == OutboxLane {
		return BatchLane
	}
	return l
}

// key returns the lane as the beginning of a key.
func (l Lane) key() []byte {
	k := make([]byte, 0, 64)
	k = binary.BigEndian.AppendUint64(k, uint64(l.Instance))
	k = append(k, l.tag())
	if l.tag() == tagEndpoint {
		k = append(k, byte(len(l.Endpoint)))
		k = append(k, l.Endpoint...)
	}
	return k
}

// parseLane reads the lane, or share, that a key begins with.
func parseLane(k []byte) (l Lane, rest []byte, ok bool) {
	if len(k) < 9 || !validTag(k[8]) {
		return l, nil, false
	}
	instance, tag := int64(binary.BigEndian.Uint64(k)), k[8]
	rest = k[9:]
	endpoint := ""
	if tag == tagEndpoint {
		if len(rest) < 1 || len(rest) < 1+int(rest[0]) {
			return l, nil, false
		}
		endpoint, rest = string(rest[1:1+int(rest[0])]), rest[1+int(rest[0]):]
	}
	return laneBy(tag, instance, endpoint).share(instance), rest, true
}
