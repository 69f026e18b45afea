package appstate

import (
	"context"
	"encoding/json"
	"fmt"

	wa "go.mau.fi/whatsmeow/appstate"
	"go.mau.fi/whatsmeow/proto/waServerSync"
	"go.mau.fi/whatsmeow/proto/waSyncAction"
	"go.mau.fi/whatsmeow/proto/waSyncdSnapshotRecovery"
	"google.golang.org/protobuf/proto"
)

// Copy returns a collection as the phone sends it to a device that cannot read the
// server's: its content in plain text, with the version and the hash from which the
// device continues. Errors: ErrPatch for an unknown or empty collection, or those of
// encoding.
func (a *State) Copy(ctx context.Context, name wa.WAPatchName) ([]byte, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	c, known := a.collections[name]
	if !known || c.version == 0 {
		return nil, ErrPatch
	}
	snapshot := &waServerSync.SyncdSnapshot{Version: &waServerSync.SyncdVersion{Version: new(c.version)}}
	for _, raw := range c.records {
		var record waServerSync.SyncdRecord
		if err := proto.Unmarshal(raw, &record); err != nil {
			return nil, fmt.Errorf("read record of %s: %w", name, err)
		}
		snapshot.Records = append(snapshot.Records, &record)
	}
	mutations, _, err := a.processor.DecodePatches(ctx, &wa.PatchList{Name: name, Snapshot: snapshot}, wa.HashState{}, false)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	plain := &waSyncdSnapshotRecovery.SyncdSnapshotRecovery{
		Version: &waSyncdSnapshotRecovery.SyncdVersion{Version: new(c.version)}, CollectionName: new(string(name)), CollectionLthash: c.hash[:],
	}
	for _, m := range mutations {
		index, err := json.Marshal(m.Index)
		if err != nil {
			return nil, fmt.Errorf("encode index in %s: %w", name, err)
		}
		plain.MutationRecords = append(plain.MutationRecords, &waSyncdSnapshotRecovery.SyncdPlainTextRecord{
			Value: &waSyncAction.SyncActionData{Index: index, Value: m.Action, Version: new(m.Version)}, KeyID: m.KeyID, Mac: m.ValueMAC,
		})
	}
	return proto.Marshal(plain)
}

// Reset deletes everything, like a phone that discards the state of its account: the
// next device that logs in gets new keys and new collections.
func (a *State) Reset() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.removeRecords()
	fresh := newState(a.number, a.keep)
	a.keyID, a.key, a.former = nil, fresh.key, nil
	a.collections, a.shares, a.damaged, a.spoiled = fresh.collections, fresh.shares, fresh.damaged, fresh.spoiled
}
