package record

import (
	"encoding/binary"
	"errors"
	"fmt"

	"postern/store"

	"github.com/google/uuid"
)

// Details are what one recipient has besides its number. They never change.
type Details struct {
	ExternalID string
	Values     []DetailValue // by name
}

// DetailValue is the value of a variable, which is named by its index among the names of the batch.
type DetailValue struct {
	Name  int
	Value string
}

const detailsVersion = 1

// Encode appends the record: its version, the external id, and index and value of each variable.
// Numbers are unsigned varints, and texts have their length in bytes in front.
func (d Details) Encode(raw []byte) []byte {
	raw = appendText(append(raw, detailsVersion), d.ExternalID)
	for _, v := range d.Values {
		raw = appendText(binary.AppendUvarint(raw, uint64(v.Name)), v.Value)
	}
	return raw
}

// DecodeDetails reads what Encode wrote. Its error wraps [store.ErrDamaged].
func DecodeDetails(raw []byte) (Details, error) {
	var r Details
	d := decoder{rest: raw}
	d.version(detailsVersion)
	r.ExternalID = d.text()
	for len(d.rest) > 0 && !d.bad {
		v := DetailValue{Name: int(d.natural())} //nolint:gosec // an index, which is checked where it is used
		v.Value = d.text()
		r.Values = append(r.Values, v)
	}
	return r, d.end("details of a recipient")
}

// Value returns the value of the variable with that index among the names of the batch.
func (d Details) Value(name int) (value string, present bool) {
	for _, v := range d.Values {
		if v.Name == name {
			return v.Value, true
		}
	}
	return "", false
}

var errNoDetails = errors.New("the record of the recipient's variables is damaged; nothing was sent")

// LoadDetails reads what a recipient has besides its number.
func LoadDetails(tx *store.Tx, id uuid.UUID, position int, r *Item) (Details, error) {
	if !r.Detailed {
		return Details{}, nil
	}
	key := ItemKey(id, position)
	raw, err := tx.Get(BucketDetails, key)
	if err != nil {
		return Details{}, err
	}
	if raw == nil {
		return Details{}, fmt.Errorf("batch %s: item %d: %w: %w", id, position, store.ErrDamaged, errNoDetails)
	}
	d, err := DecodeDetails(raw)
	if err != nil {
		err = tx.Unreadable(BucketDetails, key, err)
	}
	return d, err
}
