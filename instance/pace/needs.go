package pace

import (
	"encoding/json"

	"postern/store"
)

// recordNeeds: what is noted of an instance can be read.
func recordNeeds(*store.Lookup) store.Needs {
	return func(key, value []byte) []store.Need {
		var err error
		why := "what an instance sent counts as sent at the start"
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
			why = "the limits of an instance do not count: set them again"
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

// headNeeds: how much left can be read, and what left last.
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
			return []store.Need{{Why: "what an instance sent counts as sent at the start"}}
		}
		return nil
	}
}
