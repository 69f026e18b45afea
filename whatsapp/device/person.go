package device

import (
	"strings"
	"time"

	"go.mau.fi/whatsmeow/types"
)

// Person returns one canonical name of the person at a JID, which may be either of
// their addresses or a number whose kept answer they are, and all known names. For other JIDs
// there are none.
func (c *Container) Person(jid string) (name string, all []string) {
	j, err := types.ParseJID(c.account(jid))
	if err != nil || j.Server != types.DefaultUserServer && j.Server != types.HiddenUserServer {
		return "", nil
	}
	for _, form := range c.lids.forms(j.ToNonAD()) {
		all = append(all, form.String())
		if form.Server == types.HiddenUserServer || name == "" {
			name = form.String()
		}
	}
	return name, all
}

// account returns the JID that the kept answer to a phone's JID names, or jid if none is kept.
func (c *Container) account(jid string) string {
	if number, plain := strings.CutSuffix(jid, "@"+types.DefaultUserServer); plain {
		if a, kept := c.AnswerTo(number); kept {
			return a.JID()
		}
	}
	return jid
}

// PersonName returns the name that Person returns. For a plain phone number, which
// limits look up with every message, it costs one look-up.
func (c *Container) PersonName(jid string) string {
	number, plain := strings.CutSuffix(jid, "@"+types.DefaultUserServer)
	_, answered := c.AnswerTo(number)
	if !plain || number == "" || answered || strings.Trim(number, "0123456789") != "" {
		name, _ := c.Person(jid)
		return name
	}
	if lid := c.lids.lidOf(number); lid != "" {
		return lid + "@" + types.HiddenUserServer
	}
	return jid
}

// TrustedBy is Trusted for the person at a JID.
func (c *Container) TrustedBy(instance int64, jid string, now time.Time) (bool, error) {
	j, err := types.ParseJID(jid)
	if err != nil {
		return false, err
	}
	return c.trusts(instance, j.ToNonAD(), now)
}
