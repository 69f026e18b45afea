package httpapi

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"postern/access"
	"postern/event"
	"postern/instance/webhooks"
)

// right is what a scoped key needs for a route: one of the scopes that are in it.
type right uint16

// The rights of the route table.
const (
	never     right = 0 // no scoped key opens it
	scopeRead right = 1 << iota
	scopeSend
	scopeManage
	scopePair
	scopeWebhook
	scopeBatch
	scopeMetrics
	scopeMedia
	scopeDeliveries
	anyScope // every key opens it

	everywhere // and the key is for all instances
	toNamed    // the handler checks the recipient against the key's recipients

	// scopeSendTo writes to somebody whom the request names.
	scopeSendTo = scopeSend | toNamed
)

// needs are the scopes of which a key needs one.
func (r right) needs() (all []access.Scope) {
	for i, s := range access.Scopes() { // in the order of the rights
		if r&(scopeRead<<i) != 0 {
			all = append(all, s)
		}
	}
	return all
}

// errScope refuses a valid key without the needed scope.
func errScope(text string) error { return refuse(http.StatusForbidden, codeScope, text) }

// mayOpen reports why a key does not open a route, whatever instance it is asked
// about.
func (r right) mayOpen(k *access.Key) error {
	if r == never {
		return errScope("this route accepts no scoped key: use the GlobalApiKey, or the token of the route")
	}
	if need := r.needs(); r&anyScope == 0 && !k.Has(need...) {
		return errScope("the key needs the scope " + listed(need))
	}
	if r&everywhere != 0 && !k.Everywhere() {
		return errScope(fmt.Sprintf("the key needs the scope %s for all instances: [\"*\"]", listed(r.needs())))
	}
	if r&scopeSend != 0 && r&toNamed == 0 && k.Recipients != nil {
		return errRecipientNotAllowed("a key with recipients can do nothing here but write to them")
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

func errRecipientNotAllowed(text string) error {
	return refuse(http.StatusForbidden, codeRecipientNotAllowed, text)
}

// mayWriteTo refuses an address that is none of the key's recipients.
func (c *call) mayWriteTo(jid string) error {
	if c.key == nil || c.key.MayWriteTo(jid) {
		return nil
	}
	return errRecipientNotAllowed(jid + " is none of the key's recipients")
}

// mayShow refuses to forward or quote a stored message for a key that may not read it:
// the answer and the recipient would show it. field is the field that requested it.
func (c *call) mayShow(field string) error {
	if c.key == nil || c.key.Has(access.Read) {
		return nil
	}
	return errScope("the key needs the scope read for " + field + ", which forwards or quotes a stored message")
}

// mayPair reports whether the caller may link accounts, and so see the codes in the
// data of qrcode.updated, which link one.
func (c *call) mayPair() bool { return c.key == nil || c.key.Has(access.Pair) }

// mayHear is which of the kinds of events that a subscription asks for, nil for all, it
// gets.
func (c *call) mayHear(kinds []event.Kind) ([]event.Kind, error) {
	switch {
	case c.mayPair():
		return kinds, nil
	case slices.Contains(kinds, event.QRCodeUpdated):
		return nil, errScope("the key needs the scope pair for the event qrcode.updated")
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

// codesRefused maps webhooks.ErrCodes to a refusal.
func codesRefused(err error) error {
	if errors.Is(err, webhooks.ErrCodes) {
		return errScope("the key needs the scope pair for the flag qrcodeUpdated at a receiver that did not have it before: its codes link the account")
	}
	return err
}
