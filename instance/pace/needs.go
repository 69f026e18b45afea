package pace

import (
	"encoding/json"

	"postern/store"
)

// recordNeeds checks that the records of an instance are readable.
func recordNeeds(*store.Lookup) store.Needs {
	return func(key, value []byte) []store.Need {
		var err error
		why := "the messages that an instance sent count as sent at the start"
		switch {
		case key == nil:
			return nil
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
			return []store.Need{{Why: why}}
		}
		return nil
	}
}

// headNeeds checks that the number of departures, and the last ones, are readable.
func headNeeds(*store.Lookup) store.Needs {
	return func(key, value []byte) []store.Need {
		if key == nil {
			return nil
		}
		_, newest, err := decodeHead(value)
		if err == nil {
			_, _, err = decodeChunk(newest)
		}
		if err != nil || len(key) != 8 {
			return []store.Need{{Why: "the messages that an instance sent count as sent at the start"}}
		}
		return nil
	}
}
