package store

import (
	"bytes"
	"fmt"

	"postern/store/schema"
)

// bbolt never splits a page without leaving three of its records to the right half. Where
// each commit adds one record of some hundred bytes, that leaves pages of four or five
// records half empty for good. Three keys without content, the guards, therefore stand
// behind the last record of a series. They move to the right half, and the page that is
// left behind is as full as possible. Readers never see them.
// guard puts the guards behind the series of key, unless they are there already.
func (tx *Tx) guard(b *opened, key []byte) error {
	declared := b.declared
	if b.guarded {
		return nil
	}
	b.guarded = declared.Series == 0
	last := append(bytes.Clone(key[:min(declared.Series, len(key))]), bytes.Repeat([]byte{0xFF}, schema.GuardTail)...)
	if b.Get(last) != nil {
		return nil
	}
	for n := schema.FirstGuard; n <= 0xFF; n++ {
		last[len(last)-1] = byte(n)
		sealed := tx.openings.seal(last, nil)
		tx.replaced(b, last, b.replacedBy(last), sealed)
		tx.openings.rows.note(declared.Name, last, sealed)
		if err := b.Put(last, sealed); err != nil {
			return fmt.Errorf("store: put the guards of %s key %x: %w", declared.Name, key, err)
		}
	}
	return nil
}
