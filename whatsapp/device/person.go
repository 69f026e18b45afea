package device

import (
	"strings"
	"time"

	"go.mau.fi/whatsmeow/types"
)

// Person returns the one name of the person at a JID, whichever of their two
// that is, and all that are known. Of what is no person's there are none.
func (c *Container) Person(jid string) (name string, all []string) {
	j, err := types.ParseJID(jid)
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

// PersonName is the name that Person returns. A plain phone number, which is what
// limits ask for with every message, costs one look.
func (c *Container) PersonName(jid string) string {
	number, plain := strings.CutSuffix(jid, "@"+types.DefaultUserServer)
	if !plain || number == "" || strings.Trim(number, "0123456789") != "" {
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
