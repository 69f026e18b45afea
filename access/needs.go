package access

import (
	"crypto/sha256"
	"encoding/json"
	"time"

	"postern/store"
)

// passNeeds checks that the records of a session or link are readable: its own, with its expiry,
// and those under its key.
// Unreadable ones are swept like expired ones.
func passNeeds(what string) func(*store.Lookup) store.Needs {
	return func(*store.Lookup) store.Needs {
		return func(key, value []byte) []store.Need {
			var r struct {
				ExpiresAt time.Time `json:"expiresAt"`
			}
			switch {
			case key == nil:
				return nil
			case len(key) == sha256.Size && json.Unmarshal(value, &r) == nil:
				return nil
			case len(key) > sha256.Size && len(value) == 8:
				return nil
			}
			return []store.Need{{Why: what + " ends"}}
		}
	}
}

// auditNeeds checks that an audit record is readable.
func auditNeeds(*store.Lookup) store.Needs {
	return func(key, value []byte) []store.Need {
		if key == nil {
			return nil
		}
		if _, err := decode(key, value); err != nil {
			return []store.Need{{Why: "a change is missing from the audit log"}}
		}
		return nil
	}
}
