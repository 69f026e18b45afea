package httpapi

import (
	"fmt"
	"net/http"
	"time"

	"postern/event"
	"postern/instance"
)

const (
	maxNumbers = 100 // that one request looks up
	maxRead    = 100 // messages that one request marks as read
)

// account is the connected session that a request is about.
func (a *api) account(c *call) (instance.Account, error) {
	return a.Supervisor.Account(c.r.Context(), c.instance.ID)
}

// chatOperation is the handler of a route that takes a body of type B and
// answers with a T. check is done before the connection is looked for.
func chatOperation[B, T any](check func(*B) error, do func(*call, instance.Account, *B) (T, error)) func(*api, *call) error {
	return func(a *api, c *call) error {
		var in B
		if err := c.decode(&in, maxBody); err != nil {
			return err
		}
		if err := check(&in); err != nil {
			return err
		}
		account, err := a.account(c)
		if err != nil {
			return err
		}
		out, err := do(c, account, &in)
		if err != nil {
			return err
		}
		return c.w.json(http.StatusOK, out)
	}
}

// quietOperation is chatOperation for what has nothing to tell: it answers 204.
func quietOperation[B any](check func(*B) error, do func(*call, instance.Account, *B) error) func(*api, *call) error {
	return func(a *api, c *call) error {
		var in B
		if err := c.decode(&in, maxBody); err != nil {
			return err
		}
		if err := check(&in); err != nil {
			return err
		}
		account, err := a.account(c)
		if err != nil {
			return err
		}
		if err := do(c, account, &in); err != nil {
			return err
		}
		return c.nothing()
	}
}

type numbersRequest struct {
	Numbers []string `json:"numbers" strict:"required"`
}

// check reads the numbers to digits.
func (r *numbersRequest) check() error {
	if n := len(r.Numbers); n < 1 || n > maxNumbers {
		return invalidField(fmt.Sprintf("numbers must have 1 to %d entries", maxNumbers))
	}
	for i, text := range r.Numbers {
		who, err := event.ParseRecipient(text)
		if err != nil {
			return fmt.Errorf("numbers[%d]: %w", i, err)
		}
		if !who.IsPhone() {
			return fmt.Errorf("numbers[%d]: %w: it must be a phone number", i, event.ErrRecipient)
		}
		r.Numbers[i] = who.User
	}
	return nil
}

func lookUpNumbers(c *call, account instance.Account, in *numbersRequest) ([]event.Registration, error) {
	return account.Registered(c.r.Context(), in.Numbers)
}

// lastMessage is the newest message of a chat as existing clients give it.
type lastMessage struct {
	Key              *event.MessageKey `json:"key"`
	MessageTimestamp int64             `json:"messageTimestamp"` // Unix seconds
}

type archiveRequest struct {
	Chat        string       `json:"chat"` // may be missing where lastMessage names it
	Archive     bool         `json:"archive" strict:"required"`
	LastMessage *lastMessage `json:"lastMessage"`
}

func (r *archiveRequest) check() error {
	if r.LastMessage != nil && r.LastMessage.Key != nil && r.Chat == "" {
		r.Chat = r.LastMessage.Key.RemoteJID
	}
	if r.LastMessage != nil && r.LastMessage.MessageTimestamp < 0 {
		return invalidField("lastMessage.messageTimestamp must be Unix seconds")
	}
	return readChat("chat", &r.Chat)
}

// readChat replaces a chat by its address.
func readChat(name string, chat *string) error {
	r, err := event.ParseChat(*chat)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	*chat = r.JID()
	return nil
}

// readPerson replaces a person by its address.
func readPerson(name string, who *string) error {
	r, err := event.ParseRecipient(*who)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if r.IsGroup() {
		return fmt.Errorf("%s: %w: it must be a person", name, event.ErrRecipient)
	}
	*who = r.JID()
	return nil
}

// chatState is what a chat is after a change.
type chatState struct {
	Chat   string      `json:"chat"`
	Pinned *bool       `json:"pinned,omitempty"`
	Muted  *bool       `json:"muted,omitempty"`
	Until  *event.Time `json:"until,omitempty"` // of muted; absent: for ever
}

func archiveChat(c *call, account instance.Account, in *archiveRequest) error {
	var last event.LastMessage
	if m := in.LastMessage; m != nil {
		last.Key = m.Key
		if m.MessageTimestamp > 0 {
			last.At = time.Unix(m.MessageTimestamp, 0)
		}
	}
	return account.Archive(c.r.Context(), in.Chat, in.Archive, last)
}

type pinRequest struct {
	Chat   string `json:"chat" strict:"required"`
	Pinned bool   `json:"pinned" strict:"required"`
}

func (r *pinRequest) check() error { return readChat("chat", &r.Chat) }

func pinChat(c *call, account instance.Account, in *pinRequest) (chatState, error) {
	return chatState{Chat: in.Chat, Pinned: &in.Pinned}, account.Pin(c.r.Context(), in.Chat, in.Pinned)
}

type muteRequest struct {
	Chat  string `json:"chat" strict:"required"`
	Muted bool   `json:"muted" strict:"required"`
	Until string `json:"until"` // RFC 3339; absent: for ever
}

func (r *muteRequest) check() error {
	switch end, err := r.end(); {
	case r.Until == "":
	case err != nil:
		return invalidField("until must be a time in RFC 3339")
	case !r.Muted:
		return invalidField("until is for muted true")
	case !end.After(time.Now()):
		return invalidField("until must lie in the future")
	}
	return readChat("chat", &r.Chat)
}

// end is the zero time for ever.
func (r *muteRequest) end() (time.Time, error) {
	if r.Until == "" {
		return time.Time{}, nil
	}
	return time.Parse(time.RFC3339, r.Until)
}

func muteChat(c *call, account instance.Account, in *muteRequest) (chatState, error) {
	state := chatState{Chat: in.Chat, Muted: &in.Muted}
	until, err := in.end()
	if err != nil {
		return state, err
	}
	if !until.IsZero() {
		at := event.At(until)
		state.Until = &at
	}
	return state, account.Mute(c.r.Context(), in.Chat, in.Muted, until)
}

// blockRequest names a person.
type blockRequest struct {
	Number  string `json:"number" strict:"required"`
	Blocked bool   `json:"blocked" strict:"required"`
}

func (r *blockRequest) check() error { return readPerson("number", &r.Number) }

// blockedPeople is whom an account blocks.
type blockedPeople struct {
	Blocked []event.Person `json:"blocked"`
}

func blockPerson(c *call, account instance.Account, in *blockRequest) (blockedPeople, error) {
	all, err := account.Block(c.r.Context(), in.Number, in.Blocked)
	return blockedPeople{all}, err
}

func (a *api) listBlocked(c *call) error {
	account, err := a.account(c)
	if err != nil {
		return err
	}
	all, err := account.Blocked(c.r.Context())
	if err != nil {
		return err
	}
	return c.w.json(http.StatusOK, blockedPeople{all})
}

type profilePictureRequest struct {
	oneRecipient
	Preview bool `json:"preview"` // the small picture

	of string // the address, set by check
}

func (r *profilePictureRequest) check() error {
	who, err := r.recipient()
	r.of = who.JID()
	return err
}

type profilePictureAnswer struct {
	WUID string  `json:"wuid"`
	URL  *string `json:"profilePictureUrl"` // null: none that the account may see
	ID   *string `json:"pictureId"`
}

func showPicture(c *call, account instance.Account, in *profilePictureRequest) (profilePictureAnswer, error) {
	p, err := account.Picture(c.r.Context(), in.of, in.Preview)
	if err != nil || p == nil {
		return profilePictureAnswer{WUID: in.of}, err
	}
	return profilePictureAnswer{in.of, &p.URL, &p.ID}, nil
}

type rejectRequest struct {
	CallID   string `json:"callId" strict:"required"`
	CallFrom string `json:"callFrom" strict:"required"`
}

func (r *rejectRequest) check() error {
	if r.CallID == "" || len(r.CallID) > 128 {
		return invalidField("callId must be the id of a call.upsert event")
	}
	return readPerson("callFrom", &r.CallFrom)
}

func rejectCall(c *call, account instance.Account, in *rejectRequest) error {
	return account.RejectCall(c.r.Context(), in.CallFrom, in.CallID)
}

// presenceRequest is about the account itself, a chat, or a person to watch.
type presenceRequest struct {
	Presence string `json:"presence" strict:"required"`
	Chat     string `json:"chat"`
}

// The presences that are none of a chat.
const (
	presenceAvailable   = "available"
	presenceUnavailable = "unavailable"
	presenceSubscribe   = "subscribe"
)

func (r *presenceRequest) check() error {
	switch r.Presence {
	case presenceAvailable, presenceUnavailable:
		if r.Chat != "" {
			return invalidField("chat is not for the presence " + r.Presence)
		}
		return nil
	case presenceSubscribe:
		return readPerson("chat", &r.Chat)
	case string(event.PresenceComposing), string(event.PresenceRecording), string(event.PresencePaused):
		who, err := event.ParseRecipient(r.Chat)
		if err != nil {
			return fmt.Errorf("chat: %w", err)
		}
		r.Chat = who.JID()
		return nil
	}
	return invalidField("presence must be one of: available, unavailable, composing, recording, paused, subscribe")
}

type presenceAnswer struct {
	Presence string `json:"presence"`
	Chat     string `json:"chat,omitempty"`
}

func showPresence(c *call, account instance.Account, in *presenceRequest) (presenceAnswer, error) {
	answer, ctx := presenceAnswer{in.Presence, in.Chat}, c.r.Context()
	switch in.Presence {
	case presenceAvailable, presenceUnavailable:
		return answer, account.ShowAvailable(ctx, in.Presence == presenceAvailable)
	case presenceSubscribe:
		return answer, account.WatchPresence(ctx, in.Chat)
	}
	return answer, account.ShowPresence(ctx, in.Chat, event.Presence(in.Presence))
}
