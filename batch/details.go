package batch

import (
	"encoding/binary"
	"errors"
	"fmt"
	"postern/store"

	"github.com/google/uuid"
)

// details are what one recipient has besides its number. They never change.
type details struct {
	ExternalID string
	Values     []detailValue // by name
}

// detailValue is the value of a variable, which is named by its index among the names of the batch.
type detailValue struct {
	name  int
	value string
}

const detailsVersion = 1

// encode appends the record: its version, the external id, and index and value of each variable.
// Numbers are unsigned varints, and texts have their length in bytes in front.
func (d details) encode(raw []byte) []byte {
	raw = appendText(append(raw, detailsVersion), d.ExternalID)
	for _, v := range d.Values {
		raw = appendText(binary.AppendUvarint(raw, uint64(v.name)), v.value)
	}
	return raw
}

func decodeDetails(raw []byte) (details, error) {
	var r details
	d := decoder{rest: raw}
	d.version(detailsVersion)
	r.ExternalID = d.text()
	for len(d.rest) > 0 && !d.bad {
		v := detailValue{name: int(d.natural())} //nolint:gosec // an index, which is checked where it is used
		v.value = d.text()
		r.Values = append(r.Values, v)
	}
	return r, d.end("details of a recipient")
}

// value returns the value of the variable with that index among the names of the batch.
func (d details) value(name int) (value string, present bool) {
	for _, v := range d.Values {
		if v.name == name {
			return v.value, true
		}
	}
	return "", false
}

var errNoDetails = errors.New("the record of the recipient's variables is damaged; nothing was sent")

// loadDetails reads what a recipient has besides its number.
func loadDetails(tx *store.Tx, id uuid.UUID, position int, r *itemRecord) (details, error) {
	if !r.Detailed {
		return details{}, nil
	}
	key := itemKey(id, position)
	raw, err := tx.Get(bucketDetails, key)
	if err != nil {
		return details{}, err
	}
	if raw == nil {
		return details{}, fmt.Errorf("batch %s: item %d: %w: %w", id, position, store.ErrDamaged, errNoDetails)
	}
	d, err := decodeDetails(raw)
	if err != nil {
		err = tx.Unreadable(bucketDetails, key, err)
	}
	return d, err
}
