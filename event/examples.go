package event

import (
	"slices"
	"time"
)

// Example is one payload as it may come, for documentation, for the receiver
// that wants to try its code, and for the tests of this package.
type Example struct {
	// Name is unique among the examples of one event: "full" has every field,
	// "least" only the required ones (one value of each where an object may
	// have any key), and the others are named after the type or status that
	// they show.
	Name string
	Data any
}

// Examples returns the examples of an event, among them "full", "least" and one
// for every value of its type or status; nil when there is no such event. The
// first is the one to show when one is enough.
func Examples(kind Kind) []Example {
	if d := byKind[kind]; d != nil {
		return d.payload.examples()
	}
	return nil
}

// ExampleData returns the data of an event's first example, nil when there is
// no such event.
func ExampleData(kind Kind) any {
	if all := Examples(kind); len(all) > 0 {
		return all[0].Data
	}
	return nil
}

// ExampleBody returns the body of an event that carries the example's data,
// from an instance, or about a batch, that does not exist.
func ExampleBody(kind Kind, e Example) ([]byte, error) {
	if d, _ := Lookup(kind); d.Family == Batch {
		return MarshalBatch(kind, e.Data, exampleTime)
	}
	return MarshalInstance(kind, exampleInstance(e.Data), e.Data, exampleTime)
}

var (
	exampleTime   = time.Date(2026, 5, 4, 9, 30, 0, int(125*time.Millisecond), time.UTC)
	exampleBefore = exampleTime.Add(-time.Hour)
)

// The people and places of the examples.
const (
	exampleOwner   = "4915155500001@s.whatsapp.net"
	exampleContact = "4915155500002@s.whatsapp.net"
	exampleLID     = "100000000000002@lid"
	exampleGroup   = "120363000000000001@g.us"
	exampleChannel = "120363000000000002@newsletter"
	exampleKeyID   = "3EB0C767D097B7C7A1B2"
)

// typed makes an example for every value, named after it.
func typed[T ~string](values []string, payload func(T) any) []Example {
	all := make([]Example, len(values))
	for i, v := range values {
		all[i] = Example{v, payload(T(v))}
	}
	return all
}

func examples(full, least any, others ...[]Example) []Example {
	return append([]Example{{"full", full}, {"least", least}}, slices.Concat(others...)...)
}

// exampleInstance is a snapshot in the state that goes with the payload.
func exampleInstance(data any) Snapshot {
	s := Snapshot{
		ID: 1, Name: "shop", ConnectionStatus: Online, OwnerJID: new(exampleOwner),
		ExternalAttributes: Attributes(`{"tenant":"north"}`),
	}
	switch data := data.(type) {
	case QRCode:
		s.ConnectionStatus, s.OwnerJID = QRCodeState, nil
	case ConnectionUpdate:
		s.ConnectionStatus = exampleState(data.Type)
	case InstanceStatus:
		switch data.Type {
		case StatusClientOutdated:
			s.ConnectionStatus = ClientOutdated
		case StatusTemporaryBan:
			s.ConnectionStatus = TemporaryBan
		default:
		}
	}
	return s
}

func exampleState(t ConnectionType) State {
	switch t {
	case TypeConnected, TypeKeepAliveBack:
		return Online
	case PairSuccess, TypePasskey:
		return Pairing
	case TypeManualReconnect:
		return Connecting
	case TypeDisconnected:
		return Reconnecting
	case TypeLoggedOut:
		return LoggedOut
	case TypeStreamReplaced:
		return StreamReplaced
	case TypeKeepAliveLost:
		return KeepAliveTimeout
	default:
		return ConnectionError
	}
}
