package appstate

import (
	"slices"

	wa "go.mau.fi/whatsmeow/appstate"
	"go.mau.fi/whatsmeow/proto/waE2E"
	"go.mau.fi/whatsmeow/types"
)

// Device identifies a linked device.
type Device struct {
	LID      types.JID
	Identity [32]byte
}

// KeyShare returns the message that sends a device the key created by Begin, and the
// earlier ones.
func (a *State) KeyShare() *waE2E.ProtocolMessage {
	a.mu.Lock()
	defer a.mu.Unlock()
	share := &waE2E.AppStateSyncKeyShare{}
	for _, k := range append(slices.Clone(a.former), savedKey{ID: a.keyID, Data: a.key}) {
		share.Keys = append(share.Keys, &waE2E.AppStateSyncKey{
			KeyID: &waE2E.AppStateSyncKeyId{KeyID: k.ID},
			KeyData: &waE2E.AppStateSyncKeyData{
				KeyData: k.Data.Data, Timestamp: new(k.Data.Timestamp),
				Fingerprint: &waE2E.AppStateSyncKeyFingerprint{RawID: new(uint32(1)), CurrentIndex: new(uint32(0))},
			},
		})
	}
	return &waE2E.ProtocolMessage{Type: waE2E.ProtocolMessage_APP_STATE_SYNC_KEY_SHARE.Enum(), AppStateSyncKeyShare: share}
}

// Unshared lists the devices without the key, and forgets unlinked ones.
func (a *State) Unshared(linked []Device) []Device {
	a.mu.Lock()
	defer a.mu.Unlock()
	var without []Device
	gone := map[uint16]bool{}
	for id := range a.shares {
		gone[id] = true
	}
	for _, d := range linked {
		given, ok := a.shares[d.LID.Device]
		if ok && slices.Equal(given.Identity, d.Identity[:]) {
			gone[d.LID.Device] = false
		} else {
			without = append(without, d)
		}
	}
	for id, remove := range gone {
		if remove {
			delete(a.shares, id)
			a.saveShare(id)
		}
	}
	return without
}

// Given records that a device gets the key. It is called before the key is sent,
// because the device may read at once.
func (a *State) Given(d Device) {
	a.mu.Lock()
	defer a.mu.Unlock()
	base := map[wa.WAPatchName]uint64{}
	for name, c := range a.collections {
		base[name] = c.version
	}
	a.shares[d.LID.Device] = &share{d.Identity[:], base}
	a.saveShare(d.LID.Device)
}

// Withdrawn records that the key did not reach a device.
func (a *State) Withdrawn(d Device) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.shares, d.LID.Device)
	a.saveShare(d.LID.Device)
}

// Read reports whether a device has the key and has ended its first read of every collection.
// given reports whether it has the key.
func (a *State) Read(device uint16) (read, given bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	has, given := a.shares[device]
	return given && len(has.Base) == 0, given
}

// Notice is the effect of a change: the devices to notify of a version of a collection.
type Notice struct {
	Name    wa.WAPatchName
	Version uint64
	Devices []Device
}

// notice selects the devices that have completed their first read of a collection. The
// others learn the change by that read: a client that is notified before it stored the
// key cannot read, and takes the change for a part of its first read. The caller holds
// mu.
func (a *State) notice(name wa.WAPatchName, linked []Device) Notice {
	n := Notice{Name: name, Version: a.collections[name].version}
	for _, d := range linked {
		if given, ok := a.shares[d.LID.Device]; ok {
			if _, held := given.Base[name]; held {
				continue
			}
		}
		n.Devices = append(n.Devices, d)
	}
	return n
}

// Refused gives no more help to a device that could not read a collection.
func (a *State) Refused(device uint16, name wa.WAPatchName) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if _, ok := a.shares[device]; ok {
		a.reached(device, name)
	}
}

// reached completes the device's first read of a collection. The caller holds mu.
func (a *State) reached(device uint16, name wa.WAPatchName) {
	delete(a.shares[device].Base, name)
	a.saveShare(device)
}
