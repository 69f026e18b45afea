package event

// CallStatus is the "status" of call.upsert.
type CallStatus string

// The statuses of call.upsert.
const (
	CallOffer     CallStatus = "offer"     // an incoming call
	CallRinging   CallStatus = "ringing"   // notice of an offer, as groups get it
	CallPreAccept CallStatus = "preaccept" // a device of the called account is ready
	CallTimeout   CallStatus = "timeout"   // ended without an answer
	CallReject    CallStatus = "reject"
	CallAccept    CallStatus = "accept"
	CallTerminate CallStatus = "terminate"
	CallUnknown   CallStatus = "unknown" // a call event that the client library does not know
)

func (CallStatus) values() []string {
	return list(CallOffer, CallRinging, CallPreAccept, CallTimeout, CallReject, CallAccept, CallTerminate, CallUnknown)
}

// Call is the data of call.upsert. Null fields are unknown.
type Call struct {
	ChatID   string  `json:"chatId" doc:"The JID of the call's chat." example:"$jid"`
	From     string  `json:"from" doc:"The JID of the caller." example:"$jid"`
	CallerPN *string `json:"callerPn" doc:"The phone JID of the caller; null when unknown." example:"$jid"`
	IsGroup  *bool   `json:"isGroup" doc:"Whether it is a group call; null when unknown." example:"false"`
	GroupJID *string `json:"groupJid" doc:"The JID of the group; null when unknown." example:"$group"`
	ID       string  `json:"id" doc:"The id of the call." example:"6F1C1A520D6B4C56"`
	// of the call, else of its processing
	Date      Time       `json:"date" doc:"When it happened." example:"$time"`
	IsVideo   *bool      `json:"isVideo" doc:"Whether it is a video call; null when unknown." example:"false"`
	Status    CallStatus `json:"status" doc:"What happened."`
	Offline   bool       `json:"offline" doc:"Whether it happened while the instance was offline." example:"false"`
	LatencyMs *int64     `json:"latencyMs" doc:"WhatsApp's latency, in milliseconds; null when unknown." example:"40"`
}

func (c Call) about() About { return ofChat(c.ChatID, false) }
