package device

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	wastore "go.mau.fi/whatsmeow/store"
	"go.mau.fi/whatsmeow/types"
)

func TestRequestLimitPerHourAndInstance(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFile(t)
		f.pair(t, 1, types.NewJID("1", types.DefaultUserServer))
		f.pair(t, 2, types.NewJID("2", types.DefaultUserServer))
		request := func(instance int64, want bool) {
			t.Helper()
			got, err := f.container.Request(t.Context(), instance, "copies", 3, time.Hour)
			if check(t, err); got != want {
				t.Errorf("allowed %v at %v", got, time.Now())
			}
		}
		request(1, true)
		time.Sleep(30 * time.Minute)
		request(1, true)
		request(1, true)
		request(1, false)
		request(2, true)
		if other, err := f.container.Request(t.Context(), 1, "state", 3, time.Hour); !other || err != nil {
			t.Errorf("another kind: %v, %v", other, err)
		}
		f.reopen(t)
		request(1, false)
		time.Sleep(30 * time.Minute) // the first is an hour ago
		request(1, true)
		request(1, false)
		time.Sleep(30*time.Minute - time.Millisecond)
		request(1, false)
		time.Sleep(time.Millisecond)
		request(1, true)
		request(1, true)
		request(1, false)
	})
}

func TestRequestOfTheFutureCountsFromNow(t *testing.T) {
	now := time.UnixMilli(1_700_000_000_000)
	if got := recentRequests([]time.Time{now.Add(time.Hour * 1000)}, now, time.Hour); len(got) != 1 || !got[0].Equal(now) {
		t.Errorf("read %v", got)
	}
}

func TestWithdrawnRequestDoesNotCount(t *testing.T) {
	f := newFile(t)
	f.pair(t, 1, types.NewJID("1", types.DefaultUserServer))
	for range 3 {
		if allowed, err := f.container.Request(t.Context(), 1, "state", 1, time.Hour); !allowed || err != nil {
			t.Fatalf("allowed %v, %v", allowed, err)
		}
		check(t, f.container.TakeBack(t.Context(), 1, "state"))
	}
	check(t, f.container.TakeBack(t.Context(), 1, "state"))
}

func TestAnInstanceWithoutADeviceMayRequestNothing(t *testing.T) {
	f := newFile(t)
	if allowed, err := f.container.Request(t.Context(), 1, "copies", 3, time.Hour); allowed || !errors.Is(err, wastore.ErrDeviceDeleted) {
		t.Errorf("allowed %v, %v", allowed, err)
	}
}
