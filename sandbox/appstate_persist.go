package sandbox

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"go.mau.fi/whatsmeow/appstate"
	wastore "go.mau.fi/whatsmeow/store"

	"postern/store"
)

const bucketAppState = "sandbox_appstate"

// Kinds of records in bucketAppState. A key is the number, a zero byte, the kind and the rest.
const (
	appStateKey        = 'k' // the key, JSON
	appStateShare      = 's' // device byte: what a device was given, JSON
	appStateCollection = 'c' // name: version and hash, JSON
	appStatePatch      = 'p' // name, zero byte, uint64 version: SyncdPatch
	appStateRecord     = 'r' // name, zero byte, index MAC: SyncdRecord
)

// savedAppStateKey is a key as it is stored.
type savedAppStateKey struct {
	ID   []byte                  `json:"id"`
	Data wastore.AppStateSyncKey `json:"key"`
}

// savedCollection is a collection's state as it is stored.
type savedCollection struct {
	Version uint64 `json:"version"`
	Hash    []byte `json:"hash"`
}

func (a *appState) recordKey(kind byte, rest ...any) []byte {
	return store.Key(append([]any{a.number, byte(0), kind}, rest...)...)
}

func (a *appState) saveKey() {
	if a.persist.file != nil {
		a.persist.putJSON(bucketAppState, a.recordKey(appStateKey), savedAppStateKey{a.keyID, a.key})
	}
}

func (a *appState) saveShare(device uint16) {
	if a.persist.file == nil {
		return
	}
	key := a.recordKey(appStateShare, byte(device))
	if given, ok := a.shares[device]; ok {
		a.persist.putJSON(bucketAppState, key, given)
	} else {
		a.persist.change(bucketAppState, key, nil)
	}
}

// appStateRecords collects what one patch changes: half of it on disk would be a hash that
// no client can follow.
type appStateRecords struct {
	state   *appState
	name    string
	changes map[record][]byte
}

func (a *appState) newRecords(name appstate.WAPatchName) *appStateRecords {
	return &appStateRecords{state: a, name: string(name), changes: map[record][]byte{}}
}

func (r *appStateRecords) put(value []byte, kind byte, rest ...any) {
	r.changes[record{bucketAppState, string(r.state.recordKey(kind, rest...))}] = value
}

func (r *appStateRecords) patch(version uint64, raw []byte) {
	r.put(raw, appStatePatch, r.name, byte(0), version)
}

func (r *appStateRecords) record(index string, raw []byte) {
	r.put(raw, appStateRecord, r.name, byte(0), []byte(index))
}

func (r *appStateRecords) collection(c *collection) {
	raw, err := json.Marshal(savedCollection{c.version, c.hash[:]})
	if err != nil {
		r.state.persist.log.Error("a collection cannot be encoded", "error", err)
		return
	}
	r.put(raw, appStateCollection, r.name)
}

// commit hands everything to one commit of the file.
func (r *appStateRecords) commit() {
	p := r.state.persist
	if p.file == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	maps.Copy(p.changes, r.changes)
	p.kick()
}

// loadAppState reads one record of bucketAppState.
func (s *Server) loadAppState(k, v []byte) error {
	number, rest, ok := bytes.Cut(k, []byte{0})
	if !ok || len(rest) == 0 {
		return fmt.Errorf("app state key: %w", errSaved)
	}
	a, kind, rest := s.appStates.account(string(number), s.persist), rest[0], rest[1:]
	switch kind {
	case appStateKey:
		var saved savedAppStateKey
		if err := json.Unmarshal(v, &saved); err != nil {
			return fmt.Errorf("app state key: %w", err)
		}
		a.keyID, a.key = saved.ID, saved.Data
	case appStateShare:
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

func (a *appState) loadCollection(kind byte, rest, v []byte) error {
	name, id, _ := bytes.Cut(rest, []byte{0})
	c, ok := a.collections[appstate.WAPatchName(name)]
	if !ok {
		return fmt.Errorf("collection %q: %w", name, errSaved)
	}
	switch kind {
	case appStateCollection:
		var saved savedCollection
		if err := json.Unmarshal(v, &saved); err != nil || len(saved.Hash) != len(c.hash) {
			return fmt.Errorf("collection %q: %w", name, errSaved)
		}
		c.version, c.hash = saved.Version, [128]byte(saved.Hash)
	case appStatePatch:
		if len(id) != 8 {
			return fmt.Errorf("patch of %q: %w", name, errSaved)
		}
		c.patches = append(c.patches, slices.Clone(v)) // keys come in the order of versions
	case appStateRecord:
		c.records[string(id)] = slices.Clone(v)
	default:
		return fmt.Errorf("app state kind %q: %w", kind, errSaved)
	}
	return nil
}
