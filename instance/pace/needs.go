package pace

import (
	"encoding/json"

	"postern/store/schema"
)

const countedAsSent = "the messages that an instance sent count as sent at the start"

// readable is an unmet need of a record of an instance that cannot be read.
func readable(_ *schema.Lookup, key, value []byte) (n schema.Need) {
	var err error
	why := countedAsSent
	switch {
	case len(key) < 9:
		err = errMalformed
	case key[8] == 'L':
		var l Limits
		if err = json.Unmarshal(value, &l); err == nil {
			err = l.Check()
		}
		why = "the limits of an instance are not enforced: set them again"
	case key[8] == 'H':
		_, _, err = decodeHead(value)
	case key[8] == 'D':
		_, _, err = decodeChunk(value)
	}
	if err != nil {
		n.Why = why
	}
	return n
}

// decodeHeads decodes the number of departures and the last ones.
func decodeHeads(key, value []byte) (newest []byte, err error) {
	_, newest, err = decodeHead(value)
	if err == nil {
		_, _, err = decodeChunk(newest)
	}
	if err == nil && len(key) != 8 {
		err = errMalformed
	}
	return newest, err
}
