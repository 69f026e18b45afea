package device

import (
	"cmp"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"slices"

	wastore "go.mau.fi/whatsmeow/store"

	"postern/store"
)

func appStateKeyKey(id []byte) []byte { return store.Key(byte('K'), id) }

// PutAppStateSyncKey stores a key unless a newer one is stored under its id.
func (a *account) PutAppStateSyncKey(ctx context.Context, id []byte, key wastore.AppStateSyncKey) error {
	raw, err := json.Marshal(key)
	if err != nil {
		return err
	}
	return a.write(ctx, func(x access) error {
		known, err := appStateKey(x, id)
		if err != nil || known != nil && key.Timestamp <= known.Timestamp {
			return err
		}
		return x.put(appStateKeyKey(id), raw)
	})
}

func appStateKey(x reader, id []byte) (*wastore.AppStateSyncKey, error) {
	raw, err := x.get(appStateKeyKey(id))
	if err != nil || raw == nil {
		return nil, err
	}
	var key wastore.AppStateSyncKey
	return &key, decode(raw, &key)
}

// GetAppStateSyncKey implements [wastore.AppStateSyncKeyStore].
func (a *account) GetAppStateSyncKey(ctx context.Context, id []byte) (key *wastore.AppStateSyncKey, err error) {
	err = a.read(ctx, func(x reader) (err error) {
		key, err = appStateKey(x, id)
		return err
	})
	return key, err
}

// GetLatestAppStateSyncKeyID implements [wastore.AppStateSyncKeyStore].
func (a *account) GetLatestAppStateSyncKeyID(ctx context.Context) (id []byte, err error) {
	var newest int64
	err = a.eachAppStateKey(ctx, func(i []byte, k *wastore.AppStateSyncKey) {
		if id == nil || k.Timestamp > newest {
			id, newest = i, k.Timestamp
		}
	})
	return id, err
}

// GetAllAppStateSyncKeys returns the keys, the newest first.
func (a *account) GetAllAppStateSyncKeys(ctx context.Context) (all []*wastore.AppStateSyncKey, err error) {
	err = a.eachAppStateKey(ctx, func(_ []byte, k *wastore.AppStateSyncKey) { all = append(all, k) })
	slices.SortStableFunc(all, func(a, b *wastore.AppStateSyncKey) int { return cmp.Compare(b.Timestamp, a.Timestamp) })
	return all, err
}

func (a *account) eachAppStateKey(ctx context.Context, fn func(id []byte, k *wastore.AppStateSyncKey)) error {
	return a.read(ctx, func(x reader) error {
		pairs, err := x.list([]byte{'K'}, 0)
		if err != nil {
			return err
		}
		for _, p := range pairs {
			var k wastore.AppStateSyncKey
			if err := decode(p.value, &k); err != nil {
				return err
			}
			fn(p.key[1:], &k)
		}
		return nil
	})
}

func versionKey(name string) []byte            { return store.Key(byte('V'), name) }
func macsOf(name string) []byte                { return store.Key(byte('M'), sized(name)) }
func macPrefix(name string, mac []byte) []byte { return store.Key(macsOf(name), sized(string(mac))) }

// PutAppStateVersion implements [wastore.AppStateStore]. Version 0 means unknown and is
// not stored.
func (a *account) PutAppStateVersion(ctx context.Context, name string, version uint64, hash [128]byte) error {
	if version == 0 {
		return fmt.Errorf("device: version 0 of app state %q cannot be stored", name)
	}
	return a.write(ctx, func(x access) error { return x.put(versionKey(name), store.Key(version, hash[:])) })
}

// GetAppStateVersion returns version 0 if nothing is stored.
func (a *account) GetAppStateVersion(ctx context.Context, name string) (version uint64, hash [128]byte, err error) {
	raw, err := a.get(ctx, versionKey(name))
	if err != nil || raw == nil {
		return 0, hash, err
	}
	if len(raw) != 8+len(hash) {
		return 0, hash, fmt.Errorf("device: app state version %q has %d bytes", name, len(raw))
	}
	return binary.BigEndian.Uint64(raw), [128]byte(raw[8:]), nil
}

// DeleteAppStateVersion removes the version and all mutation MACs of the name.
func (a *account) DeleteAppStateVersion(ctx context.Context, name string) error {
	return a.write(ctx, func(x access) error {
		if err := x.remove(versionKey(name)); err != nil {
			return err
		}
		return removeAll(x, macsOf(name))
	})
}

func removeAll(x access, prefix []byte) error {
	pairs, err := x.list(prefix, 0)
	if err != nil {
		return err
	}
	for _, p := range pairs {
		if err := x.remove(p.key); err != nil {
			return err
		}
	}
	return nil
}

// PutAppStateMutationMACs implements [wastore.AppStateStore].
func (a *account) PutAppStateMutationMACs(ctx context.Context, name string, version uint64, mutations []wastore.AppStateMutationMAC) error {
	if len(mutations) == 0 {
		return nil
	}
	return a.write(ctx, func(x access) error {
		for _, m := range mutations {
			if err := x.put(store.Key(macPrefix(name, m.IndexMAC), version), m.ValueMAC); err != nil {
				return err
			}
		}
		return nil
	})
}

// DeleteAppStateMutationMACs implements [wastore.AppStateStore].
func (a *account) DeleteAppStateMutationMACs(ctx context.Context, name string, indexMACs [][]byte) error {
	if len(indexMACs) == 0 {
		return nil
	}
	return a.write(ctx, func(x access) error {
		for _, mac := range indexMACs {
			if err := removeAll(x, macPrefix(name, mac)); err != nil {
				return err
			}
		}
		return nil
	})
}

// GetAppStateMutationMAC returns the value of the newest version, nil if there is none.
func (a *account) GetAppStateMutationMAC(ctx context.Context, name string, indexMAC []byte) (value []byte, err error) {
	err = a.read(ctx, func(x reader) error {
		pairs, err := x.list(macPrefix(name, indexMAC), 0)
		if err == nil && len(pairs) > 0 {
			value = pairs[len(pairs)-1].value // keys end in the version
		}
		return err
	})
	return value, err
}
