package access

import (
	"crypto/sha256"
	"encoding/json"
	"time"

	"postern/store"
)

// passNeeds: a session or a link, and what is beside it, can be read. One that cannot is
// swept like what is over.
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

// auditNeeds: a record of the log can be read.
func auditNeeds(*store.Lookup) store.Needs {
	return func(key, value []byte) []store.Need {
		if key == nil {
			return nil
		}
		if _, err := decode(key, value); err != nil {
			return []store.Need{{Why: "the audit log is short of a change"}}
		}
		return nil
	}
}
