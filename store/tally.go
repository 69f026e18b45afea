package store

import (
	"fmt"

	bolt "go.etcd.io/bbolt"

	"postern/store/schema"
	"postern/store/survey"
)

// replaced notes that the record old becomes the record sealed; nil stands for no record.
func (tx *Tx) replaced(b *opened, key, old, sealed []byte) {
	b.changed = true
	if old != nil {
		b.change.Rows--
		b.change.Sum -= survey.Digest(old)
		if _, ok := schema.Verify(key, old); !ok {
			b.change.Vague = true
			tx.healed = append(tx.healed, schema.RecordName(b.declared.Name, key))
		}
	}
	if sealed != nil {
		b.change.Add(sealed)
	}
}

// writeTallies puts the tallies of the buckets that btx changed into its commit and
// returns them.
func writeTallies(btx *bolt.Tx, o *openings, t survey.Tallies) (survey.Tallies, error) {
	changed := make(survey.Tallies, len(o.all))
	meta := btx.Bucket([]byte(schema.Meta.Name))
	for _, b := range o.all {
		if !b.changed {
			continue
		}
		bucket := b.declared.Name
		next := t[bucket]
		next.Rows += b.change.Rows
		next.Sum += b.change.Sum
		next.Vague = next.Vague || b.change.Vague
		next.Sequence = b.Sequence()
		key := survey.TallyKey(bucket)
		sealed := o.seal(key, next.Encode())
		o.rows.note(schema.Meta.Name, key, sealed)
		if err := meta.Put(key, sealed); err != nil {
			return nil, fmt.Errorf("store: tally of %s: %w", bucket, err)
		}
		changed[bucket] = next
	}
	return changed, nil
}
