package whatsapp

import (
	"testing"
	"time"

	"go.mau.fi/whatsmeow/proto/waCompanionReg"
	"go.mau.fi/whatsmeow/proto/waHistorySync"
	wastore "go.mau.fi/whatsmeow/store"
	"go.mau.fi/whatsmeow/types"
	"google.golang.org/protobuf/proto"

	"postern/store"
	"postern/whatsapp/device"
)

func TestEachInstanceAsksForItsOwnHistory(t *testing.T) {
	file, err := store.Open(store.Options{Path: t.TempDir() + "/d.db", Buckets: device.Buckets()})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	devices, err := device.Open(file, nil)
	if err != nil {
		t.Fatal(err)
	}
	wishes := map[int64]HistoryWish{1: {Days: 30}, 2: {}, 3: {Days: 365, Groups: true}}
	conn, err := New(Config{Devices: devices, History: func(id int64) HistoryWish { return wishes[id] }})
	if err != nil {
		t.Fatal(err)
	}
	before := proto.Clone(wastore.DeviceProps).(*waCompanionReg.DeviceProps)
	for id, wish := range wishes {
		s, err := conn.Open(t.Context(), id, (&journal{}).report)
		if err != nil {
			t.Fatal(err)
		}
		var props waCompanionReg.DeviceProps
		payload := s.introduce(devices.New(id))
		if err := proto.Unmarshal(payload.GetDevicePairingData().GetDeviceProps(), &props); err != nil {
			t.Fatal(err)
		}
		if props.GetRequireFullSync() != (wish.Days > 0) || int(props.GetHistorySyncConfig().GetFullSyncDaysLimit()) != wish.Days {
			t.Errorf("instance %d: full %t of %d days", id, props.GetRequireFullSync(), props.GetHistorySyncConfig().GetFullSyncDaysLimit())
		}
		// All else is what the library says.
		props.RequireFullSync = before.RequireFullSync
		props.HistorySyncConfig.FullSyncDaysLimit = before.HistorySyncConfig.FullSyncDaysLimit
		if !proto.Equal(&props, before) {
			t.Errorf("instance %d says %v of itself", id, &props)
		}
	}
	if !proto.Equal(wastore.DeviceProps, before) {
		t.Error("the settings of the process were changed")
	}
}

func TestWhichHistoryIsStored(t *testing.T) {
	now := time.Now()
	person, group := types.NewJID("491", types.DefaultUserServer), types.NewJID("12", types.GroupServer)
	for _, c := range []struct {
		wish    HistoryWish
		kind    waHistorySync.HistorySync_HistorySyncType
		any     bool
		days    int // back, -1: without an end
		inGroup bool
	}{
		{HistoryWish{}, waHistorySync.HistorySync_RECENT, false, 0, false},
		{HistoryWish{Days: 7}, waHistorySync.HistorySync_RECENT, true, 7, false},
		{HistoryWish{Days: 7, Groups: true}, waHistorySync.HistorySync_INITIAL_BOOTSTRAP, true, 7, true},
		{HistoryWish{Days: 365}, waHistorySync.HistorySync_FULL, true, 365, false},
		{HistoryWish{Days: 365}, waHistorySync.HistorySync_PUSH_NAME, false, -1, false},
		{HistoryWish{}, waHistorySync.HistorySync_ON_DEMAND, true, -1, true},
	} {
		since, any := c.wish.wants(c.kind, now)
		want := time.Time{}
		if c.days >= 0 {
			want = now.AddDate(0, 0, -c.days)
		}
		if any != c.any || !since.Equal(want) || !c.wish.chat(c.kind, person) || c.wish.chat(c.kind, group) != c.inGroup {
			t.Errorf("%+v of %s: %t since %v, groups %t", c.wish, c.kind, any, since, c.wish.chat(c.kind, group))
		}
		if c.wish.chat(c.kind, types.StatusBroadcastJID) {
			t.Error("a status is a chat")
		}
	}
}
