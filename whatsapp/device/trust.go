package device

import (
	"time"

	"go.mau.fi/whatsmeow/types"

	"postern/store"
)

// A privacy token is valid for the week that it is from and the three after it: the
// library sends no older one, and removes it at some time. The numbers are those of
// tctoken.go in the library.
const (
	tokenWeek  = 7 * 24 * time.Hour
	tokenWeeks = 4
)

// Trusted reports whether the instance's account has a valid privacy token of a phone
// number's owner: they allowed it to write to them.
func (c *Container) Trusted(instance int64, number string, now time.Time) (good bool, err error) {
	return c.trusts(instance, types.NewJID(number, types.DefaultUserServer), now)
}

func (c *Container) trusts(instance int64, jid types.JID, now time.Time) (good bool, err error) {
	week := int64(tokenWeek / time.Second)
	oldest := (now.Unix()/week - (tokenWeeks - 1)) * week
	err = c.store.View(func(tx *store.Tx) error {
		for _, form := range c.lids.forms(jid) {
			t, found, err := storedToken(direct{tx, instance}, form)
			if err != nil {
				return err
			}
			good = good || found && len(t.Token) > 0 && t.At >= oldest
		}
		return nil
	})
	return good, err
}

// OnTrust sets a function that is called, on a goroutine of the library, after a new
// privacy token for an instance's account was stored. It must not block.
func (c *Container) OnTrust(fn func(instance int64)) { c.trusting.Store(&fn) }

// OnPairs sets a function that is called after a new pair of phone number and LID was
// stored. It must not block.
func (c *Container) OnPairs(fn func()) { c.lids.paired.Store(&fn) }

func (c *Container) trusted(instance int64) {
	if fn := c.trusting.Load(); fn != nil {
		(*fn)(instance)
	}
}
