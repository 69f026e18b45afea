package sandbox

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync"
	"time"

	"go.mau.fi/whatsmeow/appstate"
	"go.mau.fi/whatsmeow/proto/waServerSync"
	"go.mau.fi/whatsmeow/proto/waSyncAction"
	wastore "go.mau.fi/whatsmeow/store"
	waLog "go.mau.fi/whatsmeow/util/log"
	"google.golang.org/protobuf/proto"
)

const (
	// maxPatches is how many changes of a collection are kept one by one. A device that
	// starts anew gets a snapshot once older ones are gone; one that is further behind gets
	// nothing until it starts anew.
	maxPatches = 1000
	// maxRecords bounds what one collection holds.
	maxRecords = 10_000
	// maxPatchBytes bounds one change.
	maxPatchBytes = 256 << 10
)

// Errors of a change to a collection.
var (
	errPatch     = errors.New("malformed app state patch")
	errStateFull = fmt.Errorf("the collection holds %d records already", maxRecords)
)

// appStates holds what each account synchronises among its devices. The zero value is ready.
type appStates struct {
	mu sync.Mutex // guards of
	of map[string]*appState
}

// account returns the state of a number; it is empty until a device of the number logs in.
func (a *appStates) account(number string, persist *persistence) *appState {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.of == nil {
		a.of = map[string]*appState{}
	}
	state, ok := a.of[number]
	if !ok {
		state = newAppState(number, persist)
		a.of[number] = state
	}
	return state
}

// appState is one account's five collections and the key that encrypts them. The key is
// the phone's: a server of the real network never sees it.
type appState struct {
	number    string
	persist   *persistence
	processor *appstate.Processor

	acting sync.Mutex // keeps a key ahead of the first change that needs it; taken before mu

	mu          sync.Mutex // guards everything below
	keyID       []byte     // nil until a device logs in
	key         wastore.AppStateSyncKey
	collections map[appstate.WAPatchName]*collection
	shares      map[uint16]*share
	damaged     map[damage][]byte // patches that one device gets once
}

// damage is a collection as one device sees it.
type damage struct {
	device uint16
	name   appstate.WAPatchName
}

// share tells that a device was given the key. Base is the version of each collection at
// that time, until the device has read up to it: clients take their first read of a
// collection without a word, so it must not contain what comes after.
type share struct {
	Identity []byte                          `json:"identity"`
	Base     map[appstate.WAPatchName]uint64 `json:"base"`
}

// collection is the newest value of each index, and the last changes that led there.
type collection struct {
	version uint64
	hash    [128]byte
	records map[string][]byte // encoded SyncdRecord, by index MAC
	patches [][]byte          // encoded SyncdPatch; the last one made this version
}

func newAppState(number string, persist *persistence) *appState {
	a := &appState{
		number: number, persist: persist, collections: map[appstate.WAPatchName]*collection{},
		shares: map[uint16]*share{}, damaged: map[damage][]byte{},
	}
	for _, name := range appstate.AllPatchNames {
		a.collections[name] = &collection{records: map[string][]byte{}}
	}
	kept := &appStateStore{NoopStore: &wastore.NoopStore{}, state: a}
	a.processor = appstate.NewProcessor(&wastore.Device{AppState: kept, AppStateKeys: kept}, waLog.Noop)
	return a
}

// appStateStore is how the library's processor reads a state. Its caller holds state.mu.
type appStateStore struct {
	*wastore.NoopStore
	state *appState
}

// GetAppStateSyncKey implements the library's interface.
func (s *appStateStore) GetAppStateSyncKey(_ context.Context, id []byte) (*wastore.AppStateSyncKey, error) {
	if string(id) != string(s.state.keyID) {
		return nil, nil
	}
	return &s.state.key, nil
}

// GetAppStateMutationMAC implements the library's interface.
func (s *appStateStore) GetAppStateMutationMAC(_ context.Context, name string, indexMAC []byte) ([]byte, error) {
	raw, ok := s.state.collections[appstate.WAPatchName(name)].records[string(indexMAC)]
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

// begin makes the key and a first entry in each collection: without one a client takes the
// first real change for its initial content. The account's name is among them: clients show
// no presence before they know it. The caller holds mu.
func (a *appState) begin(ctx context.Context, name string) error {
	if a.keyID != nil {
		return nil
	}
	id, data := make([]byte, 6), make([]byte, 32)
	_, _ = rand.Read(id[2:]) // crypto/rand never fails
	_, _ = rand.Read(data)
	a.keyID, a.key = id, wastore.AppStateSyncKey{Data: data, Timestamp: time.Now().UnixMilli()}
	a.saveKey()
	for _, collection := range appstate.AllPatchNames {
		seed := appstate.MutationInfo{
			Index: []string{appstate.IndexSentinel}, Version: 1, Value: &waSyncAction.SyncActionValue{},
		}
		first := appstate.PatchInfo{Type: collection, Mutations: []appstate.MutationInfo{seed}}
		if collection == appstate.WAPatchCriticalBlock && name != "" {
			first.Mutations = append(first.Mutations, appstate.BuildSettingPushName(name).Mutations...)
		}
		if err := a.change(ctx, first); err != nil {
			return err
		}
	}
	return nil
}
