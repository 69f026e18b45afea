package appstate

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	wa "go.mau.fi/whatsmeow/appstate"
	"go.mau.fi/whatsmeow/proto/waServerSync"
	"go.mau.fi/whatsmeow/proto/waSyncAction"
	wastore "go.mau.fi/whatsmeow/store"
	waLog "go.mau.fi/whatsmeow/util/log"
	"google.golang.org/protobuf/proto"
)

const (
	// maxPatches is how many single changes of a collection are stored. A device that
	// starts from nothing gets a snapshot once older ones are gone; one that is
	// further behind gets nothing until it starts again.
	maxPatches = 1000
	// maxRecords is the largest number of records in one collection.
	maxRecords = 10_000
	// maxPatchBytes is the largest change.
	maxPatchBytes = 256 << 10
)

// Errors of a change to a collection.
var (
	ErrPatch    = errors.New("malformed app state patch")
	ErrFull     = fmt.Errorf("the collection holds %d records already", maxRecords)
	ErrConflict = errors.New("the patch is not based on the newest version")
)

// Keeper stores records by key, all of one call or none; a nil value deletes. It must
// not wait.
type Keeper func(changes map[string][]byte)

// States holds the state of each account.
type States struct {
	keep Keeper

	mu sync.Mutex // guards of
	of map[string]*State
}

// New returns an empty set of states. A nil keeper keeps them in memory only.
func New(keep Keeper) *States { return &States{keep: keep, of: map[string]*State{}} }

// Of returns the state of a number; it is empty until a device of the number logs in.
func (a *States) Of(number string) *State {
	a.mu.Lock()
	defer a.mu.Unlock()
	state, ok := a.of[number]
	if !ok {
		state = newState(number, a.keep)
		a.of[number] = state
	}
	return state
}

// State is one account's five collections and the key that encrypts them.
type State struct {
	number    string
	keep      Keeper // nil: memory only
	processor *wa.Processor

	// Acting orders a key before the first change that needs it: it is held while keys
	// are sent or changes of the phone are made. Its holder may wait.
	Acting sync.Mutex

	mu          sync.Mutex // guards everything below
	keyID       []byte     // nil until a device logs in
	key         wastore.AppStateSyncKey
	former      []savedKey // earlier keys, oldest first
	collections map[wa.WAPatchName]*collection
	shares      map[uint16]*share
	damaged     map[damage][]byte         // patches that one device gets once
	spoiled     map[wa.WAPatchName]uint64 // versions up to which nothing that is sent verifies
}

// damage identifies a collection for one device.
type damage struct {
	device uint16
	name   wa.WAPatchName
}

// share records that a device got the key. Base is the version of each collection at
// that time, until the device has read up to it: clients do not report the content of
// their first read of a collection, so it must not contain later changes.
type share struct {
	Identity []byte                    `json:"identity"`
	Base     map[wa.WAPatchName]uint64 `json:"base"`
}

// collection is the newest value of each index, and the last changes.
type collection struct {
	version uint64
	hash    [128]byte
	records map[string][]byte // encoded SyncdRecord, by index MAC
	patches [][]byte          // encoded SyncdPatch; the last one made this version
}

func newState(number string, keep Keeper) *State {
	a := &State{
		number: number, keep: keep, collections: map[wa.WAPatchName]*collection{},
		shares: map[uint16]*share{}, damaged: map[damage][]byte{}, spoiled: map[wa.WAPatchName]uint64{},
	}
	for _, name := range wa.AllPatchNames {
		a.collections[name] = &collection{records: map[string][]byte{}}
	}
	kept := &stateStore{NoopStore: &wastore.NoopStore{}, state: a}
	a.processor = wa.NewProcessor(&wastore.Device{AppState: kept, AppStateKeys: kept}, waLog.Noop)
	return a
}

// Known reports whether there is a collection of this name.
func Known(name wa.WAPatchName) bool { return slices.Contains(wa.AllPatchNames[:], name) }

// stateStore is the state for the library's processor. Its caller holds state.mu.
type stateStore struct {
	*wastore.NoopStore
	state *State
}

// GetAppStateSyncKey implements the library's interface.
func (s *stateStore) GetAppStateSyncKey(_ context.Context, id []byte) (*wastore.AppStateSyncKey, error) {
	if string(id) == string(s.state.keyID) {
		return &s.state.key, nil
	}
	for _, k := range s.state.former {
		if string(id) == string(k.ID) {
			return &k.Data, nil
		}
	}
	return nil, nil
}

// GetAppStateMutationMAC implements the library's interface.
func (s *stateStore) GetAppStateMutationMAC(_ context.Context, name string, indexMAC []byte) ([]byte, error) {
	raw, ok := s.state.collections[wa.WAPatchName(name)].records[string(indexMAC)]
	if !ok {
		return nil, nil
	}
	var record waServerSync.SyncdRecord
	if err := proto.Unmarshal(raw, &record); err != nil {
		return nil, fmt.Errorf("record of %s: %w", name, err)
	}
	blob := record.GetValue().GetBlob()
	return blob[len(blob)-macLength:], nil
}

// Begin creates the key and a first entry in each collection, once: without one a
// client takes the first real change for its initial content. The account's name is
// among them: clients show no presence before they know it.
func (a *State) Begin(ctx context.Context, name string) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.keyID != nil {
		return nil
	}
	a.newKey()
	for _, collection := range wa.AllPatchNames {
		seed := wa.MutationInfo{
			Index: []string{wa.IndexSentinel}, Version: 1, Value: &waSyncAction.SyncActionValue{},
		}
		first := wa.PatchInfo{Type: collection, Mutations: []wa.MutationInfo{seed}}
		if collection == wa.WAPatchCriticalBlock && name != "" {
			first.Mutations = append(first.Mutations, wa.BuildSettingPushName(name).Mutations...)
		}
		if err := a.change(ctx, first); err != nil {
			return err
		}
	}
	return nil
}

// newKey creates the key that encrypts from now on. The caller holds mu.
func (a *State) newKey() {
	id, data := make([]byte, 6), make([]byte, 32)
	_, _ = rand.Read(id[2:]) // crypto/rand never fails
	_, _ = rand.Read(data)
	a.keyID, a.key = id, wastore.AppStateSyncKey{Data: data, Timestamp: max(time.Now().UnixMilli(), a.key.Timestamp+1)}
	a.saveKey()
}
