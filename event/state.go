package event

import (
	"bytes"
	"encoding/json"
)

// State is the connection state of an instance.
type State string

// The sixteen connection states.
const (
	Offline           State = "offline"            // never connected
	Connecting        State = "connecting"         // dialling, or waiting for the login answer
	QRCodeState       State = "qr_code"            // waiting for a phone to scan
	PairingCodeState  State = "pairing_code"       // waiting for the code to be typed on a phone
	Pairing           State = "pairing"            // paired, logging in for the first time
	Online            State = "online"             // can send and receive
	Reconnecting      State = "reconnecting"       // lost, trying again
	Disconnected      State = "disconnected"       // lost, not trying again
	ConnectionTimeout State = "connection_timeout" // no phone in time, or no answer to the dial
	LoggedOut         State = "logged_out"         // unlinked: needs a new pairing
	SessionMissing    State = "session_missing"    // known as paired, device record gone
	StreamReplaced    State = "stream_replaced"    // another client uses the same device
	KeepAliveTimeout  State = "keepalive_timeout"  // the server stopped answering pings
	ClientOutdated    State = "client_outdated"    // WhatsApp refuses this client version
	TemporaryBan      State = "temporary_ban"      // the account may not connect for a while
	ConnectionError   State = "connection_error"   // refused for another reason
)

// States returns all connection states in the order of the contract. Samples in data files
// name a state by its place: a new one is added at the end.
func States() []State {
	return []State{
		Offline, Connecting, QRCodeState, PairingCodeState, Pairing, Online, Reconnecting, Disconnected,
		ConnectionTimeout, LoggedOut, SessionMissing, StreamReplaced, KeepAliveTimeout, ClientOutdated,
		TemporaryBan, ConnectionError,
	}
}

// Snapshot is the "instance" key of an instance event's envelope.
type Snapshot struct {
	ID                 int64      `json:"id" doc:"The instance's id." example:"1"`
	Name               string     `json:"name" doc:"The instance's name." example:"$name"`
	ConnectionStatus   State      `json:"connectionStatus"`
	OwnerJID           *string    `json:"ownerJid"` // null until paired
	ExternalAttributes Attributes `json:"externalAttributes"`
}

// Attributes is a JSON object that the consumer attached to an instance or a
// message. A missing value, null or a value that is no object marshals as {}.
type Attributes json.RawMessage

// MarshalJSON writes the object, or {}.
func (a Attributes) MarshalJSON() ([]byte, error) {
	if !IsObject(a) {
		return []byte("{}"), nil
	}
	return bytes.TrimSpace(a), nil
}

// IsObject reports whether raw is a JSON object.
func IsObject(raw []byte) bool {
	t := bytes.TrimSpace(raw)
	return len(t) > 0 && t[0] == '{' && json.Valid(t)
}

// UnmarshalJSON keeps the bytes as they are.
func (a *Attributes) UnmarshalJSON(b []byte) error {
	*a = append((*a)[:0], b...)
	return nil
}

// InstanceStatusType is the "type" of status.instance.
type InstanceStatusType string

// The types of status.instance.
const (
	StatusClientOutdated          InstanceStatusType = "client.outdated"
	StatusTemporaryBan            InstanceStatusType = "temporary.ban"
	StatusOfflineSyncPreview      InstanceStatusType = "offline.sync.preview"
	StatusOfflineSyncCompleted    InstanceStatusType = "offline.sync.completed"
	StatusPrivacySettings         InstanceStatusType = "privacy.settings"
	StatusAppState                InstanceStatusType = "app.state"
	StatusAppStateSyncCompleted   InstanceStatusType = "app.state.sync.completed"
	StatusAppStateSyncError       InstanceStatusType = "app.state.sync.error"
	StatusAccountReachoutTimelock InstanceStatusType = "account.reachout.timelock"
	StatusAccountRestricted       InstanceStatusType = "account.restricted" // shown by refusals; with the key "reason"
)

func (InstanceStatusType) values() []string {
	return list(StatusClientOutdated, StatusTemporaryBan, StatusOfflineSyncPreview, StatusOfflineSyncCompleted,
		StatusPrivacySettings, StatusAppState, StatusAppStateSyncCompleted, StatusAppStateSyncError,
		StatusAccountReachoutTimelock, StatusAccountRestricted)
}

// InstanceStatus is the data of status.instance.
type InstanceStatus struct {
	Type    InstanceStatusType `json:"type" doc:"What happened."`
	Status  string             `json:"status,omitempty" doc:"The state that it leads to." example:"ok"`
	Message string             `json:"message,omitempty" doc:"More about it, for people." example:"the client is outdated"`
	Data    Extra              `json:"data,omitempty"` // further fields of the source
	Extra   Extra              `json:"-"`
}

func (InstanceStatus) about() About { return About{} }

// MarshalJSON puts the extra keys behind the declared ones.
func (s InstanceStatus) MarshalJSON() ([]byte, error) {
	type plain InstanceStatus
	return flatten(plain(s), s.Extra)
}
