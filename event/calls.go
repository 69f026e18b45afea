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
	ChatID    string     `json:"chatId"` // JID of the call's chat
	From      string     `json:"from"`   // JID of the origin
	CallerPN  *string    `json:"callerPn"`
	IsGroup   *bool      `json:"isGroup"`
	GroupJID  *string    `json:"groupJid"`
	ID        string     `json:"id"`
	Date      Time       `json:"date"` // of the call, else of its processing
	IsVideo   *bool      `json:"isVideo"`
	Status    CallStatus `json:"status"`
	Offline   bool       `json:"offline"` // it happened while the instance was offline
	LatencyMs *int64     `json:"latencyMs"`
}

func (c Call) about() About { return ofChat(c.ChatID, false) }
