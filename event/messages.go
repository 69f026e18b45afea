package event

// MessageDelete is the data of messages.delete.
type MessageDelete struct {
	ID           int64  `json:"id,omitempty" doc:"The message's id here, where it is stored." example:"42"`
	ChatJID      string `json:"chatJid"`
	SenderJID    string `json:"senderJid,omitempty"`
	KeyFromMe    bool   `json:"keyFromMe"`
	MessageID    string `json:"messageId" doc:"The message's id at WhatsApp." example:"$keyid"`
	DeleteMedia  bool   `json:"deleteMedia"`
	FromFullSync bool   `json:"fromFullSync"`
	DateTime     Time   `json:"dateTime"`
	MessageTime  Time   `json:"messageTime,omitzero" doc:"When the message was sent, where it is known." example:"$time"`
}

func (m MessageDelete) about() About { return ofChat(m.ChatJID, m.KeyFromMe) }

// MessageStar is the data of messages.star.
type MessageStar struct {
	ChatJID      string `json:"chatJid"`
	SenderJID    string `json:"senderJid,omitempty"`
	KeyFromMe    bool   `json:"keyFromMe"`
	MessageID    string `json:"messageId" doc:"The message's id at WhatsApp." example:"$keyid"`
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
	IsUnavailable   bool            `json:"isUnavailable" doc:"Whether WhatsApp withheld it from this device." example:"false"`
	UnavailableType UnavailableType `json:"unavailableType,omitempty" doc:"Why it was withheld." example:"view_once"`
	DecryptFailMode DecryptFailMode `json:"decryptFailMode,omitempty" doc:"How clients should show it." example:"hide"`
	DateTime        Time            `json:"dateTime"`
}

func (m MessageUndecryptable) about() About { return ofChat(m.ChatJID, m.KeyFromMe) }

// MediaAnswer is the data of media.retry: what a phone answered when it was
// asked to upload a file again. The ciphertext itself is never published.
type MediaAnswer struct {
	MessageID     string `json:"messageId" doc:"The message's id at WhatsApp." example:"$keyid"`
	ChatJID       string `json:"chatJid"`
	SenderJID     string `json:"senderJid,omitempty"`
	KeyFromMe     bool   `json:"keyFromMe"`
	HasCiphertext bool   `json:"hasCiphertext" doc:"Whether the phone sent the new address of the file." example:"true"`
	ErrorCode     int    `json:"errorCode,omitempty" doc:"The phone's error code, when it could not." example:"2"`
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
	ProcessID          string         `json:"processId" doc:"The processId of the answer 202." example:"$uuid"`
	Status             AsyncStatus    `json:"status" doc:"How the send ended."`
	MentionAll         bool           `json:"mentionAll"`
	ExternalAttributes Attributes     `json:"externalAttributes"`
	Data               *AsyncMessage  `json:"data,omitempty" doc:"The message, when it was sent."`
	Error              *AsyncSendFail `json:"error,omitempty" doc:"Why it was not sent."`
}

// ScheduledFailure is the third kind of data of send.message: a send that was accepted
// with sendAt and did not take place, or may not have. One that did is a [Message] whose
// metadata has the scheduledId.
type ScheduledFailure struct {
	ScheduledID        string         `json:"scheduledId" doc:"The scheduledId of the answer 202." example:"$uuid"`
	Status             AsyncStatus    `json:"status" doc:"Always failed." example:"failed"`
	ExternalAttributes Attributes     `json:"externalAttributes"`
	Error              *AsyncSendFail `json:"error" doc:"Why it was not sent. TOO_LATE: not within lateMax after sendAt. SEND_RESULT_UNKNOWN: it may have been sent."`
}

func (ScheduledFailure) about() About { return About{FromMe: true} }

func (s SendResult) about() About {
	if s.Data == nil {
		return About{FromMe: true}
	}
	return ofChat(s.Data.RemoteJID, true)
}

// AsyncMessage is the message that an asynchronous send made.
type AsyncMessage struct {
	MessageID        string `json:"messageId" doc:"The message's id at WhatsApp." example:"$keyid"`
	RemoteJID        string `json:"remoteJid"`
	ParticipantCount int    `json:"participantCount" doc:"How many members were mentioned." example:"12" rules:"minimum=0"`
	Timestamp        Time   `json:"timestamp" doc:"When WhatsApp accepted it." example:"$time"`
}

// AsyncSendFail says why an asynchronous send failed.
type AsyncSendFail struct {
	Code    string `json:"code" doc:"What happened, for programs." example:"INSTANCE_NOT_CONNECTED"`
	Message string `json:"message" doc:"The same for people." example:"instance is not connected"`
}

// Poll is a poll as its message has it.
type Poll struct {
	Name            string   `json:"name" doc:"The question." example:"When?"`
	Options         []string `json:"options" doc:"The options, in order." example:"now,later"`
	SelectableCount int      `json:"selectableCount" doc:"How many options one person can choose; 0: any number." example:"1"`
	CreatedAt       Time     `json:"createdAt"`
}

// PollTally is a poll with the votes that count.
type PollTally struct {
	Poll         Poll          `json:"poll" doc:"The poll."`
	Votes        []PollVote    `json:"votes" doc:"The last vote of each person, in the order of their times."`
	Tally        []OptionCount `json:"tally" doc:"How many people chose each option, in the order of the poll."`
	UnknownVotes int           `json:"unknownVotes" doc:"How many votes could not be decrypted." example:"0"`
}

// PollVote is the vote of one person.
type PollVote struct {
	Voter   Voter    `json:"voter" doc:"Who voted."`
	Options []string `json:"options" doc:"The chosen options." example:"now"`
	At      Time     `json:"at" doc:"When, by the voter's clock." example:"$time"`
}

// Voter is a person who voted.
type Voter struct {
	JID  string  `json:"jid"`
	LID  *string `json:"lid"`
	Name *string `json:"name" doc:"The name that the person chose; null when it is not known." example:"Ada"`
}

// OptionCount is how many people chose an option.
type OptionCount struct {
	Option string `json:"option" doc:"The option." example:"now"`
	Count  int    `json:"count" doc:"How many people chose it." example:"3"`
}

// MediaLink is the address of the file of a stored message, with the file as its sender
// describes it.
type MediaLink struct {
	URL       string    `json:"url" doc:"The address of the file. Its token is the credential." example:"https://example.org/media/AQAAAAAAAAAB/cat.jpg" rules:"format=uri"`
	ExpiresAt Time      `json:"expiresAt" doc:"When the address ends." example:"$time"`
	Kind      MediaKind `json:"kind" doc:"The kind of file." example:"image"`
	MimeType  string    `json:"mimetype" doc:"The media type that the sender declared." example:"image/jpeg"`
	FileName  string    `json:"fileName" doc:"The name that the file is downloaded under." example:"cat.jpg"`
	Size      int64     `json:"size" doc:"The size that the sender declared, in bytes." example:"48213" rules:"minimum=0"`
	SHA256    string    `json:"sha256" doc:"The SHA-256 of the file, in hexadecimal." example:"9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"`
}

// MediaOption says what the events of messages with a file have of it.
type MediaOption string

// The values of MediaOption.
const (
	MediaNone   MediaOption = "none"
	MediaAsLink MediaOption = "link"
)

func (MediaOption) values() []string { return list(MediaNone, MediaAsLink) }
