package instances

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"strings"

	"postern/access"
	"postern/event"
	"postern/httpapi/rest"
	"postern/instance"
	"postern/instance/pace"
)

const CodeNoQRCode = "NO_QR_CODE"

// ConnectAnswer is the state of a connect. Code and Base64 are omitted if there is nothing to scan.
type ConnectAnswer struct {
	Count             int        `json:"count"`
	Code              *string    `json:"code,omitempty"`
	Base64            *string    `json:"base64,omitempty"`
	ExpiresAt         event.Time `json:"expiresAt,omitzero"` // of the code
	InstanceName      string     `json:"instanceName"`
	ConnectionStatus  string     `json:"connectionStatus"`
	AlreadyConnected  bool       `json:"alreadyConnected"`
	AlreadyConnecting bool       `json:"alreadyConnecting"`
	OwnerJID          *string    `json:"ownerJid"`
}

// StatusAnswer is the state of the socket.
type StatusAnswer struct {
	State            string      `json:"state"`        // open, close or connecting
	StatusReason     int         `json:"statusReason"` // WhatsApp's code; 0: none
	InstanceName     string      `json:"instanceName"`
	ConnectionStatus string      `json:"connectionStatus"`
	Connected        bool        `json:"connected"`
	LoggedIn         bool        `json:"loggedIn"`
	OwnerJID         *string     `json:"ownerJid"`
	LastConnectedAt  *event.Time `json:"lastConnectedAt"`
	LastReceivedAt   *event.Time `json:"lastReceivedAt"`
	LastSentAt       *event.Time `json:"lastSentAt"`
	LastError        *string     `json:"lastError"`

	Restriction *Restriction        `json:"restriction"` // null when there is none
	Passkey     *event.PasskeyState `json:"passkey"`     // null when none was asked for
	Limits      *pace.Status        `json:"limits"`      // null when none are set
}

// Restriction is what WhatsApp forbids the account, or what its refusals show.
type Restriction struct {
	Kind   string      `json:"kind"` // reachout_timelock, temporary_ban or failure_streak
	Since  *event.Time `json:"since"`
	Until  event.Time  `json:"until"`
	Source string      `json:"source"` // notified or inferred
	Reason string      `json:"reason,omitempty"`
	Code   int         `json:"code,omitempty"`
	Count  int         `json:"count,omitempty"`
}

type LogoutAnswer struct {
	InstanceName     string `json:"instanceName"`
	State            string `json:"state"`
	ConnectionStatus string `json:"connectionStatus"`
	Message          string `json:"message"`
}

// phoneRequest is the body that asks for a pairing code.
type phoneRequest struct {
	PhoneNumber string `json:"phoneNumber" strict:"required"`
}

// upper returns a state as the answers about the connection write it.
func upper(s event.State) string { return strings.ToUpper(string(s)) }

// SocketState reduces a state to the three values of the status answer.
func SocketState(s event.State) string {
	switch s {
	case event.Online:
		return "open"
	case event.Connecting, event.QRCodeState, event.PairingCodeState, event.Pairing, event.Reconnecting:
		return "connecting"
	default:
		return "close"
	}
}

func (a *API) connect(c *rest.Call) error {
	if c.Request.Method == http.MethodPost {
		if err := c.NoBody(); err != nil {
			return err
		}
	}
	forget, err := forgetsNetwork(c)
	if err != nil {
		return err
	}
	if _, err := a.forgetNetwork(c, forget); err != nil {
		return err
	}
	got, err := a.Supervisor.Connect(c.Request.Context(), c.Instance.ID, c.RequestID)
	if err != nil {
		return err
	}
	answer := ConnectAnswer{
		InstanceName:      got.Record.Name,
		ConnectionStatus:  upper(got.Record.Status),
		AlreadyConnected:  got.AlreadyConnected,
		AlreadyConnecting: got.AlreadyConnecting,
	}
	if c.Link == nil { // a portal link does not reveal the number
		answer.OwnerJID = rest.OrNull(got.Record.OwnerJID)
	}
	if got.Code != nil {
		answer.Count, answer.Code, answer.Base64, answer.ExpiresAt = got.Code.Count, &got.Code.Code, &got.Code.Base64, got.Code.ExpiresAt
	}
	return c.Response.JSON(http.StatusOK, answer)
}

// showCode is connect for people in a browser: it answers with the code to scan as a picture. The codes
// change; a picture is valid until the next one.
func (a *API) showCode(c *rest.Call) error {
	got, err := a.Supervisor.Connect(c.Request.Context(), c.Instance.ID, c.RequestID)
	if err != nil {
		return err
	}
	if got.Code == nil {
		return nothingToScan(got)
	}
	_, encoded, _ := strings.Cut(got.Code.Base64, ",")
	picture, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		return fmt.Errorf("decode the code's picture: %w", err)
	}
	c.Response.Header().Set("Content-Type", "image/png")
	_, err = c.Response.Write(picture)
	return err
}

// nothingToScan says why a connect has no code to scan.
func nothingToScan(c instance.Connection) error {
	why := "the pairing continues with a passkey"
	switch {
	case c.AlreadyConnected, c.Record.Status == event.Online:
		return fmt.Errorf("no code to show: %w", instance.ErrAlreadyPaired)
	case c.Record.Status == event.PairingCodeState:
		why = "WhatsApp waits for a code that is typed on the phone"
	}
	return rest.Refuse(http.StatusConflict, CodeNoQRCode, "there is no code to scan: "+why+"; finish it that way, or log the instance out and connect it again")
}

func (a *API) pairByPath(c *rest.Call) error { return a.pair(c, c.Params.ByName("phone")) }

func (a *API) pairByBody(c *rest.Call) error {
	var in phoneRequest
	if err := c.Decode(&in, rest.MaxBody); err != nil {
		return err
	}
	return a.pair(c, in.PhoneNumber)
}

func (a *API) pair(c *rest.Call, phone string) error {
	forget, err := forgetsNetwork(c)
	if err != nil {
		return err
	}
	to, err := event.ParseRecipient(phone)
	if err != nil {
		return err
	}
	if !to.IsPhone() {
		return rest.Refuse(http.StatusUnprocessableEntity, "INVALID_RECIPIENT", "phoneNumber must be a phone number")
	}
	if _, err := a.forgetNetwork(c, forget); err != nil {
		return err
	}
	if err := a.takeCode(c); err != nil {
		return err
	}
	code, err := a.Supervisor.PairCode(c.Request.Context(), c.Instance.ID, to.User, c.RequestID)
	if err != nil {
		return err
	}
	return c.Response.JSON(http.StatusOK, PairingCode{code})
}

type PairingCode struct {
	Code string `json:"code"`
}

func (a *API) connectionStatus(c *rest.Call) error {
	got, err := a.Supervisor.Status(c.Instance.ID)
	if err != nil {
		return err
	}
	rec := got.Record
	answer := StatusAnswer{
		State:            SocketState(rec.Status),
		InstanceName:     rec.Name,
		ConnectionStatus: upper(rec.Status),
		Connected:        got.Connected,
		LoggedIn:         got.LoggedIn,
		OwnerJID:         rest.OrNull(rec.OwnerJID),
		LastConnectedAt:  event.AtPtr(rec.LastConnectedAt.Time),
		LastReceivedAt:   event.AtPtr(got.LastReceivedAt),
		LastSentAt:       event.AtPtr(got.LastSentAt),
		LastError:        rest.OrNull(rec.LastError),
	}
	answer.StatusReason = rec.Reason
	if r, ok := rec.Restriction(a.Store.Now()); ok {
		answer.Restriction = &Restriction{r.Kind(), event.AtPtr(r.Since.Time), r.Until, r.Source(), r.Reason, r.Code, r.Count}
	}
	answer.Limits = a.Supervisor.LimitStatus(c.Instance.ID)
	if passkey := got.Passkey; passkey.Step != "" {
		answer.Passkey = &passkey
	}
	return c.Response.JSON(http.StatusOK, &answer)
}

// forgetsNetwork reports whether the query has network=forget. It ignores other parameters, because these
// routes have always accepted any. A portal link cannot request it.
func forgetsNetwork(c *rest.Call) (bool, error) {
	values := c.Request.URL.Query()["network"]
	switch {
	case c.Link != nil, len(values) == 0:
		return false, nil
	case len(values) > 1 || values[0] != "forget":
		return false, rest.InvalidQuery("network must be given once, as forget")
	case c.Key != nil && !c.Key.Has(access.Manage):
		return false, rest.MissingScope("network=forget needs the scope manage")
	}
	return true, nil
}

// forgetNetwork removes the device of an instance that belongs to another network if the request asks for
// it, and reports whether it did.
func (a *API) forgetNetwork(c *rest.Call, wanted bool) (forgot bool, err error) {
	if !wanted {
		return false, nil
	}
	return a.Supervisor.ForgetNetwork(c.Request.Context(), c.Instance.ID, c.RequestID)
}

func (a *API) logout(c *rest.Call) error {
	forget, err := forgetsNetwork(c)
	if err != nil {
		return err
	}
	forgot, err := a.forgetNetwork(c, forget)
	if err != nil {
		return err
	}
	unlinked := false
	if !forgot {
		if unlinked, err = a.Supervisor.Logout(c.Request.Context(), c.Instance.ID, c.RequestID); err != nil {
			return err
		}
	}
	message := "the instance was logged out"
	if !unlinked {
		message += "; WhatsApp could not be notified, so remove the linked device on the phone too"
	}
	return c.Response.JSON(http.StatusOK, LogoutAnswer{
		InstanceName: c.Instance.Name, State: string(event.LoggedOut), ConnectionStatus: upper(event.LoggedOut), Message: message,
	})
}

// restart drops and reopens the socket, and answers with the resulting state.
func (a *API) restart(c *rest.Call) error {
	if err := c.NoBody(); err != nil {
		return err
	}
	if err := a.Supervisor.Restart(c.Request.Context(), c.Instance.ID, c.RequestID); err != nil {
		return err
	}
	return a.connectionStatus(c)
}
