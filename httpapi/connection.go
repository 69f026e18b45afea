package httpapi

import (
	"strings"

	"postern/event"
)

// connectAnswer tells where a connect stands. Code and Base64 are null when
// there is nothing to scan.
type connectAnswer struct {
	Count             int     `json:"count"`
	Code              *string `json:"code"`
	Base64            *string `json:"base64"`
	InstanceName      string  `json:"instanceName"`
	ConnectionStatus  string  `json:"connectionStatus"`
	AlreadyConnected  bool    `json:"alreadyConnected"`
	AlreadyConnecting bool    `json:"alreadyConnecting"`
	OwnerJID          *string `json:"ownerJid"`
}

// statusAnswer tells the socket's truth.
type statusAnswer struct {
	State            string      `json:"state"` // open, close or connecting
	StatusReason     *int        `json:"statusReason"`
	InstanceName     string      `json:"instanceName"`
	ConnectionStatus string      `json:"connectionStatus"`
	Connected        bool        `json:"connected"`
	LoggedIn         bool        `json:"loggedIn"`
	OwnerJID         *string     `json:"ownerJid"`
	LastConnectedAt  *event.Time `json:"lastConnectedAt"`
	LastReceivedAt   *event.Time `json:"lastReceivedAt"`
	LastSentAt       *event.Time `json:"lastSentAt"`
	LastError        *string     `json:"lastError"`
}

type logoutAnswer struct {
	InstanceName     string `json:"instanceName"`
	State            string `json:"state"`
	ConnectionStatus string `json:"connectionStatus"`
	Message          string `json:"message"`
}

// phoneRequest is the body that asks for a pairing code.
type phoneRequest struct {
	PhoneNumber string `json:"phoneNumber" strict:"required"`
}

// upper is the form of a state in the answers about the connection.
func upper(s event.State) string { return strings.ToUpper(string(s)) }

// socketState reduces a state to the three words of the status answer.
func socketState(s event.State) string {
	switch s {
	case event.Online:
		return "open"
	case event.Connecting, event.QRCodeState, event.PairingCodeState, event.Pairing, event.Reconnecting:
		return "connecting"
	}
	return "close"
}

// orNull is nil for the empty string.
func orNull(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
