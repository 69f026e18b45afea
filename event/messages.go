package event

// MessageDelete is the data of messages.delete.
type MessageDelete struct {
	ID           int64  `json:"id,omitempty"` // internal id, when the message is stored
	ChatJID      string `json:"chatJid"`
	SenderJID    string `json:"senderJid,omitempty"`
	KeyFromMe    bool   `json:"keyFromMe"`
	MessageID    string `json:"messageId"` // WhatsApp's id
	DeleteMedia  bool   `json:"deleteMedia"`
	FromFullSync bool   `json:"fromFullSync"`
	DateTime     Time   `json:"dateTime"`
	MessageTime  Time   `json:"messageTime,omitzero"` // of the deleted message
}

func (m MessageDelete) about() About { return ofChat(m.ChatJID, m.KeyFromMe) }

// MessageStar is the data of messages.star.
type MessageStar struct {
	ChatJID      string `json:"chatJid"`
	SenderJID    string `json:"senderJid,omitempty"`
	KeyFromMe    bool   `json:"keyFromMe"`
	MessageID    string `json:"messageId"` // WhatsApp's id
	Starred      bool   `json:"starred"`
	FromFullSync bool   `json:"fromFullSync"`
	DateTime     Time   `json:"dateTime"`
}

func (m MessageStar) about() About { return ofChat(m.ChatJID, m.KeyFromMe) }

// UnavailableType is the "unavailableType" of messages.undecryptable.
type UnavailableType string

// UnavailableViewOnce is a view-once message, which only the phone may open.
const UnavailableViewOnce UnavailableType = "view_once"

func (UnavailableType) values() []string { return list(UnavailableViewOnce) }

// DecryptFailMode is the "decryptFailMode" of messages.undecryptable.
type DecryptFailMode string

// DecryptFailHide asks for no placeholder where the message would have been.
const DecryptFailHide DecryptFailMode = "hide"

func (DecryptFailMode) values() []string { return list(DecryptFailHide) }

// MessageUndecryptable is the data of messages.undecryptable.
type MessageUndecryptable struct {
	KeyID           string          `json:"keyId"` // WhatsApp's message id
	ChatJID         string          `json:"chatJid"`
	SenderJID       string          `json:"senderJid,omitempty"`
	KeyFromMe       bool            `json:"keyFromMe"`
	IsUnavailable   bool            `json:"isUnavailable"` // the server kept it from this device
	UnavailableType UnavailableType `json:"unavailableType,omitempty"`
	DecryptFailMode DecryptFailMode `json:"decryptFailMode,omitempty"`
	DateTime        Time            `json:"dateTime"`
}

func (m MessageUndecryptable) about() About { return ofChat(m.ChatJID, m.KeyFromMe) }

// MediaAnswer is the data of media.retry: what a phone answered when it was
// asked to upload a file again. The ciphertext itself is never published.
type MediaAnswer struct {
	MessageID     string `json:"messageId"` // WhatsApp's id
	ChatJID       string `json:"chatJid"`
	SenderJID     string `json:"senderJid,omitempty"`
	KeyFromMe     bool   `json:"keyFromMe"`
	HasCiphertext bool   `json:"hasCiphertext"`
	ErrorCode     int    `json:"errorCode,omitempty"`
	DateTime      Time   `json:"dateTime"`
}

func (m MediaAnswer) about() About { return ofChat(m.ChatJID, m.KeyFromMe) }

// AsyncStatus is the "status" of a [SendResult].
type AsyncStatus string

// How an asynchronous send ended.
const (
	AsyncSent   AsyncStatus = "sent"
	AsyncFailed AsyncStatus = "failed"
)

func (AsyncStatus) values() []string { return list(AsyncSent, AsyncFailed) }

// SendResult is the other data of send.message: the end of a send that was
// accepted with mentionAll. Data is set on success, Error on failure.
type SendResult struct {
	ProcessID          string         `json:"processId"` // as the 202 answer gave it
	Status             AsyncStatus    `json:"status"`
	MentionAll         bool           `json:"mentionAll"`
	ExternalAttributes Attributes     `json:"externalAttributes"`
	Data               *AsyncMessage  `json:"data,omitempty"`
	Error              *AsyncSendFail `json:"error,omitempty"`
}

func (s SendResult) about() About {
	if s.Data == nil {
		return About{FromMe: true}
	}
	return ofChat(s.Data.RemoteJID, true)
}

// AsyncMessage is the message that an asynchronous send made.
type AsyncMessage struct {
	MessageID        string `json:"messageId"` // WhatsApp's id
	RemoteJID        string `json:"remoteJid"`
	ParticipantCount int    `json:"participantCount"`
	Timestamp        Time   `json:"timestamp"` // as WhatsApp acknowledged it
}

// AsyncSendFail says why an asynchronous send failed.
type AsyncSendFail struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}
