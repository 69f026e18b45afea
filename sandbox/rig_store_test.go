package sandbox

import (
	"context"
	"encoding/hex"
	"slices"
	"sync"

	"go.mau.fi/whatsmeow/appstate"
	"go.mau.fi/whatsmeow/store"
	"go.mau.fi/whatsmeow/types"

	"postern/e2e/bare"
)

// copyDevice is the same device in a second process: it has the same keys.
func copyDevice(d *store.Device) *store.Device {
	second := *d
	return &second
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
	d := bare.NewDevice()
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
