package network

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"time"

	waBinary "go.mau.fi/whatsmeow/binary"
	"go.mau.fi/whatsmeow/types"

	"postern/sandbox/network/wire"
)

// errTimelocked refuses a message of a locked account to a stranger.
var errTimelocked = errors.New("the account may not write to strangers")

// timelockCode is WhatsApp's code for such a refusal.
const timelockCode = 463

// timelock is a lock in the network's JSON.
type timelock struct {
	Type   string `json:"enforcement_type"`
	Active bool   `json:"is_active"`
	Ends   int64  `json:"time_enforcement_ends,string,omitempty"`
}

// Lock is an argument of Timelock.
type Lock struct {
	Kind   string    // WhatsApp's name of the reason
	Ends   time.Time // in seconds; zero lifts the lock
	Silent bool      // no notice; only the refusals show it
}

// Timelock forbids an account to write to strangers until a time, or allows it again:
// people who neither wrote to it nor gave it a privacy token. Such a message is refused
// with 463. Errors: ErrClosed, phone.ErrNoAccount.
func (s *Server) Timelock(of types.JID, l Lock) error {
	l.Ends = l.Ends.Truncate(time.Second)
	notice := timelock{Type: l.Kind, Active: !l.Ends.IsZero()}
	if notice.Active {
		notice.Ends = l.Ends.Unix()
	}
	return s.with(of, func(a *account) {
		a.profile.LockedUntil = l.Ends
		s.persist.account(a)
		if !l.Silent {
			s.mex(a, nil, "NotificationAccountReachoutTimelockUpdate", "xwa2_notify_account_reachout_timelock", notice)
		}
	})
}

// GiveToken lets another account write to one: its devices get a privacy token, which
// they send with their messages. Errors: ErrClosed, phone.ErrNoAccount.
func (s *Server) GiveToken(from, to types.JID) error {
	token := []byte(rand.Text())
	return s.both(from, to, func(giver, a *account) {
		if a.profile.Tokens == nil {
			a.profile.Tokens = map[string][]byte{}
		}
		a.profile.Tokens[giver.pn.User] = token
		s.persist.account(a)
		s.notify(a, "privacy_token", giver.pn, waBinary.Attrs{"sender_lid": giver.lid}, waBinary.Node{
			Tag: "tokens", Content: []waBinary.Node{{
				Tag: "token", Attrs: waBinary.Attrs{"type": "trusted_contact", "t": time.Now().Unix()}, Content: token,
			}},
		})
	})
}

// wrote records that an account wrote to another, which then knows it. The caller holds
// s.mu.
func (s *Server) wrote(from, to *account) {
	if from == to || to.profile.Heard[from.pn.User] {
		return
	}
	if to.profile.Heard == nil {
		to.profile.Heard = map[string]bool{}
	}
	to.profile.Heard[from.pn.User] = true
	s.persist.account(to)
}

// lockedOut returns errTimelocked for a message of a locked account to a stranger. The
// caller holds s.mu.
func lockedOut(a, to *account, n *waBinary.Node) error {
	if a == to || !time.Now().Before(a.profile.LockedUntil) || wire.Attr(n, "category") == "peer" || a.profile.Heard[to.pn.User] {
		return nil
	}
	given, _ := n.GetChildByTag("tctoken").Content.([]byte)
	token, known := a.profile.Tokens[to.pn.User]
	if known && subtle.ConstantTimeCompare(given, token) == 1 {
		return nil
	}
	return errTimelocked
}

// tokenBytes is the length of a token.
const tokenBytes = 16

// giveTokens sends each contact that a client trusts its token, which the contact's devices add
// to their messages to the client's account. Messages without one are accepted all the same.
func giveTokens(s *Server, _ *conn, d *device, n *waBinary.Node) (waBinary.Node, error) {
	given := wire.FirstChild(n)
	s.mu.Lock()
	defer s.mu.Unlock()
	from := d.account
	for _, token := range given.GetChildrenByTag("token") {
		to := s.accountOf(wire.JID(&token, "jid").ToNonAD())
		if to == nil || to == from {
			continue
		}
		sum := sha256.Sum256([]byte("sandbox token " + from.lid.User + " " + to.lid.User + " " + wire.Attr(&token, "t")))
		s.notify(to, "privacy_token", from.pn, waBinary.Attrs{"sender_lid": from.lid}, waBinary.Node{Tag: "tokens", Content: []waBinary.Node{{
			Tag: "token", Content: sum[:tokenBytes],
			Attrs: waBinary.Attrs{"jid": to.pn, "t": token.Attrs["t"], "type": token.Attrs["type"]},
		}}})
	}
	return waBinary.Node{}, nil
}
