package appstate

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	wa "go.mau.fi/whatsmeow/appstate"
	wastore "go.mau.fi/whatsmeow/store"

	"postern/store"
)

// Bucket is the bucket of the records. The package of the server owns, reads and writes
// it.
const Bucket = "sandbox_appstate"

var errSaved = errors.New("damaged record")

// Kinds of records in Bucket. A key is the number, a zero byte, the kind and the rest.
const (
	kindKey        = 'k' // the key, JSON
	kindShare      = 's' // device byte: what a device received, JSON
	kindCollection = 'c' // name: version and hash, JSON
	kindPatch      = 'p' // name, zero byte, uint64 version: SyncdPatch
	kindRecord     = 'r' // name, zero byte, index MAC: SyncdRecord
)

// savedKey is a stored key.
type savedKey struct {
	ID   []byte                  `json:"id"`
	Data wastore.AppStateSyncKey `json:"key"`
	// Former are the earlier keys, oldest first.
	Former []savedKey `json:"former,omitempty"`
}

// savedCollection is a stored collection state.
type savedCollection struct {
	Version uint64 `json:"version"`
	Hash    []byte `json:"hash"`
}

func (a *State) recordKey(kind byte, rest ...any) []byte {
	return store.Key(append([]any{a.number, byte(0), kind}, rest...)...)
}

func (a *State) saveKey() {
	if a.keep != nil {
		a.putJSON(a.recordKey(kindKey), savedKey{a.keyID, a.key, a.former})
	}
}

func (a *State) saveShare(device uint16) {
	if a.keep == nil {
		return
	}
	key := a.recordKey(kindShare, byte(device))
	if given, ok := a.shares[device]; ok {
		a.putJSON(key, given)
	} else {
		a.keep(map[string][]byte{string(key): nil})
	}
}

// putJSON stores a value that can always be encoded.
func (a *State) putJSON(key []byte, v any) {
	if raw, err := json.Marshal(v); err == nil {
		a.keep(map[string][]byte{string(key): raw})
	}
}

// records collects the changes of one patch: half of them on disk would be a hash that
// no client can follow.
type records struct {
	state   *State
	name    string
	changes map[string][]byte
}

func (a *State) newRecords(name wa.WAPatchName) *records {
	return &records{state: a, name: string(name), changes: map[string][]byte{}}
}

func (r *records) put(value []byte, kind byte, rest ...any) {
	r.changes[string(r.state.recordKey(kind, rest...))] = value
}

func (r *records) patch(version uint64, raw []byte) {
	r.put(raw, kindPatch, r.name, byte(0), version)
}

func (r *records) record(index string, raw []byte) {
	r.put(raw, kindRecord, r.name, byte(0), []byte(index))
}

func (r *records) collection(c *collection) {
	if raw, err := json.Marshal(savedCollection{c.version, c.hash[:]}); err == nil { // always
		r.put(raw, kindCollection, r.name)
	}
}

// removeRecords deletes the stored state. The caller holds mu.
func (a *State) removeRecords() {
	if a.keep == nil || a.keyID == nil {
		return
	}
	changes := map[string][]byte{string(a.recordKey(kindKey)): nil}
	for device := range a.shares {
		changes[string(a.recordKey(kindShare, byte(device)))] = nil
	}
	for name, c := range a.collections {
		r := records{state: a, name: string(name), changes: changes}
		r.put(nil, kindCollection, r.name)
		for index := range c.records {
			r.record(index, nil)
		}
		for i := range c.patches {
			r.patch(c.first()+uint64(i), nil)
		}
	}
	a.keep(changes)
}

// commit passes everything to the keeper at once.
func (r *records) commit() {
	if r.state.keep != nil {
		r.state.keep(r.changes)
	}
}

// Load loads one record of Bucket, in key order. An error means that it is damaged.
func (a *States) Load(k, v []byte) error {
	number, rest, ok := bytes.Cut(k, []byte{0})
	if !ok || len(rest) == 0 {
		return fmt.Errorf("app state key: %w", errSaved)
	}
	return a.Of(string(number)).load(rest[0], rest[1:], v)
}

func (a *State) load(kind byte, rest, v []byte) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch kind {
	case kindKey:
		var saved savedKey
		if err := json.Unmarshal(v, &saved); err != nil {
			return fmt.Errorf("app state key: %w", err)
		}
		a.keyID, a.key, a.former = saved.ID, saved.Data, saved.Former
	case kindShare:
		var given share
		if err := json.Unmarshal(v, &given); err != nil || len(rest) != 1 {
			return fmt.Errorf("app state share: %w", errSaved)
		}
		a.shares[uint16(rest[0])] = &given
	default:
		return a.loadCollection(kind, rest, v)
	}
	return nil
}

func (a *State) loadCollection(kind byte, rest, v []byte) error {
	name, id, _ := bytes.Cut(rest, []byte{0})
	c, ok := a.collections[wa.WAPatchName(name)]
	if !ok {
		return fmt.Errorf("collection %q: %w", name, errSaved)
	}
	switch kind {
	case kindCollection:
		var saved savedCollection
		if err := json.Unmarshal(v, &saved); err != nil || len(saved.Hash) != len(c.hash) {
			return fmt.Errorf("collection %q: %w", name, errSaved)
		}
		c.version, c.hash = saved.Version, [128]byte(saved.Hash)
	case kindPatch:
		if len(id) != 8 {
			return fmt.Errorf("patch of %q: %w", name, errSaved)
		}
		c.patches = append(c.patches, slices.Clone(v)) // keys are in the order of versions
	case kindRecord:
		c.records[string(id)] = slices.Clone(v)
	default:
		return fmt.Errorf("app state kind %q: %w", kind, errSaved)
	}
	return nil
}
