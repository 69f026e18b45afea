// Package bare has the client library alone: a device whose store is in memory.
// Tests of the sandbox talk by it, and benchmarks check the program against it.
package bare

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"go.mau.fi/whatsmeow/store"
	"go.mau.fi/whatsmeow/types"
	"go.mau.fi/whatsmeow/util/keys"
	waLog "go.mau.fi/whatsmeow/util/log"
)

// memoryStore is the part of a device's store that pairing and messages need.
type memoryStore struct {
	*store.NoopStore
	mu       sync.Mutex
	sessions map[string][]byte
	preKeys  map[uint32]*keys.PreKey
	uploaded uint32 // highest id
	lids     map[types.JID]types.JID
	tidied   bool
}

// NewDevice returns an unpaired device with fresh keys and an empty store.
func NewDevice() *store.Device {
	m := &memoryStore{
		NoopStore: &store.NoopStore{}, sessions: map[string][]byte{},
		preKeys: map[uint32]*keys.PreKey{}, lids: map[types.JID]types.JID{},
	}
	d := &store.Device{
		Log: waLog.Noop, Container: m, LIDs: m, RegistrationID: 77,
		NoiseKey: keys.NewKeyPair(), IdentityKey: keys.NewKeyPair(), AdvSecretKey: keys.NewKeyPair().Pub[:],
	}
	d.SignedPreKey = d.IdentityKey.CreateSignedPreKey(1)
	d.SetAllStores(m)
	d.Initialized = true
	return d
}

func (m *memoryStore) IsTrustedIdentity(context.Context, string, [32]byte) (bool, error) {
	return true, nil
}

func (m *memoryStore) GetSession(_ context.Context, address string) ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.sessions[address], nil
}

func (m *memoryStore) HasSession(_ context.Context, address string) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.sessions[address] != nil, nil
}

func (m *memoryStore) GetManySessions(_ context.Context, addresses []string) (map[string][]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	found := map[string][]byte{}
	for _, address := range addresses {
		found[address] = m.sessions[address]
	}
	return found, nil
}

func (m *memoryStore) PutSession(_ context.Context, address string, session []byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.sessions[address] = slices.Clone(session)
	return nil
}

func (m *memoryStore) PutManySessions(_ context.Context, sessions map[string][]byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	maps.Copy(m.sessions, sessions)
	return nil
}

func (m *memoryStore) DeleteSession(_ context.Context, address string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.sessions, address)
	return nil
}

func (m *memoryStore) DeleteExpiredPrivacyTokens(context.Context, time.Time) (int64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.tidied = true
	return 0, nil
}

// Tidied reports whether the library has tidied the store of a device of NewDevice, which
// it does after a login, without a lock.
func Tidied(d *store.Device) bool {
	m, ok := d.Container.(*memoryStore)
	if !ok {
		return false
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.tidied
}

func (m *memoryStore) generate(count uint32) []*keys.PreKey {
	var made []*keys.PreKey
	for range count {
		key := keys.NewPreKey(uint32(len(m.preKeys)) + m.uploaded + 1000)
		m.preKeys[key.KeyID] = key
		made = append(made, key)
	}
	return made
}

func (m *memoryStore) GetOrGenPreKeys(_ context.Context, count uint32) ([]*keys.PreKey, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.generate(min(count, 20)), nil
}

func (m *memoryStore) GenOnePreKey(context.Context) (*keys.PreKey, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.generate(1)[0], nil
}

func (m *memoryStore) GetPreKey(_ context.Context, id uint32) (*keys.PreKey, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.preKeys[id], nil
}

func (m *memoryStore) RemovePreKey(_ context.Context, id uint32) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.preKeys[id] = nil // the id stays taken
	return nil
}

func (m *memoryStore) MarkPreKeysAsUploaded(_ context.Context, id uint32) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.uploaded = id
	return nil
}

func (m *memoryStore) UploadedPreKeyCount(context.Context) (int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := 0
	for _, key := range m.preKeys {
		if key != nil {
			n++
		}
	}
	return n, nil
}

func (m *memoryStore) PutLIDMapping(_ context.Context, lid, pn types.JID) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.lids[pn.ToNonAD()], m.lids[lid.ToNonAD()] = lid.ToNonAD(), pn.ToNonAD()
	return nil
}

func (m *memoryStore) PutManyLIDMappings(ctx context.Context, mappings []store.LIDMapping) error {
	for _, mapping := range mappings {
		_ = m.PutLIDMapping(ctx, mapping.LID, mapping.PN)
	}
	return nil
}

func (m *memoryStore) other(jid types.JID) types.JID {
	m.mu.Lock()
	defer m.mu.Unlock()
	found, ok := m.lids[jid.ToNonAD()]
	if ok {
		found.Device = jid.Device
	}
	return found
}

func (m *memoryStore) GetPNForLID(_ context.Context, lid types.JID) (types.JID, error) {
	return m.other(lid), nil
}

func (m *memoryStore) GetLIDForPN(_ context.Context, pn types.JID) (types.JID, error) {
	return m.other(pn), nil
}

func (m *memoryStore) GetManyLIDsForPNs(_ context.Context, pns []types.JID) (map[types.JID]types.JID, error) {
	found := map[types.JID]types.JID{}
	for _, pn := range pns {
		if lid := m.other(pn); !lid.IsEmpty() {
			found[pn] = lid
		}
	}
	return found, nil
}
