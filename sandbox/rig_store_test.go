package sandbox

import (
	"context"
	"encoding/hex"
	"maps"
	"slices"
	"sync"
	"time"

	"go.mau.fi/whatsmeow/appstate"
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

func newMemoryDevice() *store.Device {
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

// copyDevice is the same device in a second process: it has the same keys.
func copyDevice(d *store.Device) *store.Device {
	second := *d
	return &second
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

func (m *memoryStore) hasTidied() bool {
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

// stateMemory is the part of a device's store that app state needs.
type stateMemory struct {
	*store.NoopStore
	mu       sync.Mutex
	keys     map[string]store.AppStateSyncKey
	versions map[string]appstate.HashState
	macs     map[string][]byte
}

func newStateDevice() *store.Device {
	d := newMemoryDevice()
	m := &stateMemory{
		NoopStore: &store.NoopStore{}, keys: map[string]store.AppStateSyncKey{},
		versions: map[string]appstate.HashState{}, macs: map[string][]byte{},
	}
	d.AppState, d.AppStateKeys = m, m
	return d
}

func (m *stateMemory) PutAppStateSyncKey(_ context.Context, id []byte, key store.AppStateSyncKey) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.keys[string(id)] = key
	return nil
}

func (m *stateMemory) GetAppStateSyncKey(_ context.Context, id []byte) (*store.AppStateSyncKey, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if key, ok := m.keys[string(id)]; ok {
		return &key, nil
	}
	return nil, nil
}

func (m *stateMemory) GetLatestAppStateSyncKeyID(context.Context) ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for id := range m.keys {
		return []byte(id), nil
	}
	return nil, nil
}

func (m *stateMemory) PutAppStateVersion(_ context.Context, name string, version uint64, hash [128]byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.versions[name] = appstate.HashState{Version: version, Hash: hash}
	return nil
}

func (m *stateMemory) GetAppStateVersion(_ context.Context, name string) (uint64, [128]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.versions[name].Version, m.versions[name].Hash, nil
}

func (m *stateMemory) DeleteAppStateVersion(_ context.Context, name string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.versions, name)
	for key := range m.macs {
		if len(key) > len(name) && key[:len(name)+1] == name+" " {
			delete(m.macs, key)
		}
	}
	return nil
}

func (m *stateMemory) PutAppStateMutationMACs(_ context.Context, name string, _ uint64, macs []store.AppStateMutationMAC) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, mac := range macs {
		m.macs[name+" "+hex.EncodeToString(mac.IndexMAC)] = mac.ValueMAC
	}
	return nil
}

func (m *stateMemory) GetAppStateMutationMAC(_ context.Context, name string, index []byte) ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.macs[name+" "+hex.EncodeToString(index)], nil
}

// senderKeys is the part of a device's store that groups need.
type senderKeys struct {
	*store.NoopStore
	mu   sync.Mutex
	keys map[string][]byte
}

func (k *senderKeys) PutSenderKey(_ context.Context, group, user string, key []byte) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.keys[group+" "+user] = slices.Clone(key)
	return nil
}

func (k *senderKeys) GetSenderKey(_ context.Context, group, user string) ([]byte, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.keys[group+" "+user], nil
}

// contactNames remembers names, as the library needs it to notice a new one.
type contactNames struct {
	*store.NoopStore
	mu    sync.Mutex
	names map[string]string
}

func (c *contactNames) put(key, name string) (bool, string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	old := c.names[key]
	c.names[key] = name
	return old != name, old, nil
}

func (c *contactNames) PutPushName(_ context.Context, user types.JID, name string) (bool, string, error) {
	return c.put("push "+user.String(), name)
}

func (c *contactNames) PutBusinessName(_ context.Context, user types.JID, name string) (bool, string, error) {
	return c.put("business "+user.ToNonAD().String(), name)
}

// messageSecrets is the store that votes need.
type messageSecrets struct {
	*store.NoopStore
	mu      sync.Mutex
	secrets map[string][]byte
}

func (s *messageSecrets) PutMessageSecret(_ context.Context, chat, sender types.JID, id types.MessageID, secret []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.secrets[chat.String()+sender.ToNonAD().String()+id] = secret
	return nil
}

func (s *messageSecrets) GetMessageSecret(_ context.Context, chat, sender types.JID, id types.MessageID) ([]byte, types.JID, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.secrets[chat.String()+sender.ToNonAD().String()+id], sender, nil
}
