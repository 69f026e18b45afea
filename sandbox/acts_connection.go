package sandbox

import (
	"context"
	"slices"
	"strconv"
	"time"

	waBinary "go.mau.fi/whatsmeow/binary"
	"go.mau.fi/whatsmeow/types"
)

// connectionActs disturb the connections of the phone's linked devices.
func connectionActs() []act {
	return []act{
		row("drop", "the network cuts the connections of the phone's linked devices", actDrop),
		row("logout", "the phone removes its linked devices", actLogout),
		row("stream-replaced", "the linked devices are told that another client took their place", actStreamReplaced),
		row("stream-error", "the streams of the linked devices end with an error", actStreamError),
		row("manual-reconnect", "the linked devices are asked to log in anew, as after a pairing", actReconnect),
		row("connect-failure", "the linked devices are cut off, and their next login is refused", actConnectFailure),
		row("temp-ban", "the linked devices are cut off, and their next login is refused because of a ban", actTempBan),
		row("client-outdated", "the linked devices are cut off, and their next login is refused as too old", actOutdated),
		row("cat-refresh-error", "the linked devices are cut off, and their next login asks for a token that they cannot get", actCATRefresh),
		row("keepalive-timeout", "the network swallows the pings of the linked devices for a while", actKeepAlive),
		row("offline-preview", "the linked devices are cut off while notifications come; they get them when they are back", actOfflinePreview),
		row("pair-error", "the phone's next link is signed wrongly, so that the client refuses it", actPairError),
		row("passkey", "the phone's account is protected by a passkey: linking a device needs its signature", actPasskey),
		row("passkey-assert", "the phone's authenticator signs a challenge; the answer is what the assertion route takes", actPasskeyAssert),
		row("passkey-code", "the code that the phone shows while it is linked by passkey; the answer has it as code", actPasskeyCode),
		row("downgrade", "clients that wait to be linked are told that a phone without multi-device scanned their code", actDowngrade),
	}
}

func actDrop(_ context.Context, s *Server, p *Phone, _ struct{}) (any, error) {
	s.Drop(p.Number())
	return nil, nil
}

type logoutFields struct {
	Reason int `json:"reason" help:"missing: removed on the phone, and told so; 401, 403 or 406: the next login is refused with it"`
}

func actLogout(_ context.Context, s *Server, p *Phone, f logoutFields) (any, error) {
	switch f.Reason {
	case 0:
		s.Unlink(p.Number())
		return nil, nil
	case 401, 403, 406:
		return nil, s.refuseNext(p, refusal{reason: f.Reason})
	default:
		return nil, invalidField("reason", "is not one of 401, 403, 406")
	}
}

// onSessions runs fn for the phone's account, with the mutex held.
func (s *Server) onSessions(p *Phone, fn func(a *account)) error {
	return s.between(p, "to", "", func(a, _ *account) { fn(a) })
}

func actStreamReplaced(_ context.Context, s *Server, p *Phone, _ struct{}) (any, error) {
	return nil, s.onSessions(p, func(a *account) { a.endSessions(conflict("replaced")) })
}

type codeFields struct {
	Code int `json:"code" help:"from 1 to 999: 515 asks for a login, 503 is a restart, 413 and 414 want a token, others mean nothing to clients"`
}

func actStreamError(_ context.Context, s *Server, p *Phone, f codeFields) (any, error) {
	if f.Code < 1 || f.Code > 999 {
		return nil, invalidField("code", "is not from 1 to 999")
	}
	return nil, s.onSessions(p, func(a *account) { a.endSessions(streamError(f.Code)) })
}

func actReconnect(_ context.Context, s *Server, p *Phone, _ struct{}) (any, error) {
	return nil, s.onSessions(p, func(a *account) { a.endSessions(streamError(515)) })
}

func streamError(code int) waBinary.Node {
	return waBinary.Node{Tag: "stream:error", Attrs: waBinary.Attrs{"code": strconv.Itoa(code)}}
}

// refuseNext cuts the phone's devices off and refuses the login that follows.
func (s *Server) refuseNext(p *Phone, r refusal) error {
	return s.onSessions(p, func(a *account) {
		s.refusals[a.pn.User] = r
		a.cut()
	})
}

func actOutdated(_ context.Context, s *Server, p *Phone, _ struct{}) (any, error) {
	return nil, s.refuseNext(p, refusal{reason: 405})
}

type catFields struct {
	Reason int `json:"reason" help:"413: the token is invalid (default), 414: it has expired"`
}

func actCATRefresh(_ context.Context, s *Server, p *Phone, f catFields) (any, error) {
	switch f.Reason {
	case 0:
		f.Reason = 413
	case 413, 414:
	default:
		return nil, invalidField("reason", "is not 413 or 414")
	}
	return nil, s.refuseNext(p, refusal{reason: f.Reason})
}

type failureFields struct {
	Reason  int    `json:"reason" help:"from 400 to 599: 400, 409, 418 and 501 are failures, 500 and 503 make clients try again, 401, 402, 403, 405, 406, 413 and 414 are what other acts do"`
	Message string `json:"message" help:"what the refusal says"`
}

func actConnectFailure(_ context.Context, s *Server, p *Phone, f failureFields) (any, error) {
	if f.Reason < 400 || f.Reason > 599 {
		return nil, invalidField("reason", "is not from 400 to 599")
	}
	return nil, s.refuseNext(p, refusal{reason: f.Reason, message: f.Message})
}

// maxBan is a year, in seconds.
const maxBan = 365 * 24 * 3600

type banFields struct {
	Code   int `json:"code" help:"why: 101 too many strangers, 102 blocked by many, 103 too many groups, 104 the same message too often, 106 broadcasts; default 101"`
	Expire int `json:"expire" help:"how long, in seconds; default 3600"`
}

func actTempBan(_ context.Context, s *Server, p *Phone, f banFields) (any, error) {
	if f.Code == 0 {
		f.Code = banSentTooMany
	}
	if f.Expire == 0 {
		f.Expire = 3600
	}
	if f.Code < 0 || f.Code > 999 {
		return nil, invalidField("code", "is not from 1 to 999")
	}
	if f.Expire < 0 || f.Expire > maxBan {
		return nil, invalidField("expire", "is not from 1 to 31536000")
	}
	return nil, s.refuseNext(p, refusal{reason: reasonTemporaryBan, code: f.Code, expire: time.Duration(f.Expire) * time.Second})
}

type keepAliveFields struct {
	Seconds int `json:"seconds" help:"for how long; 0 heals at once"`
}

func actKeepAlive(_ context.Context, s *Server, p *Phone, f keepAliveFields) (any, error) {
	if f.Seconds < 0 || f.Seconds > 3600 {
		return nil, invalidField("seconds", "is not from 0 to 3600")
	}
	return nil, s.onSessions(p, func(a *account) { a.deafUntil = time.Now().Add(time.Duration(f.Seconds) * time.Second) })
}

type previewFields struct {
	Count int `json:"count" help:"how many notifications come meanwhile; default 3"`
}

func actOfflinePreview(_ context.Context, s *Server, p *Phone, f previewFields) (any, error) {
	if f.Count == 0 {
		f.Count = 3
	}
	if f.Count < 0 || f.Count > 1000 {
		return nil, invalidField("count", "is not from 1 to 1000")
	}
	return nil, s.onSessions(p, func(a *account) {
		a.cut()
		for range f.Count {
			s.notify(a, "status", a.lid, nil, waBinary.Node{Tag: "set", Content: []byte(a.profile.about())})
		}
	})
}

type pairErrorFields struct {
	Kind string `json:"kind" help:"what is wrong: hmac (default) or signature"`
}

func actPairError(_ context.Context, s *Server, p *Phone, f pairErrorFields) (any, error) {
	switch f.Kind {
	case "":
		f.Kind = brokenHMAC
	case brokenHMAC, brokenSignature:
	default:
		return nil, invalidField("kind", "is not hmac or signature")
	}
	return nil, s.onSessions(p, func(a *account) { a.breakPairing = f.Kind })
}

func actDowngrade(_ context.Context, s *Server, _ *Phone, _ struct{}) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var told []*conn
	for _, c := range s.pending {
		if !slices.Contains(told, c) {
			told = append(told, c)
			c.send(waBinary.Node{Tag: "ib", Attrs: waBinary.Attrs{"from": types.ServerJID}, Content: []waBinary.Node{{Tag: "downgrade_webclient"}}})
		}
	}
	return map[string]int{"told": len(told)}, nil
}
