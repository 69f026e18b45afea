package device

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	wastore "go.mau.fi/whatsmeow/store"
	"go.mau.fi/whatsmeow/types"

	"postern/store"
)

// lidMap maps phone numbers to LIDs and back, one to one. All of it is in memory, so
// unknown numbers are cheap too.
type lidMap struct {
	store *store.Store

	change sync.Mutex // held over a commit and the change of the maps

	mu   sync.RWMutex
	lids map[string]string // by phone
	pns  map[string]string // by LID

	paired atomic.Pointer[func()] // called after a change
}

var _ wastore.LIDStore = (*lidMap)(nil)

func lidKey(lid string) []byte { return store.Key(byte('l'), lid) }
func pnKey(pn string) []byte   { return store.Key(byte('p'), pn) }

func openLIDMap(st *store.Store) (*lidMap, error) {
	m := &lidMap{store: st, lids: map[string]string{}, pns: map[string]string{}}
	err := st.View(func(tx *store.Tx) error {
		return tx.Scan(lidBucket, store.Range{Prefix: []byte("l")}, func(k, v []byte) (bool, error) {
			lid, pn := string(k[1:]), string(v)
			m.lids[pn], m.pns[lid] = lid, pn
			return true, nil
		})
	})
	return m, err
}

// PutLIDMapping implements [wastore.LIDStore].
func (m *lidMap) PutLIDMapping(ctx context.Context, lid, pn types.JID) error {
	if lid.Server != types.HiddenUserServer || pn.Server != types.DefaultUserServer {
		return fmt.Errorf("device: %s and %s are not a LID and a phone number", lid, pn)
	}
	return m.PutManyLIDMappings(ctx, []wastore.LIDMapping{{LID: lid, PN: pn}})
}

// PutManyLIDMappings implements [wastore.LIDStore]. Invalid pairs are skipped.
func (m *lidMap) PutManyLIDMappings(ctx context.Context, mappings []wastore.LIDMapping) error {
	m.change.Lock()
	defer m.change.Unlock()
	fresh := m.unknown(mappings)
	if len(fresh) == 0 {
		return nil
	}
	if err := m.store.Update(ctx, func(tx *store.Tx) error { return storePairs(tx, fresh, false) }); err != nil {
		return fmt.Errorf("device: store LID mappings: %w", err)
	}
	m.learn(fresh, false)
	if fn := m.paired.Load(); fn != nil {
		(*fn)()
	}
	return nil
}

// learn is storePairs for the maps. The caller holds m.change.
func (m *lidMap) learn(pairs []lidPair, weak bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, p := range pairs {
		oldPN, lidKnown := m.pns[p.lid]
		oldLID, pnKnown := m.lids[p.pn]
		if weak && (lidKnown || pnKnown) {
			continue
		}
		if pnKnown {
			delete(m.pns, oldLID)
		}
		if lidKnown {
			delete(m.lids, oldPN)
		}
		m.lids[p.pn], m.pns[p.lid] = p.lid, p.pn
	}
}

// unknown returns the pairs from the first one on that changes something: later ones
// may undo it.
func (m *lidMap) unknown(mappings []wastore.LIDMapping) (fresh []lidPair) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	for _, p := range mappings {
		valid := p.LID.Server == types.HiddenUserServer && p.PN.Server == types.DefaultUserServer
		if valid && (len(fresh) > 0 || m.lids[p.PN.User] != p.LID.User) {
			fresh = append(fresh, lidPair{p.LID.User, p.PN.User})
		}
	}
	return fresh
}

type lidPair struct{ lid, pn string }

// storePairs stores pairs, in key order, and removes the previous pairs of their
// addresses. A weak pair is skipped if either address has one.
func storePairs(tx *store.Tx, pairs []lidPair, weak bool) error {
	changes := map[string][]byte{} // nil: removed
	get := func(key []byte) ([]byte, error) {
		if v, changed := changes[string(key)]; changed {
			return v, nil
		}
		return tx.Get(lidBucket, key)
	}
	for _, p := range pairs {
		oldLID, err := get(pnKey(p.pn))
		if err != nil {
			return err
		}
		oldPN, err := get(lidKey(p.lid))
		if err != nil {
			return err
		}
		if weak && (oldLID != nil || oldPN != nil) {
			continue
		}
		if oldLID != nil {
			changes[string(lidKey(string(oldLID)))] = nil
		}
		if oldPN != nil {
			changes[string(pnKey(string(oldPN)))] = nil
		}
		changes[string(lidKey(p.lid))], changes[string(pnKey(p.pn))] = []byte(p.pn), []byte(p.lid)
	}
	for _, k := range slices.Sorted(maps.Keys(changes)) {
		var err error
		if v := changes[k]; v == nil {
			err = tx.Delete(lidBucket, []byte(k))
		} else {
			err = tx.Put(lidBucket, []byte(k), v)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// GetPNForLID returns the empty JID if the number is unknown. The answer has the device
// of lid.
func (m *lidMap) GetPNForLID(_ context.Context, lid types.JID) (types.JID, error) {
	if lid.Server != types.HiddenUserServer {
		return types.JID{}, fmt.Errorf("device: %s is not a LID", lid)
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	return other(m.pns[lid.User], types.DefaultUserServer, lid), nil
}

// GetLIDForPN returns the empty JID if the LID is unknown. The answer has the device of
// pn.
func (m *lidMap) GetLIDForPN(_ context.Context, pn types.JID) (types.JID, error) {
	if pn.Server != types.DefaultUserServer {
		return types.JID{}, fmt.Errorf("device: %s is not a phone number", pn)
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	return other(m.lids[pn.User], types.HiddenUserServer, pn), nil
}

// GetManyLIDsForPNs returns an entry for each number with a known LID.
func (m *lidMap) GetManyLIDsForPNs(_ context.Context, pns []types.JID) (map[types.JID]types.JID, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	found := make(map[types.JID]types.JID, len(pns))
	for _, pn := range pns {
		if pn.Server != types.DefaultUserServer {
			continue
		}
		if lid := m.lids[pn.User]; lid != "" {
			found[pn] = other(lid, types.HiddenUserServer, pn)
		}
	}
	return found, nil
}

func other(user, server string, asked types.JID) types.JID {
	if user == "" {
		return types.JID{}
	}
	return types.JID{User: user, Server: server, Device: asked.Device}
}

// lidOf returns the LID of a phone number, "" if unknown.
func (m *lidMap) lidOf(pn string) string {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.lids[pn]
}

// forms returns jid and its other form, if known.
func (m *lidMap) forms(jid types.JID) []types.JID {
	m.mu.RLock()
	defer m.mu.RUnlock()
	var alt types.JID
	switch jid.Server {
	case types.HiddenUserServer:
		alt = other(m.pns[jid.User], types.DefaultUserServer, jid)
	case types.DefaultUserServer:
		alt = other(m.lids[jid.User], types.HiddenUserServer, jid)
	}
	if alt.IsEmpty() {
		return []types.JID{jid}
	}
	return []types.JID{jid, alt}
}
