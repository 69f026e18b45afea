package sandbox

import (
	"context"
	"slices"
	"strings"
	"time"

	"postern/sandbox/network"
	"postern/sandbox/phone"
)

// connectionActs disturb the connections of the phone's linked devices.
func connectionActs() []act {
	return []act{
		row("drop", "the network cuts the connections of the phone's linked devices", actDrop),
		row("logout", "the phone removes its linked devices", actLogout),
		row("stream-replaced", "the linked devices are notified that another client replaced them", actStreamReplaced),
		row("stream-error", "the streams of the linked devices end with an error", actStreamError),
		row("manual-reconnect", "the linked devices are asked to log in again, as after a pairing", actReconnect),
		row("connect-failure", "the linked devices are disconnected, and their next login is refused", actConnectFailure),
		row("temp-ban", "the linked devices are disconnected, and their next login is refused because of a ban", actTempBan),
		row("client-outdated", "clients are rejected as outdated: the linked devices are disconnected and their next login is refused, or with until all clients of the network", actOutdated),
		row("cat-refresh-error", "the linked devices are disconnected, and their next login requires a token that they cannot get", actCATRefresh),
		row("quiet", "the network delivers nothing to the linked devices until they log in again, but answers their pings", actQuiet),
		row("keepalive-timeout", "the network ignores the pings of the linked devices for a time", actKeepAlive),
		row("offline", "the phone is switched off for a time: what reaches it waits, and gets no receipt", actOffline),
		row("offline-preview", "the linked devices are disconnected while notifications arrive, and receive them after the next login", actOfflinePreview),
		row("pair-error", "the phone's next link has a wrong signature, so that the client rejects it", actPairError),
		row("passkey", "the phone's account is protected by a passkey: linking a device needs its signature", actPasskey),
		row("passkey-assert", "the phone's authenticator signs a challenge; the answer is what the assertion route takes", actPasskeyAssert),
		row("passkey-credential", "the phone's passkey, for the virtual authenticator of a browser; the answer has credentialId, rpId and privateKey", actPasskeyCredential),
		row("passkey-code", "the code that the phone shows during a link by passkey; the answer has it as code", actPasskeyCode),
		row("downgrade", "clients that wait for a link are notified that a phone without multi-device support scanned their code", actDowngrade),
	}
}

func actDrop(_ context.Context, s *network.Server, p *phone.Phone, _ struct{}) (any, error) {
	s.Drop(p.Number())
	return nil, nil
}

type logoutFields struct {
	Reason int `json:"reason" help:"missing: removed on the phone; 401, 403 or 406: the next login is refused with it"`
}

func actLogout(_ context.Context, s *network.Server, p *phone.Phone, f logoutFields) (any, error) {
	switch f.Reason {
	case 0:
		s.Unlink(p.Number())
		return nil, nil
	case 401, 403, 406:
		return nil, s.RefuseNext(p.JID(), network.Refusal{Reason: f.Reason})
	default:
		return nil, invalidField("reason", "is not one of 401, 403, 406")
	}
}

func actStreamReplaced(_ context.Context, s *network.Server, p *phone.Phone, _ struct{}) (any, error) {
	return nil, s.EndSessions(p.JID(), network.Conflict("replaced"))
}

type codeFields struct {
	Code int `json:"code" help:"from 1 to 999: 515 requests a login, 503 is a restart, 413 and 414 require a token, others are unknown to clients"`
}

func actStreamError(_ context.Context, s *network.Server, p *phone.Phone, f codeFields) (any, error) {
	if f.Code < 1 || f.Code > 999 {
		return nil, invalidField("code", "is not from 1 to 999")
	}
	return nil, s.EndSessions(p.JID(), network.StreamError(f.Code))
}

func actReconnect(_ context.Context, s *network.Server, p *phone.Phone, _ struct{}) (any, error) {
	return nil, s.EndSessions(p.JID(), network.StreamError(515))
}

type outdatedFields struct {
	Until string `json:"until" help:"2.3000.N: every older client of the network is disconnected and rejected, also when linking, until the faults are healed; missing: the phone's own, once"`
	Site  string `json:"site" help:"the answer of the network's site to a request for the current version: current (default, the value of until), late (after three seconds), or none, lower, major, endless, slow, loop, elsewhere, unavailable"`
}

func actOutdated(_ context.Context, s *network.Server, p *phone.Phone, f outdatedFields) (any, error) {
	site := network.Site(f.Site)
	if f.Site == "" {
		site = network.SiteCurrent
	}
	if !slices.Contains(network.Sites(), site) {
		return nil, invalidField("site", "is not one of those that the help names")
	}
	if f.Until == "" {
		s.SetSite(site)
		return nil, s.RefuseNext(p.JID(), network.Refusal{Reason: network.ReasonOutdated})
	}
	least, ok := network.ParseVersion(f.Until)
	if !ok || !strings.HasPrefix(f.Until, "2.3000.") {
		return nil, invalidField("until", "is not 2.3000.N")
	}
	s.SetSite(site)
	s.RequireVersion(least)
	return nil, nil
}

type catFields struct {
	Reason int `json:"reason" help:"413: the token is invalid (default), 414: it has expired"`
}

func actCATRefresh(_ context.Context, s *network.Server, p *phone.Phone, f catFields) (any, error) {
	switch f.Reason {
	case 0:
		f.Reason = 413
	case 413, 414:
	default:
		return nil, invalidField("reason", "is not 413 or 414")
	}
	return nil, s.RefuseNext(p.JID(), network.Refusal{Reason: f.Reason})
}

type failureFields struct {
	Reason  int    `json:"reason" help:"from 400 to 599: 400, 409, 418 and 501 are failures, 500 and 503 make clients retry, 401, 402, 403, 405, 406, 413 and 414 are those of other acts"`
	Message string `json:"message" help:"the text of the refusal"`
}

func actConnectFailure(_ context.Context, s *network.Server, p *phone.Phone, f failureFields) (any, error) {
	if f.Reason < 400 || f.Reason > 599 {
		return nil, invalidField("reason", "is not from 400 to 599")
	}
	return nil, s.RefuseNext(p.JID(), network.Refusal{Reason: f.Reason, Message: f.Message})
}

// maxBan is a year in seconds.
const maxBan = 365 * 24 * 3600

type banFields struct {
	Code   int `json:"code" help:"the reason: 101 too many strangers, 102 blocked by many, 103 too many groups, 104 the same message too often, 106 broadcasts; default 101"`
	Expire int `json:"expire" help:"the duration in seconds; default 3600"`
}

func actTempBan(_ context.Context, s *network.Server, p *phone.Phone, f banFields) (any, error) {
	if f.Code == 0 {
		f.Code = network.BanSentTooMany
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
	return nil, s.RefuseNext(p.JID(), network.Refusal{Reason: network.ReasonTemporaryBan, Code: f.Code, Expire: time.Duration(f.Expire) * time.Second})
}

func actQuiet(_ context.Context, s *network.Server, p *phone.Phone, _ struct{}) (any, error) {
	return nil, s.Quieten(p.JID())
}

type keepAliveFields struct {
	Seconds int `json:"seconds" help:"the duration; 0 heals at once"`
}

func actKeepAlive(_ context.Context, s *network.Server, p *phone.Phone, f keepAliveFields) (any, error) {
	if f.Seconds < 0 || f.Seconds > 3600 {
		return nil, invalidField("seconds", "is not from 0 to 3600")
	}
	return nil, s.Deafen(p.JID(), time.Duration(f.Seconds)*time.Second)
}

type offlineFields struct {
	Seconds int `json:"seconds" help:"the duration; 0 switches it on"`
}

func actOffline(_ context.Context, _ *network.Server, p *phone.Phone, f offlineFields) (any, error) {
	if f.Seconds < 0 || f.Seconds > 86_400 {
		return nil, invalidField("seconds", "is not from 0 to 86400")
	}
	p.SwitchOff(time.Duration(f.Seconds) * time.Second)
	return nil, nil
}

type previewFields struct {
	Count int `json:"count" help:"how many notifications arrive in the meantime; default 3"`
}

func actOfflinePreview(_ context.Context, s *network.Server, p *phone.Phone, f previewFields) (any, error) {
	if f.Count == 0 {
		f.Count = 3
	}
	if f.Count < 0 || f.Count > 1000 {
		return nil, invalidField("count", "is not from 1 to 1000")
	}
	return nil, s.NotifyOffline(p.JID(), f.Count)
}

type pairErrorFields struct {
	Kind string `json:"kind" help:"the wrong part: hmac (default) or signature"`
}

func actPairError(_ context.Context, s *network.Server, p *phone.Phone, f pairErrorFields) (any, error) {
	switch f.Kind {
	case "":
		f.Kind = network.BrokenHMAC
	case network.BrokenHMAC, network.BrokenSignature:
	default:
		return nil, invalidField("kind", "is not hmac or signature")
	}
	return nil, s.BreakPairing(p.JID(), f.Kind)
}

func actDowngrade(_ context.Context, s *network.Server, _ *phone.Phone, _ struct{}) (any, error) {
	return map[string]int{"told": s.Downgrade()}, nil
}
