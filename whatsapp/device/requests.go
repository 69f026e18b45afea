package device

import (
	"context"
	"encoding/binary"
	"fmt"
	"time"

	wastore "go.mau.fi/whatsmeow/store"

	"postern/store"
)

func requestsKey(kind string) []byte { return store.Key(byte('A'), kind) }

// Request records that a paired device sends a request to its phone, and returns true,
// unless limit requests of that kind were made within the last period. The records
// survive a restart. For an instance without a device it returns the library's
// ErrDeviceDeleted.
func (c *Container) Request(ctx context.Context, instance int64, kind string, limit int, period time.Duration) (allowed bool, err error) {
	err = c.changeRequests(ctx, instance, kind, func(times []time.Time, now time.Time) []time.Time {
		recent := recentRequests(times, now, period)
		if allowed = len(recent) < limit; allowed {
			recent = append(recent, now)
		}
		return recent
	})
	return allowed && err == nil, err
}

// TakeBack removes the last request of a kind, which was not sent.
func (c *Container) TakeBack(ctx context.Context, instance int64, kind string) error {
	return c.changeRequests(ctx, instance, kind, func(times []time.Time, _ time.Time) []time.Time {
		return times[:max(0, len(times)-1)]
	})
}

// changeRequests replaces the times of the requests of a kind by the result of change,
// which may run more than once.
func (c *Container) changeRequests(ctx context.Context, instance int64, kind string, change func(times []time.Time, now time.Time) []time.Time) error {
	err := c.store.Update(ctx, func(tx *store.Tx) error {
		if !tx.Has(deviceBucket, recordKey(instance)) {
			return wastore.ErrDeviceDeleted
		}
		x := direct{tx, instance}
		raw, err := x.get(requestsKey(kind))
		if err != nil {
			return err
		}
		var times []time.Time
		for ; len(raw) >= 8; raw = raw[8:] {
			times = append(times, time.UnixMilli(int64(binary.BigEndian.Uint64(raw)))) //nolint:gosec // as written
		}
		var next []byte
		for _, at := range change(times, tx.Now()) {
			next = binary.BigEndian.AppendUint64(next, uint64(at.UnixMilli())) //nolint:gosec // a time since 1970
		}
		return x.put(requestsKey(kind), next)
	})
	if err != nil {
		return fmt.Errorf("record a request of instance %d: %w", instance, err)
	}
	return nil
}

// recentRequests returns the requests that still count. One in the future, after the
// clock was set back, counts from now.
func recentRequests(times []time.Time, now time.Time, period time.Duration) (recent []time.Time) {
	for _, at := range times {
		if at.After(now) {
			at = now
		}
		if now.Sub(at) < period {
			recent = append(recent, at)
		}
	}
	return recent
}
