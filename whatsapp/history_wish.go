package whatsapp

import (
	"time"

	"go.mau.fi/whatsmeow/proto/waCompanionReg"
	"go.mau.fi/whatsmeow/proto/waHistorySync"
	"go.mau.fi/whatsmeow/proto/waWa6"
	"go.mau.fi/whatsmeow/types"
	"google.golang.org/protobuf/proto"
)

// HistoryWish is how much history from before its pairing an instance wants.
type HistoryWish struct {
	Days   int // 0: nothing
	Groups bool
}

// askForHistory makes the phone send the complete history of some days after the
// pairing. The library's settings for that are process-wide, so the payload of each
// registration is changed instead.
func askForHistory(payload *waWa6.ClientPayload, wish HistoryWish) error {
	data := payload.GetDevicePairingData()
	if data == nil || wish.Days == 0 {
		return nil
	}
	var props waCompanionReg.DeviceProps
	if err := proto.Unmarshal(data.GetDeviceProps(), &props); err != nil {
		return err
	}
	if props.HistorySyncConfig == nil {
		props.HistorySyncConfig = &waCompanionReg.DeviceProps_HistorySyncConfig{}
	}
	props.RequireFullSync = new(true)
	props.HistorySyncConfig.FullSyncDaysLimit = new(uint32(wish.Days)) //nolint:gosec // a number of days
	changed, err := proto.Marshal(&props)
	if err == nil {
		data.DeviceProps = changed
	}
	return err
}

// wants reports whether messages of such a piece are stored, and since when. Everything
// that a call requested is stored.
func (w HistoryWish) wants(kind waHistorySync.HistorySync_HistorySyncType, now time.Time) (since time.Time, any bool) {
	switch kind {
	case waHistorySync.HistorySync_ON_DEMAND:
		return time.Time{}, true
	case waHistorySync.HistorySync_INITIAL_BOOTSTRAP, waHistorySync.HistorySync_RECENT, waHistorySync.HistorySync_FULL:
		return now.AddDate(0, 0, -w.Days), w.Days > 0
	default:
		return time.Time{}, false
	}
}

// chat reports whether messages of a chat are stored.
func (w HistoryWish) chat(kind waHistorySync.HistorySync_HistorySyncType, chat types.JID) bool {
	switch chat.Server {
	case types.DefaultUserServer, types.HiddenUserServer:
		return true
	case types.GroupServer:
		return w.Groups || kind == waHistorySync.HistorySync_ON_DEMAND
	default:
		return false
	}
}
