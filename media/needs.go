package media

import (
	"bytes"
	"encoding/json"
	"slices"

	"postern/store"
)

// uploadNeeds checks that an upload is indexed by its UUID and by its number, which older
// uploads get at the start.
func uploadNeeds(*store.Lookup) store.Needs {
	return func(key, value []byte) []store.Need {
		if key == nil {
			return nil
		}
		var u Upload
		if len(key) != 24 || json.Unmarshal(value, &u) != nil {
			return []store.Need{{Why: "an upload is lost"}}
		}
		const why = "messages cannot use an upload, and it is never removed"
		byUUID := store.Need{Bucket: uploadIDs, Key: bytes.Clone(key[8:]), Value: bytes.Clone(key[:8]), Why: why}
		if u.Number == 0 {
			return []store.Need{byUUID}
		}
		byUUID.Value = slices.Concat(key[:8], store.Key(u.Number))
		return []store.Need{byUUID, {Bucket: uploadIDs, Key: store.Key(u.Number), Value: bytes.Clone(key), Why: why}}
	}
}

// uploadIDNeeds checks that an id has an upload.
func uploadIDNeeds(*store.Lookup) store.Needs {
	return func(key, value []byte) []store.Need {
		if key == nil {
			return nil
		}
		const why = "an id has no upload"
		need := store.Need{Bucket: uploads, Why: why}
		switch {
		case len(key) == 8 && len(value) == 24:
			need.Key = bytes.Clone(value)
			need.Is = func(raw []byte) bool {
				var u Upload
				return json.Unmarshal(raw, &u) != nil || u.Number == number(key)
			}
		case len(key) == 16 && len(value) >= 8:
			need.Key = slices.Concat(value[:8], key)
		}
		return []store.Need{need}
	}
}
