package appstate

import (
	"context"
	"errors"
	"slices"
	"testing"

	wa "go.mau.fi/whatsmeow/appstate"
	"go.mau.fi/whatsmeow/proto/waServerSync"
	"go.mau.fi/whatsmeow/types"
	"google.golang.org/protobuf/proto"
)

var someChat = types.NewJID("5511922222222", types.DefaultUserServer)

func TestMalformedPatchesChangeNothing(t *testing.T) {
	a := New(nil).Of("5511911111111")
	if err := a.Begin(context.Background(), ""); err != nil {
		t.Fatal(err)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	good, err := a.encode(context.Background(), wa.BuildPin(someChat, true))
	if err != nil {
		t.Fatal(err)
	}
	short := &waServerSync.SyncdPatch{Mutations: []*waServerSync.SyncdMutation{{
		Record: &waServerSync.SyncdRecord{Index: &waServerSync.SyncdIndex{Blob: make([]byte, 32)}, Value: &waServerSync.SyncdValue{Blob: []byte{1}}},
	}}}
	raw, err := proto.Marshal(short)
	if err != nil {
		t.Fatal(err)
	}
	flipped := slices.Clone(good)
	flipped[len(flipped)/2] ^= 1
	for name, bad := range map[string][]byte{"empty": nil, "noise": {1, 2, 3}, "short value": raw, "flipped": flipped, "large": make([]byte, maxPatchBytes+1)} {
		if _, err := a.apply(context.Background(), wa.WAPatchRegularLow, bad); !errors.Is(err, ErrPatch) {
			t.Errorf("%s: error %v", name, err)
		}
	}
	if c := a.collections[wa.WAPatchRegularLow]; c.version != 1 || len(c.records) != 1 || len(c.patches) != 1 {
		t.Errorf("the collection changed: version %d", c.version)
	}
	if _, err := a.apply(context.Background(), wa.WAPatchRegularLow, good); err != nil {
		t.Errorf("the good one: %v", err)
	}
}

func TestCollectionKeepsLastPatchesAndAllRecords(t *testing.T) {
	a := New(nil).Of("5511911111111")
	if err := a.Begin(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	for i := range maxPatches + 50 {
		if _, err := a.Change(t.Context(), wa.BuildPin(someChat, i%2 == 0), nil); err != nil {
			t.Fatal(err)
		}
	}
	c := a.collections[wa.WAPatchRegularLow]
	if len(c.patches) != maxPatches || len(c.records) != 2 || c.version != maxPatches+51 {
		t.Errorf("%d patches and %d records are kept at version %d", len(c.patches), len(c.records), c.version)
	}
	if answer, err := a.Give(1, wa.WAPatchRegularLow, 0); err != nil || answer.Snapshot == nil || answer.Version != c.version {
		t.Errorf("who starts again gets %d patches to version %d, %v", len(answer.Patches), answer.Version, err)
	}
	if answer, err := a.Give(1, wa.WAPatchRegularLow, c.version-1); err != nil || len(answer.Patches) != 1 {
		t.Errorf("who is one behind gets %d patches, %v", len(answer.Patches), err)
	}
}
