package device

import "go.mau.fi/whatsmeow/types"

// Twin returns the other address of a person, the LID of a phone's JID or the phone's
// of a LID, and "" if it is unknown or jid is not a person's.
func (c *Container) Twin(jid string) string {
	parsed, err := types.ParseJID(jid)
	if err != nil {
		return ""
	}
	if forms := c.lids.forms(parsed.ToNonAD()); len(forms) > 1 {
		return forms[1].String()
	}
	return ""
}
