package rest

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"postern/access"
	"postern/event"
)

// Right is what a scoped key needs for a route: one of the scopes in it.
type Right uint16

// The rights of the route table.
const (
	Never     Right = 0 // no scoped key opens it
	ScopeRead Right = 1 << iota
	ScopeSend
	ScopeManage
	ScopePair
	ScopeWebhook
	ScopeBatch
	ScopeMetrics
	ScopeMedia
	ScopeDeliveries
	AnyScope // every key opens it

	Everywhere // and the key is for all instances
	toNamed    // the handler checks the recipient against the key's recipients

	// ScopeSendTo writes to a recipient named by the request.
	ScopeSendTo = ScopeSend | toNamed
)

// Needs returns the scopes of which a key needs one.
func (r Right) Needs() (all []access.Scope) {
	for i, s := range access.Scopes() { // in the order of the rights
		if r&(ScopeRead<<i) != 0 {
			all = append(all, s)
		}
	}
	return all
}

// MissingScope returns the refusal of a valid key without the needed scope.
func MissingScope(text string) error { return Refuse(http.StatusForbidden, CodeScope, text) }

// MayOpen returns why a key does not open a route, for any instance.
func (r Right) MayOpen(k *access.Key) error {
	if r == Never {
		return MissingScope("this route accepts no scoped key: use the GlobalApiKey, or the token of the route")
	}
	if need := r.Needs(); r&AnyScope == 0 && !k.Has(need...) {
		return MissingScope("the key needs the scope " + listed(need))
	}
	if r&Everywhere != 0 && !k.Everywhere() {
		return MissingScope(fmt.Sprintf("the key needs the scope %s for all instances: [\"*\"]", listed(r.Needs())))
	}
	if r&ScopeSend != 0 && r&toNamed == 0 && k.Recipients != nil {
		return RecipientNotAllowed("a key with recipients can do nothing here but write to them")
	}
	return nil
}

func listed(scopes []access.Scope) string {
	words := make([]string, len(scopes))
	for i, s := range scopes {
		words[i] = string(s)
	}
	return strings.Join(words, " or ")
}

// RecipientNotAllowed is the error of a key that may not write to a recipient.
func RecipientNotAllowed(text string) error {
	return Refuse(http.StatusForbidden, CodeRecipientNotAllowed, text)
}

// MayWriteTo refuses an address that is not one of the key's recipients, and whose known account is none.
func (c *Call) MayWriteTo(jid string) error {
	if c.Key == nil || c.Key.MayWriteTo(jid) {
		return nil
	}
	if c.Server.Answered != nil && slices.ContainsFunc(c.Server.Answered(jid), c.Key.MayWriteTo) {
		return nil
	}
	return RecipientNotAllowed(jid + " is none of the key's recipients")
}

// MayShow refuses to forward or quote a stored message for a key that may not read it:
// the answer and the recipient would show it. field is the field that requested it.
func (c *Call) MayShow(field string) error {
	if c.Key == nil || c.Key.Has(access.Read) {
		return nil
	}
	return MissingScope("the key needs the scope read for " + field + ", which forwards or quotes a stored message")
}

// MayPair reports whether the caller may link accounts, and therefore see the codes in the data of
// qrcode.updated.
func (c *Call) MayPair() bool { return c.Key == nil || c.Key.Has(access.Pair) }

// MayHear returns those of the requested kinds of events, nil for all, that a subscription may get.
func (c *Call) MayHear(kinds []event.Kind) ([]event.Kind, error) {
	switch {
	case c.MayPair():
		return kinds, nil
	case slices.Contains(kinds, event.QRCodeUpdated):
		return nil, MissingScope("the key needs the scope pair for the event qrcode.updated")
	case kinds != nil:
		return kinds, nil
	}
	for _, d := range event.Catalogue() {
		if d.Family == event.Instance && d.Kind != event.QRCodeUpdated {
			kinds = append(kinds, d.Kind)
		}
	}
	return kinds, nil
}

// Opens returns a function that reports whether the key of c is for an instance, nil if it is for
// all.
func (c *Call) Opens() func(instance int64) bool {
	if c.Key == nil || c.Key.Everywhere() {
		return nil
	}
	return c.Key.Opens
}

// MayHaveTokens reports whether the answer may contain tokens of instances: not for a scoped key, nor
// for a session, which needs none.
func (c *Call) MayHaveTokens() bool { return c.Key == nil && c.Session == nil }

// Scoped reports whether c came with a scoped key or a session.
func (c *Call) Scoped() bool { return c.Key != nil || c.Session != nil }

// MayUseUploads refuses a key that may not use earlier uploads and files of stored messages, whether or not what m
// names exists.
func (c *Call) MayUseUploads(m *event.Media) error {
	if c.Key == nil || m == nil || m.UploadID == "" && m.Message == "" || c.Key.Has(access.Media) {
		return nil
	}
	return MissingScope("the key needs the scope media for mediaUploadId and messageId")
}
