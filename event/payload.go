package event

import "encoding/json"

// QRCode is the data of qrcode.updated.
type QRCode struct {
	Count            int    `json:"count" doc:"How many codes this attempt has produced." example:"1" rules:"minimum=1"`
	Code             string `json:"code" doc:"The text of the code." example:"2@abc"`
	Base64           string `json:"base64" doc:"The code as a PNG in a data URL." example:"data:image/png;base64,iVBORw=="`
	ExpiresInSeconds int    `json:"expiresInSeconds" doc:"How long this code is valid." example:"20" rules:"minimum=0"`
	ExpiresAt        Time   `json:"expiresAt"`
}

func (QRCode) about() About { return About{} }

// ConnectionType is the "type" of connection.update.
type ConnectionType string

// The types of connection.update.
const (
	PairSuccess         ConnectionType = "pair.success"
	PairError           ConnectionType = "pair.error"
	TypeConnected       ConnectionType = "connected"
	TypeDisconnected    ConnectionType = "disconnected"
	TypeLoggedOut       ConnectionType = "logged.out"
	TypeStreamReplaced  ConnectionType = "stream.replaced"
	TypeKeepAliveLost   ConnectionType = "keepalive.timeout"
	TypeKeepAliveBack   ConnectionType = "keepalive.restored"
	TypeConnectFailure  ConnectionType = "connect.failure"
	TypeManualReconnect ConnectionType = "manual.reconnect"
	TypeStreamError     ConnectionType = "stream.error"
	TypeCATRefreshError ConnectionType = "cat.refresh.error"
	TypePasskey         ConnectionType = "passkey"
)

// Connection is the coarse state in connection.update.
type Connection string

// The coarse states.
const (
	ConnectionConnecting Connection = "connecting"
	ConnectionOpen       Connection = "open"
	ConnectionClose      Connection = "close"
	ConnectionReplaced   Connection = "replaced"
	ConnectionTimedOut   Connection = "timeout"
)

// ConnectionUpdate is the data of connection.update.
type ConnectionUpdate struct {
	Type           ConnectionType `json:"type" doc:"What happened."`
	Connection     Connection     `json:"connection" doc:"The state of the connection in a word." example:"open"`
	StatusReason   int            `json:"statusReason,omitempty" doc:"WhatsApp's code for it, where there is one." example:"401"`
	LastConnection Time           `json:"lastConnection,omitzero" doc:"When it was last connected; absent before the first time." example:"$time"`
	Message        string         `json:"message,omitempty" doc:"More about it, for people." example:"logged out from the phone"`
	Passkey        *PasskeyState  `json:"passkey,omitempty" schema:"null"` // with TypePasskey only
}

func (ConnectionUpdate) about() About { return About{} }

// Message is the data of messages.upsert and of send.message, and the answer
// of the send routes.
type Message struct {
	ID                int64           `json:"id" doc:"The message's id here." example:"42" rules:"minimum=1"`
	KeyID             string          `json:"keyId"` // WhatsApp's message id
	KeyRemoteJID      *string         `json:"keyRemoteJid" doc:"The JID of the chat." example:"$jid"`
	KeyLID            *string         `json:"keyLid" doc:"The LID of the chat; null when unknown." example:"$lid"`
	KeyFromMe         bool            `json:"keyFromMe"`
	KeyParticipant    *string         `json:"keyParticipant" doc:"The JID of the sender in a group; null elsewhere." example:"$jid"`
	KeyParticipantLID *string         `json:"keyParticipantLid" doc:"The LID of the sender in a group; null elsewhere or when unknown." example:"$lid"`
	PushName          *string         `json:"pushName"`
	MessageType       string          `json:"messageType"`             // name of the protobuf field
	Content           json.RawMessage `json:"content" schema:"object"` // protobuf JSON of that field
	MessageTimestamp  int64           `json:"messageTimestamp" doc:"When WhatsApp accepted it, in Unix seconds." example:"1772366400" rules:"minimum=0"`
	Device            *string         `json:"device" doc:"The kind of device that sent it; null when unknown." example:"web"`
	IsGroup           bool            `json:"isGroup"`
	Metadata          json.RawMessage `json:"metadata" schema:"object,null" doc:"Further data of the message; null when there is none."`

	// Only in send.message and the answers of the send routes.
	InstanceID         int64      `json:"instanceId,omitempty"`
	ExternalAttributes Attributes `json:"externalAttributes,omitempty"`

	// Only in the events of stored messages with a file, where the options ask for it.
	Media *MediaLink `json:"media,omitempty" doc:"The address of the file; only in events, where the options have media link."`

	// History marks a message from the phone's history. It sorts before messages that were
	// received live, whenever it was stored.
	History bool `json:"-"`
}

func (m Message) about() About {
	a := ofPerson(orEmpty(m.KeyRemoteJID), orEmpty(m.KeyLID))
	a.FromMe = m.KeyFromMe
	a.Broadcast = byBroadcast(&m)
	return a
}

// UpdateStatus is the "status" of messages.update.
type UpdateStatus string

// The statuses of messages.update.
const (
	StatusDelivered   UpdateStatus = "delivered"
	StatusSent        UpdateStatus = "sent"
	StatusRead        UpdateStatus = "read"
	StatusPlayed      UpdateStatus = "played"
	StatusServerError UpdateStatus = "server_error"
	StatusRetry       UpdateStatus = "retry"
	StatusUnknown     UpdateStatus = "unknown"
)

// MessageUpdate is the data of messages.update.
type MessageUpdate struct {
	MessageID int64        `json:"messageId" doc:"The message's id here." example:"42"`
	Status    UpdateStatus `json:"status" doc:"The status of the message." example:"read"`
	DateTime  Time         `json:"dateTime"`
}

func (MessageUpdate) about() About { return About{} }
