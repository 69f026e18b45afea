package device

import (
	"testing"

	"go.mau.fi/whatsmeow/types"
)

// TestTheNameOfAPersonIsOne: for either JID, and for each look-up.
func TestTheNameOfAPersonIsOne(t *testing.T) {
	f := newFile(t)
	s := f.stores(t, 1).(both)
	asked := map[string]string{
		phone.String(): "", lid.String(): lid.String(),
		types.JID{User: phone.User, Server: phone.Server, Device: 7}.String(): "",
		"4917699999999@s.whatsapp.net":                                        "4917699999999@s.whatsapp.net",
		"1@g.us":                                                              "", "status@broadcast": "", "": "", "@s.whatsapp.net": "@s.whatsapp.net",
	}
	for round, of := range []string{phone.String(), lid.String()} {
		for jid, want := range asked {
			if j, _ := types.ParseJID(jid); j.User == phone.User {
				want = of
			}
			name, _ := f.container.Person(jid)
			if quick := f.container.PersonName(jid); quick != name || jid != "@s.whatsapp.net" && name != want {
				t.Errorf("round %d: %q is %q and %q, not %q", round, jid, quick, name, want)
			}
		}
		check(t, s.PutLIDMapping(t.Context(), lid, phone))
	}
}
