package sandbox

import (
	"context"
	"fmt"

	"go.mau.fi/whatsmeow/appstate"
	"go.mau.fi/whatsmeow/proto/waServerSync"
	"google.golang.org/protobuf/proto"
)

const (
	macLength = 32
	// minValue is an IV, one block and the MAC of an encrypted value.
	minValue = 16 + 16 + macLength
)

// change makes a patch of the phone and applies it. The caller holds mu.
func (a *appState) change(ctx context.Context, info appstate.PatchInfo) error {
	raw, err := a.encode(ctx, info)
	if err != nil {
		return err
	}
	_, err = a.apply(ctx, info.Type, raw)
	return err
}

func (a *appState) encode(ctx context.Context, info appstate.PatchInfo) ([]byte, error) {
	c := a.collections[info.Type]
	raw, err := a.processor.EncodePatch(ctx, a.keyID, appstate.HashState{Version: c.version, Hash: c.hash}, info)
	if err != nil {
		return nil, fmt.Errorf("change %s of %s: %w", info.Type, a.number, err)
	}
	return raw, nil
}

// damage makes a patch whose signature is wrong and gives it once to each of the devices,
// instead of a real change. Nothing of the collection changes, so the device is right again
// with the next real one. The caller holds mu.
func (a *appState) damage(ctx context.Context, info appstate.PatchInfo, devices []linkedDevice) error {
	raw, err := a.encode(ctx, info)
	if err != nil {
		return err
	}
	var patch waServerSync.SyncdPatch
	if err := proto.Unmarshal(raw, &patch); err != nil {
		return fmt.Errorf("read own patch: %w", err)
	}
	patch.Version = &waServerSync.SyncdVersion{Version: new(a.collections[info.Type].version + 1)}
	patch.PatchMAC[0] ^= 1
	if raw, err = proto.Marshal(&patch); err != nil {
		return fmt.Errorf("encode patch: %w", err)
	}
	for _, d := range devices {
		a.damaged[damage{d.lid.Device, info.Type}] = raw
	}
	return nil
}

// apply verifies a patch with the library and makes it the collection's next version. The
// caller holds mu.
func (a *appState) apply(ctx context.Context, name appstate.WAPatchName, raw []byte) ([]appstate.Mutation, error) {
	var patch waServerSync.SyncdPatch
	if err := proto.Unmarshal(raw, &patch); err != nil {
		return nil, fmt.Errorf("%w: %w", errPatch, err)
	}
	c := a.collections[name]
	if err := c.accepts(&patch, len(raw)); err != nil {
		return nil, err
	}
	patch.Version = &waServerSync.SyncdVersion{Version: new(c.version + 1)}
	list := &appstate.PatchList{Name: name, Patches: []*waServerSync.SyncdPatch{&patch}}
	mutations, next, err := a.processor.DecodePatches(ctx, list, appstate.HashState{Version: c.version, Hash: c.hash}, true)
	if err != nil {
		return nil, fmt.Errorf("patch of %s to version %d: %w: %w", name, c.version+1, errPatch, err)
	}
	saved := a.newRecords(name)
	if err := c.keep(&patch, saved); err != nil {
		return nil, err
	}
	c.version, c.hash = next.Version, next.Hash
	saved.collection(c)
	saved.commit()
	return mutations, nil
}

// accepts checks what the library's decoder takes for granted, and the collection's bounds.
func (c *collection) accepts(patch *waServerSync.SyncdPatch, size int) error {
	if size > maxPatchBytes || len(patch.GetMutations()) == 0 || patch.GetExternalMutations() != nil {
		return errPatch
	}
	added := 0
	for _, m := range patch.GetMutations() {
		index, value := m.GetRecord().GetIndex().GetBlob(), m.GetRecord().GetValue().GetBlob()
		if len(index) != macLength || len(value) < minValue || len(value)%16 != 0 {
			return errPatch
		}
		if _, known := c.records[string(index)]; !known && m.GetOperation() == waServerSync.SyncdMutation_SET {
			added++
		}
	}
	if len(c.records)+added > maxRecords {
		return errStateFull
	}
	return nil
}

// keep stores a verified patch and what it changes.
func (c *collection) keep(patch *waServerSync.SyncdPatch, saved *appStateRecords) error {
	raw, err := proto.Marshal(patch)
	if err != nil {
		return fmt.Errorf("encode patch: %w", err)
	}
	changed := map[string][]byte{}
	for _, m := range patch.GetMutations() {
		index := string(m.GetRecord().GetIndex().GetBlob())
		changed[index] = nil
		if m.GetOperation() == waServerSync.SyncdMutation_REMOVE {
			continue
		}
		if changed[index], err = proto.Marshal(m.GetRecord()); err != nil {
			return fmt.Errorf("encode record: %w", err)
		}
	}
	for index, record := range changed {
		saved.record(index, record)
		if record == nil {
			delete(c.records, index)
		} else {
			c.records[index] = record
		}
	}
	saved.patch(patch.GetVersion().GetVersion(), raw)
	c.patches = append(c.patches, raw)
	if len(c.patches) > maxPatches {
		saved.patch(c.version+1-maxPatches, nil)
		c.patches[0] = nil
		c.patches = c.patches[1:]
	}
	return nil
}

// first is the version that the oldest kept patch made.
func (c *collection) first() uint64 { return c.version - uint64(len(c.patches)) + 1 }

// snapshot is the collection's whole content. Its signature is that of the last patch: both
// sign the same hash.
func (c *collection) snapshot() ([]byte, error) {
	var last waServerSync.SyncdPatch
	if err := proto.Unmarshal(c.patches[len(c.patches)-1], &last); err != nil {
		return nil, fmt.Errorf("read patch %d: %w", c.version, err)
	}
	snapshot := &waServerSync.SyncdSnapshot{Version: last.GetVersion(), Mac: last.GetSnapshotMAC(), KeyID: last.GetKeyID()}
	for _, raw := range c.records {
		var record waServerSync.SyncdRecord
		if err := proto.Unmarshal(raw, &record); err != nil {
			return nil, fmt.Errorf("read record: %w", err)
		}
		snapshot.Records = append(snapshot.Records, &record)
	}
	raw, err := proto.Marshal(snapshot)
	if err != nil {
		return nil, fmt.Errorf("encode snapshot: %w", err)
	}
	return raw, nil
}
