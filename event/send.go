package event

import (
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"
)

// The failures of a send. A connector wraps exactly one of them in every error of a send,
// so that a caller knows whether the message may have left.
var (
	// ErrNotConnected: the instance is not online; nothing was sent.
	ErrNotConnected = errors.New("instance is not connected")
	// ErrBusy: other sends took too long; nothing was sent.
	ErrBusy = errors.New("instance is busy with other sends")
	// ErrNotNow: WhatsApp or a limit keeps the instance from sending for now,
	// regardless of the recipient; nothing was sent. The error is a *NotNowError.
	ErrNotNow = errors.New("the instance may not send this now")
	// ErrNotOnWhatsApp: the recipient has no account; nothing was sent.
	ErrNotOnWhatsApp = errors.New("recipient is not on WhatsApp")
	// ErrNotAMember: the message mentions somebody who is no member of the group; nothing was
	// sent.
	ErrNotAMember = errors.New("the message mentions people who are not members of the group")

	// The next two are of the audience of a status. They wrap ErrAudience.
	ErrAudience            = errors.New("the audience of the status")
	ErrAudienceEmpty       = fmt.Errorf("%w is empty: the account's privacy of statuses shows it to none of them", ErrAudience)
	ErrAudienceNotPossible = fmt.Errorf("%w cannot be chosen: the account shares statuses only with a list of people, whom WhatsApp sends it to", ErrAudience)
	// ErrNotChannelAdmin: the account is neither owner nor admin of the newsletter; nothing was
	// uploaded or sent.
	ErrNotChannelAdmin = errors.New("the account is neither owner nor admin of the newsletter")
	// ErrPollNotReadable: the poll came without its secret; nothing was sent.
	ErrPollNotReadable = errors.New("the poll came without its secret, so that no vote can be encrypted for it")
	// ErrSendRefused: the message was certainly not sent, for another reason.
	ErrSendRefused = errors.New("message was not sent")
	// ErrOutcomeUnknown: the message may have left and no answer came.
	ErrOutcomeUnknown = errors.New("outcome of the send is unknown")
	// ErrTooLate: a scheduled send could not begin in time; nothing was sent.
	ErrTooLate = errors.New("the message could not be sent in time")
)

// TooLate is the code of ErrTooLate.
const TooLate = "TOO_LATE"

// ReachoutTimelocked is the code of a NotNowError: the account may not open
// conversations with people it does not know. WhatsApp refuses such a message
// with ReachoutTimelockCode.
const (
	ReachoutTimelocked   = "REACHOUT_TIMELOCKED"
	ReachoutTimelockCode = 463
)

// ErrTimelocked is a *NotNowError without a known end.
var ErrTimelocked error = &NotNowError{
	Code: ReachoutTimelocked,
	Text: "WhatsApp does not let the account write to people it does not know for now; it can still answer people who wrote to it recently",
}

// RefusedError is a refusal of a message by WhatsApp. It wraps ErrSendRefused and the
// error of the connector.
type RefusedError struct {
	Code  int // WhatsApp's
	Cause error
}

// Error returns the text of both.
func (e *RefusedError) Error() string { return ErrSendRefused.Error() + ": " + e.Cause.Error() }

// Unwrap returns ErrSendRefused and the cause.
func (e *RefusedError) Unwrap() []error { return []error{ErrSendRefused, e.Cause} }

// NotNowError is the reason why an instance cannot send for now. It wraps ErrNotNow.
type NotNowError struct {
	Code  string    // machine code, such as REACHOUT_TIMELOCKED
	Text  string    // the reason, and what to do
	Until time.Time // when it ends; zero: unknown
}

// Error returns the text, with the end if it is known.
func (e *NotNowError) Error() string {
	if e.Until.IsZero() {
		return e.Text
	}
	return e.Text + "; until " + At(e.Until).String()
}

// Unwrap returns ErrNotNow.
func (e *NotNowError) Unwrap() error { return ErrNotNow }

// Is reports whether target is a *NotNowError of the same code.
func (e *NotNowError) Is(target error) bool {
	other, ok := target.(*NotNowError) //nolint:errorlint // Is compares one error
	return ok && other.Code == e.Code
}

// NotNowCode is the code of the NotNowError in err, empty when there is none.
func NotNowCode(err error) string {
	if e, ok := errors.AsType[*NotNowError](err); ok {
		return e.Code
	}
	return ""
}

// ErrRefused is wrapped when WhatsApp, or a rule that it would apply, refused a request;
// nothing changed.
var ErrRefused = errors.New("WhatsApp refused")

// Domestic is the error text for a phone number that begins with 0, as no country code
// does.
const Domestic = "give the number with country code, without the leading 0 (4915112345678, not 015112345678)"

// NotOnWhatsApp is ErrNotOnWhatsApp for a phone number, with the likely reason.
func NotOnWhatsApp(number string) error {
	if strings.HasPrefix(number, "0") {
		return fmt.Errorf("%w: %s; %s", ErrNotOnWhatsApp, Cut(number), Domestic)
	}
	return fmt.Errorf("%w: %s", ErrNotOnWhatsApp, Cut(number))
}

// ErrRecipient is wrapped by every error of ParseRecipient.
var ErrRecipient = errors.New("invalid recipient")

// Servers of a JID.
const (
	UserServer      = "s.whatsapp.net"
	GroupServer     = "g.us"
	BroadcastServer = "broadcast" // of broadcast lists, and of the status
	legacyServer    = "c.us"
	LIDServer       = "lid"
)

// Recipient is the address that a message is sent to.
type Recipient struct {
	User   string // digits of the phone or LID, or the group's id
	Server string // "s.whatsapp.net", "lid", "g.us", or "newsletter" of ParseDestination
}

// JID returns the address as WhatsApp writes it.
func (r Recipient) JID() string { return r.User + "@" + r.Server }

// IsPhone reports whether the recipient is a phone number.
func (r Recipient) IsPhone() bool { return r.Server == UserServer }

// IsGroup reports whether the recipient is a group.
func (r Recipient) IsGroup() bool { return r.Server == GroupServer }

// IsChannel reports whether the recipient is a newsletter.
func (r Recipient) IsChannel() bool { return r.Server == NewsletterServer }

// ParseRecipient reads a phone number or a JID. The characters + ( ) - . / are
// dropped from phone numbers, and so are hyphens and spaces of any kind; 7 to 15
// digits must remain. "digits@c.us" means the phone. LIDs and groups are accepted here; callers
// that refuse them look at [Recipient.IsPhone].
func ParseRecipient(s string) (Recipient, error) {
	user, server, isJID := strings.Cut(s, "@")
	switch {
	case !isJID, server == UserServer, server == legacyServer:
		digits, err := phoneDigits(user)
		return Recipient{digits, UserServer}, err
	case server == LIDServer:
		if !allDigits(user) {
			return Recipient{}, fmt.Errorf("%w: a LID has only digits before @lid", ErrRecipient)
		}
		return Recipient{user, LIDServer}, nil
	case server == GroupServer:
		if !allDigits(strings.Replace(user, "-", "", 1)) {
			return Recipient{}, fmt.Errorf("%w: a group id has digits and at most one hyphen before @g.us", ErrRecipient)
		}
		return Recipient{user, GroupServer}, nil
	}
	return Recipient{}, fmt.Errorf("%w: what follows the @ is not one of s.whatsapp.net, c.us, lid, g.us", ErrRecipient)
}

// Chats that only WhatsApp or the account itself writes to.
const (
	NewsletterServer = "newsletter"
	StatusBroadcast  = "status@broadcast" // the account's status
)

// ParseChat reads the JID of any chat: whatever ParseRecipient takes, a
// newsletter (@newsletter) or status@broadcast.
func ParseChat(s string) (Recipient, error) {
	user, server, _ := strings.Cut(s, "@")
	if s == StatusBroadcast || server == NewsletterServer && allDigits(user) {
		return Recipient{user, server}, nil
	}
	return ParseRecipient(s)
}

// ParseDestination reads the address of a message: whatever ParseRecipient takes, or a newsletter.
func ParseDestination(s string) (Recipient, error) {
	if s == StatusBroadcast {
		return ParseRecipient(s)
	}
	return ParseChat(s)
}

// IsChannel reports whether a JID is that of a newsletter.
func IsChannel(jid string) bool { return strings.HasSuffix(jid, "@"+NewsletterServer) }

// phoneDigits drops what people write between the digits, and the invisible marks
// of direction that come along when a number is copied. What separates one number
// from the next, or a number from its device, is not dropped.
func phoneDigits(s string) (string, error) {
	digits := s
	if !allDigits(s) { // seldom in large batches
		digits = strings.Map(written, s)
	}
	if !allDigits(digits) {
		return "", fmt.Errorf("%w: a phone number has only digits and + ( ) - . / space", ErrRecipient)
	}
	if len(digits) < 7 || len(digits) > 15 {
		return "", fmt.Errorf("%w: a phone number has 7 to 15 digits, this one has %d", ErrRecipient, len(digits))
	}
	return digits, nil
}

// written maps what people write between digits to nothing.
func written(r rune) rune {
	if strings.ContainsRune("+()./", r) || unicode.Is(unicode.Pd, r) || unicode.IsSpace(r) || unicode.Is(unicode.Cf, r) {
		return -1
	}
	return r
}

func allDigits(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != "" && len(s) <= 40
}
