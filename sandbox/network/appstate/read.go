package appstate

import wa "go.mau.fi/whatsmeow/appstate"

// maxPatchesSent is how many patches one answer carries.
const maxPatchesSent = 100

// Answer is what a device lacks of a collection.
type Answer struct {
	Version  uint64 // of the device afterwards
	More     bool   // the device must ask again
	Patches  [][]byte
	Snapshot []byte // instead of patches; nil: none
	// Announce is a version that was held back: the device must be notified of it
	// after this answer; 0: none.
	Announce uint64
}

// Give answers a device that has a version of a collection; 0 means that it starts from
// nothing.
func (a *State) Give(device uint16, name wa.WAPatchName, from uint64) (Answer, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	c := a.collections[name]
	target, held := a.target(device, name, from)
	until := min(target, from+maxPatchesSent)
	answer := Answer{Version: until, More: until < target}
	if from+1 < c.first() {
		answer.Version, answer.More = c.version, false
		if from > 0 {
			return answer, nil
		}
		var err error
		answer.Snapshot, err = c.snapshot(c.version <= a.spoiled[name])
		return answer, err
	}
	for version := from + 1; version <= until; version++ {
		patch, err := a.given(name, version, c.patches[version-c.first()])
		if err != nil {
			return Answer{}, err
		}
		answer.Patches = append(answer.Patches, patch)
	}
	if broken, ok := a.damaged[damage{device, name}]; ok && !held && until == c.version {
		delete(a.damaged, damage{device, name})
		answer.Patches = append(answer.Patches, broken)
	}
	if held && until == target {
		a.reached(device, name)
		if target < c.version || a.damaged[damage{device, name}] != nil {
			answer.Announce = c.version
		}
	}
	return answer, nil
}

// target returns the version up to which a device may read now. held means that later
// ones wait for its next request: see share.
func (a *State) target(device uint16, name wa.WAPatchName, from uint64) (version uint64, held bool) {
	version = a.collections[name].version
	if given, ok := a.shares[device]; ok {
		if base, ok := given.Base[name]; ok && from < base {
			return base, true
		}
	}
	return version, false
}
