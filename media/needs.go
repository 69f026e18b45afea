package media

import (
	"encoding/json"
	"slices"

	"postern/store"
	"postern/store/schema"
)

// toUUID and toNumber are the references of an upload to its entries in the index. An upload
// of an older release gets its number at the start.
func toUUID(_ *schema.Lookup, key []byte, u Upload) schema.Need {
	value := key[:8]
	if u.Number != 0 {
		value = slices.Concat(key[:8], store.Key(u.Number))
	}
	return schema.Need{Bucket: uploadIDs, Key: key[8:], Value: value, Why: notIndexed}
}

func toNumber(_ *schema.Lookup, key []byte, u Upload) schema.Need {
	if u.Number == 0 {
		return schema.Need{}
	}
	return schema.Need{Bucket: uploadIDs, Key: store.Key(u.Number), Value: key, Why: notIndexed}
}

const notIndexed = "messages cannot use an upload, and it is never removed"

// toUpload is the reference of an id, by UUID or number, to its upload.
func toUpload(_ *schema.Lookup, key, value []byte) schema.Need {
	need := schema.Need{Bucket: uploads, Why: "an id has no upload"}
	switch {
	case len(key) == 8 && len(value) == 24:
		need.Key = value
		need.Is = func(raw []byte) bool {
			var u Upload
			return json.Unmarshal(raw, &u) != nil || u.Number == store.Number(key)
		}
	case len(key) == 16 && len(value) >= 8:
		need.Key = slices.Concat(value[:8], key)
	}
	return need
}
