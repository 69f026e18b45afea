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

// CodeNoQRCode says that no code came in time.
const CodeNoQRCode = "NO_QR_CODE"

// ConnectAnswer is the state of a connect. Code and Base64 are omitted if there is nothing to scan.
type ConnectAnswer struct {
	Count             int             `json:"count" doc:"How many codes this attempt has produced." example:"1" rules:"minimum=0"`
	Code              *string         `json:"code,omitempty" doc:"The text of the code to scan, when there is one." example:"2@abc"`
	Base64            *string         `json:"base64,omitempty" doc:"The code to scan as a PNG in a data URL, when there is one." example:"data:image/png;base64,iVBORw=="`
	ExpiresAt         event.Time      `json:"expiresAt,omitzero" doc:"When the code expires, when there is one."`
	InstanceName      string          `json:"instanceName"`
	ConnectionStatus  StateInCapitals `json:"connectionStatus" doc:"The state of the connection, in capitals." example:"ONLINE"`
	AlreadyConnected  bool            `json:"alreadyConnected" doc:"Whether it was already connected." example:"false"`
	AlreadyConnecting bool            `json:"alreadyConnecting" doc:"Whether another request was already connecting it." example:"false"`
	OwnerJID          *string         `json:"ownerJid"`
}

// StatusAnswer is the state of the socket.
type StatusAnswer struct {
	State string `json:"state" doc:"The state of the connection: open, close or connecting." example:"open" rules:"enum=open|close|connecting"`
	// WhatsApp's code; 0: none
	StatusReason     int                  `json:"statusReason" doc:"WhatsApp's code for the last failure." example:"401"`
	InstanceName     string               `json:"instanceName"`
	ConnectionStatus StateInCapitals      `json:"connectionStatus" doc:"The state of the connection, in capitals." example:"ONLINE"`
	Connected        bool                 `json:"connected" doc:"Whether there is a connection to WhatsApp." example:"true"`
	LoggedIn         bool                 `json:"loggedIn" doc:"Whether the account is logged in on it." example:"true"`
	OwnerJID         *string              `json:"ownerJid"`
	LastConnectedAt  *event.Time          `json:"lastConnectedAt" doc:"When it was last connected; null before the first time." example:"$time"`
	LastReceivedAt   *event.Time          `json:"lastReceivedAt" doc:"When data was last received; null when none was since the start." example:"$time"`
	LastSentAt       *event.Time          `json:"lastSentAt" doc:"When data was last sent; null when none was since the start." example:"$time"`
	PhoneLastSeenAt  *event.Time          `json:"phoneLastSeenAt"`
	Undelivered      instance.Undelivered `json:"undelivered" doc:"How many messages to single people have no receipt whatsapp.undelivered_after after WhatsApp took them."`
	Day              InstanceDay          `json:"day" doc:"What happened in the last 24 hours; counted in memory, so since the start at most."`
	LastError        *string              `json:"lastError" doc:"The last failure of the connection; null when there was none." example:"stream error 503"`

	Restriction *Restriction        `json:"restriction"` // null when there is none
	Passkey     *event.PasskeyState `json:"passkey" doc:"The state of a passkey pairing; null when none was requested, and once it is paired or cancelled."`
	Limits      *pace.Status        `json:"limits" doc:"How much of its limits the instance has used; null when it has none."`
}

// InstanceDay counts what happened to an instance in the last 24 hours.
type InstanceDay struct {
	Since    event.Time `json:"since" doc:"When counting began: 24 hours ago, or at the start of the program." example:"$time"`
	Received int        `json:"received" doc:"Messages of others." example:"120" rules:"minimum=0"`
	Sent     int        `json:"sent" doc:"Messages that WhatsApp accepted from this program." example:"80" rules:"minimum=0"`
	Waiting  int        `json:"waiting" doc:"Events that wait to be delivered, counted once a second." example:"0" rules:"minimum=0"`
	Failed   int        `json:"failed" doc:"Attempts to deliver an event that failed." example:"0" rules:"minimum=0"`
}

// dayOf returns the counts of an instance.
func (a *API) dayOf(id int64) (InstanceDay, error) {
	d := a.Registry.Day(id)
	waiting, err := a.Waiting(id)
	return InstanceDay{event.At(d.Since), d.Received, d.Sent, waiting, d.Failed}, err
}

// Restriction is what WhatsApp forbids the account, or what its refusals show.
type Restriction struct {
	Kind   string      `json:"kind" doc:"The kind: no messages to strangers, a temporary ban, or consecutive refusals." example:"reachout_timelock" rules:"enum=reachout_timelock|temporary_ban|failure_streak"`
	Since  *event.Time `json:"since" doc:"When it began; null when unknown." example:"$time"`
	Until  event.Time  `json:"until" doc:"When it ends." example:"$time"`
	Source string      `json:"source" doc:"Whether WhatsApp announced it, or it was inferred from refusals." example:"notified" rules:"enum=notified|inferred"`
	Reason string      `json:"reason,omitempty" doc:"WhatsApp's name or code for it." example:"BIZ_QUALITY"`
	Code   int         `json:"code,omitempty" doc:"The code of the refusals." example:"463"`
	Count  int         `json:"count,omitempty" doc:"The number of consecutive refusals." example:"10"`
}

// LogoutAnswer answers a logout.
type LogoutAnswer struct {
	InstanceName     string          `json:"instanceName"`
	State            string          `json:"state" doc:"The state of the instance now." example:"logged_out"`
	ConnectionStatus StateInCapitals `json:"connectionStatus" doc:"The state of the connection, in capitals." example:"ONLINE"`
	Message          string          `json:"message" doc:"What happened, for people." example:"the instance was logged out"`
}

// phoneRequest is the body that asks for a pairing code.
type phoneRequest struct {
	PhoneNumber string `json:"phoneNumber" strict:"required" doc:"The number of the phone to link, with its country code." example:"$phone" rules:"minLength=7"`
}

// StateInCapitals is a state as the answers about the connection write it.
type StateInCapitals string

func upper(s event.State) StateInCapitals { return StateInCapitals(strings.ToUpper(string(s))) }

// StatesInCapitals returns all states of a connection as answers have them.
func StatesInCapitals() (all []StateInCapitals) {
	for _, s := range event.States() {
		all = append(all, upper(s))
	}
	return all
}

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
		answer.OwnerJID = event.OrNull(got.Record.OwnerJID)
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

// PairingCode is the code that links a phone without its camera.
type PairingCode struct {
	Code string `json:"code" doc:"The code to type on the phone." example:"ABCD-EFGH"`
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
		OwnerJID:         event.OrNull(rec.OwnerJID),
		LastConnectedAt:  event.AtPtr(rec.LastConnectedAt.Time),
		LastReceivedAt:   event.AtPtr(got.LastReceivedAt),
		LastSentAt:       event.AtPtr(got.LastSentAt),
		PhoneLastSeenAt:  event.AtPtr(rec.PhoneSeenAt.Time),
		LastError:        event.OrNull(rec.LastError),
	}
	answer.StatusReason = rec.Reason
	if answer.Undelivered, err = a.Supervisor.Undelivered(c.Instance.ID); err != nil {
		return err
	}
	if answer.Day, err = a.dayOf(c.Instance.ID); err != nil {
		return err
	}
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
