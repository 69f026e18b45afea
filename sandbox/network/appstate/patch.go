package appstate

import (
	"context"
	"fmt"

	wa "go.mau.fi/whatsmeow/appstate"
	"go.mau.fi/whatsmeow/proto/waServerSync"
	"google.golang.org/protobuf/proto"
)

const (
	macLength = 32
	// minValue is an IV, one block and the MAC of an encrypted value.
	minValue = 16 + 16 + macLength
)

// Change makes a patch of the phone and applies it. linked are the account's devices.
// Errors: ErrFull, or those of encoding.
func (a *State) Change(ctx context.Context, info wa.PatchInfo, linked []Device) (Notice, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	err := a.change(ctx, info)
	return a.notice(info.Type, linked), err
}

// change makes a patch of the phone and applies it. The caller holds mu.
func (a *State) change(ctx context.Context, info wa.PatchInfo) error {
	raw, err := a.encode(ctx, info)
	if err != nil {
		return err
	}
	_, err = a.apply(ctx, info.Type, raw)
	return err
}

func (a *State) encode(ctx context.Context, info wa.PatchInfo) ([]byte, error) {
	c := a.collections[info.Type]
	raw, err := a.processor.EncodePatch(ctx, a.keyID, wa.HashState{Version: c.version, Hash: c.hash}, info)
	if err != nil {
		return nil, fmt.Errorf("change %s of %s: %w", info.Type, a.number, err)
	}
	return raw, nil
}

// Take applies a change that a device made on top of a version, and returns its effect.
// linked are the account's devices, including the author. Errors: ErrConflict,
// ErrPatch, ErrFull.
func (a *State) Take(ctx context.Context, name wa.WAPatchName, from uint64, raw []byte, linked []Device) ([]wa.Mutation, Notice, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if from != a.collections[name].version {
		return nil, Notice{}, ErrConflict
	}
	mutations, err := a.apply(ctx, name, raw)
	return mutations, a.notice(name, linked), err
}

// apply verifies a patch with the library and makes it the collection's next version. The
// caller holds mu.
func (a *State) apply(ctx context.Context, name wa.WAPatchName, raw []byte) ([]wa.Mutation, error) {
	var patch waServerSync.SyncdPatch
	if err := proto.Unmarshal(raw, &patch); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrPatch, err)
	}
	c := a.collections[name]
	if err := c.accepts(&patch, len(raw)); err != nil {
		return nil, err
	}
	patch.Version = &waServerSync.SyncdVersion{Version: new(c.version + 1)}
	list := &wa.PatchList{Name: name, Patches: []*waServerSync.SyncdPatch{&patch}}
	mutations, next, err := a.processor.DecodePatches(ctx, list, wa.HashState{Version: c.version, Hash: c.hash}, true)
	if err != nil {
		return nil, fmt.Errorf("patch of %s to version %d: %w: %w", name, c.version+1, ErrPatch, err)
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

// accepts checks what the library's decoder assumes, and the collection's limits.
func (c *collection) accepts(patch *waServerSync.SyncdPatch, size int) error {
	if size > maxPatchBytes || len(patch.GetMutations()) == 0 || patch.GetExternalMutations() != nil {
		return ErrPatch
	}
	added := 0
	for _, m := range patch.GetMutations() {
		index, value := m.GetRecord().GetIndex().GetBlob(), m.GetRecord().GetValue().GetBlob()
		if len(index) != macLength || len(value) < minValue || len(value)%16 != 0 {
			return ErrPatch
		}
		if _, known := c.records[string(index)]; !known && m.GetOperation() == waServerSync.SyncdMutation_SET {
			added++
		}
	}
	if len(c.records)+added > maxRecords {
		return ErrFull
	}
	return nil
}

// keep stores a verified patch and its changes.
func (c *collection) keep(patch *waServerSync.SyncdPatch, saved *records) error {
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

// first returns the version made by the oldest stored patch.
func (c *collection) first() uint64 { return c.version - uint64(len(c.patches)) + 1 }

// snapshot returns the collection's complete content. Its signature is that of the last
// patch: both sign the same hash. A spoiled one has a wrong signature.
func (c *collection) snapshot(spoiled bool) ([]byte, error) {
	var last waServerSync.SyncdPatch
	if err := proto.Unmarshal(c.patches[len(c.patches)-1], &last); err != nil {
		return nil, fmt.Errorf("read patch %d: %w", c.version, err)
	}
	snapshot := &waServerSync.SyncdSnapshot{Version: last.GetVersion(), Mac: last.GetSnapshotMAC(), KeyID: last.GetKeyID()}
	if spoiled {
		snapshot.Mac[0] ^= 1
	}
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
