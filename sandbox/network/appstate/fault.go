package appstate

import (
	"context"
	"fmt"

	wa "go.mau.fi/whatsmeow/appstate"
	"go.mau.fi/whatsmeow/proto/waServerSync"
	"google.golang.org/protobuf/proto"
)

// Damage makes a patch with a wrong signature, which each linked device gets once
// instead of a real change. The collection does not change, so the device recovers with
// the next real change.
func (a *State) Damage(ctx context.Context, info wa.PatchInfo, linked []Device) (Notice, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	raw, err := a.encode(ctx, info)
	if err != nil {
		return Notice{}, err
	}
	var patch waServerSync.SyncdPatch
	if err := proto.Unmarshal(raw, &patch); err != nil {
		return Notice{}, fmt.Errorf("read own patch: %w", err)
	}
	patch.Version = &waServerSync.SyncdVersion{Version: new(a.collections[info.Type].version + 1)}
	patch.PatchMAC[0] ^= 1
	if raw, err = proto.Marshal(&patch); err != nil {
		return Notice{}, fmt.Errorf("encode patch: %w", err)
	}
	for _, d := range linked {
		a.damaged[damage{d.LID.Device, info.Type}] = raw
	}
	return a.notice(info.Type, linked), nil
}

// Spoil makes a change of the phone after which neither the patches so far nor a
// snapshot of the collection verify: a complete read does not help, only the phone's
// own copy does. Later changes are valid. Errors as for Change.
func (a *State) Spoil(ctx context.Context, info wa.PatchInfo, linked []Device) (Notice, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if err := a.change(ctx, info); err != nil {
		return Notice{}, err
	}
	a.spoiled[info.Type] = a.collections[info.Type].version
	return a.notice(info.Type, linked), nil
}

// ChangeUnderNewKey makes a change of the phone with a new key, which it sends only on
// request. Errors as for Change.
func (a *State) ChangeUnderNewKey(ctx context.Context, info wa.PatchInfo, linked []Device) (Notice, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.former = append(a.former, savedKey{ID: a.keyID, Data: a.key})
	a.newKey()
	err := a.change(ctx, info)
	return a.notice(info.Type, linked), err
}

// given returns a patch as sent to devices.
func (a *State) given(name wa.WAPatchName, version uint64, raw []byte) ([]byte, error) {
	if version > a.spoiled[name] {
		return raw, nil
	}
	var patch waServerSync.SyncdPatch
	if err := proto.Unmarshal(raw, &patch); err != nil {
		return nil, fmt.Errorf("read patch %d of %s: %w", version, name, err)
	}
	patch.PatchMAC[0] ^= 1
	return proto.Marshal(&patch)
}
