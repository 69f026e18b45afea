package translate

import (
	"strconv"
	"time"

	"go.mau.fi/whatsmeow/types/events"

	"postern/event"
)

// ConnectionFact is a change of the connection, with the new state of the instance.
func ConnectionFact(t event.ConnectionType, c event.Connection, state event.State) event.Fact {
	return event.Fact{
		Kind:   event.ConnectionUpdated,
		Data:   event.ConnectionUpdate{Type: t, Connection: c},
		Status: state,
	}
}

// Because adds WhatsApp's code and message to a connection fact.
func Because(f event.Fact, code int, message string) event.Fact {
	data := f.Data.(event.ConnectionUpdate)
	data.StatusReason, data.Message = code, message
	f.Data, f.Reason = data, code
	if f.Error = message; message == "" && code != 0 {
		f.Error = "WhatsApp answered with code " + strconv.Itoa(code)
	}
	return f
}

// Refusal translates the events after which WhatsApp closes the stream and a new
// dial alone may not help. ok is false for other events.
func Refusal(evt any) (f event.Fact, ok bool) {
	switch evt := evt.(type) {
	case *events.LoggedOut:
		f = ConnectionFact(event.TypeLoggedOut, event.ConnectionClose, event.LoggedOut)
		f = Because(f, int(evt.Reason), "")
		f.Unlink = true
	case *events.StreamReplaced:
		f = ConnectionFact(event.TypeStreamReplaced, event.ConnectionReplaced, event.StreamReplaced)
		f.Error = "another client logged in with the same device"
	case *events.ConnectFailure:
		f = ConnectionFact(event.TypeConnectFailure, event.ConnectionClose, event.ConnectionError)
		f = Because(f, int(evt.Reason), evt.Message)
	case *events.StreamError:
		code, _ := strconv.Atoi(evt.Code) // an unknown word leaves it zero
		f = Because(ConnectionFact(event.TypeStreamError, event.ConnectionClose, event.ConnectionError), code, "")
	case *events.CATRefreshError:
		f = ConnectionFact(event.TypeCATRefreshError, event.ConnectionClose, event.ConnectionError)
		f = Because(f, 0, ErrorText(evt.Error))
	case *events.ClientOutdated:
		f = refusedAccount(event.ClientOutdated, event.InstanceStatus{
			Type: event.StatusClientOutdated, Message: "WhatsApp rejected our client version as outdated",
		})
		f.Reason = int(events.ConnectFailureClientOutdated)
	case *events.TemporaryBan:
		now := time.Now()
		f = refusedAccount(event.TemporaryBan, ban(evt, now))
		f.Reason = int(evt.Code)
		f.Restriction = &event.Restriction{Type: event.StatusTemporaryBan, Reason: strconv.Itoa(int(evt.Code))}
		if evt.Expire > 0 {
			f.Restriction.Until = now.Add(evt.Expire)
		}
	default:
		return event.Fact{}, false
	}
	return f, true
}

// refusedAccount is a refusal that status.instance reports instead of
// connection.update.
func refusedAccount(state event.State, s event.InstanceStatus) event.Fact {
	s.Status = string(state)
	return event.Fact{Kind: event.StatusInstance, Data: s, Status: state, Error: s.Message}
}

func ban(evt *events.TemporaryBan, now time.Time) event.InstanceStatus {
	s := event.InstanceStatus{
		Type: event.StatusTemporaryBan, Message: evt.String(), Data: event.Extra{"code": int(evt.Code)},
	}
	if evt.Expire > 0 {
		s.Data["expireSeconds"] = int64(evt.Expire / time.Second)
		s.Data["until"] = event.At(now.Add(evt.Expire))
	}
	return s
}
