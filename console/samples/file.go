package samples

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"postern/store"
	"postern/store/schema"
)

// The buckets of this package.
const (
	minutes = "sample_minute"
	hours   = "sample_hour"
)

// Buckets returns the buckets of this package.
func Buckets() []schema.Bucket {
	const value = "counters, gauges, instances by state, JSON"
	return []schema.Bucket{
		{Name: minutes, Owner: "console/samples", Key: "Unix time of its begin", Value: value, Append: true, Needs: schema.References(decode, "a minute is missing from the charts")},
		{Name: hours, Owner: "console/samples", Key: "Unix time of its begin", Value: value, Append: true, Needs: schema.References(decode, "an hour is missing from the charts")},
	}
}

// record is a sample in the file. States that no instance has are left out at the end.
type record struct {
	Counts        [4]uint64 `json:"c"`           // sent, received, deliveries, failed
	OldestPending int64     `json:"o,omitempty"` // milliseconds
	FileBytes     int64     `json:"f,omitempty"`
	MemoryBytes   int64     `json:"m,omitempty"`
	Instances     []int32   `json:"s,omitempty"`
}

const keySize = 8

func keyOf(at time.Time) []byte { return store.Key(uint64(max(0, at.Unix()))) } //nolint:gosec // not negative

func decode(key, value []byte) (record, error) {
	var rec record
	if len(key) != keySize {
		return rec, errors.New("the key has another length")
	}
	return rec, json.Unmarshal(value, &rec)
}

func encode(s Sample) record {
	states := s.Instances
	for n := len(states); n > 0 && states[n-1] == 0; n = len(states) {
		states = states[:n-1]
	}
	return record{
		Counts:        [4]uint64{s.Sent, s.Received, s.Deliveries, s.Failed},
		OldestPending: s.OldestPending.Milliseconds(), FileBytes: s.FileBytes, MemoryBytes: s.MemoryBytes, Instances: states,
	}
}

func (rec record) sample(key []byte) Sample {
	return Sample{
		At:     time.Unix(int64(binary.BigEndian.Uint64(key)), 0).UTC(), //nolint:gosec // as it was written
		Counts: Counts{rec.Counts[0], rec.Counts[1], rec.Counts[2], rec.Counts[3]},
		Levels: Levels{
			Instances: rec.Instances, OldestPending: time.Duration(rec.OldestPending) * time.Millisecond,
			FileBytes: rec.FileBytes, MemoryBytes: rec.MemoryBytes,
		},
	}
}

// load reads the samples that are not too old, and the minutes of hours that ended while nothing ran. Those of the
// future stay in the file: the clock may be wrong.
func (r *Recorder) load() (err error) {
	now := r.cfg.Now().UTC().Truncate(Minute)
	if r.hours.rows, err = r.read(&r.hours, r.hours.oldest(now), now.Truncate(Hour)); err != nil {
		return err
	}
	from, summed := r.minutes.oldest(now), r.hours.oldest(now)
	if n := len(r.hours.rows); n > 0 {
		summed = r.hours.rows[n-1].At.Add(Hour)
	}
	if summed.Before(from) {
		from = summed
	}
	if r.minutes.rows, err = r.read(&r.minutes, from, now.Add(time.Second)); err != nil {
		return err
	}
	for _, of := range []*series{&r.minutes, &r.hours} {
		if n := len(of.rows); n > 0 {
			of.saved = of.rows[n-1].At
		}
	}
	r.closeHours(now)
	r.minutes.forget(now)
	r.hours.forget(now)
	r.apart = r.cfg.Store.ClockWentBack()
	return nil
}

// read returns the samples of the file that began at or after a time and before another.
func (r *Recorder) read(of *series, from, before time.Time) (rows []Sample, err error) {
	err = r.cfg.Store.View(func(tx *store.Tx) error {
		rows = nil
		return tx.Scan(of.bucket, store.Range{From: keyOf(from), Before: keyOf(before)}, func(k, v []byte) (bool, error) {
			rec, err := decode(k, v)
			if err != nil {
				return true, tx.Unreadable(of.bucket, k, err)
			}
			rows = append(rows, rec.sample(k))
			return true, nil
		})
	})
	return rows, err
}

// rejoin adds the samples of the file that memory lacks because the clock was behind, once it is right again.
func (r *Recorder) rejoin(minute time.Time) {
	if !r.apart || r.cfg.Store == nil || r.cfg.Store.ClockWentBack() {
		return
	}
	r.apart = false
	for _, of := range []*series{&r.minutes, &r.hours} {
		rows, err := r.read(of, of.oldest(minute), minute.Truncate(of.period))
		if err != nil { // it is tried again
			r.apart = true
			r.cfg.Logger.Warn("the samples from before the clock was set back cannot be read", "error", err)
		}
		of.rows = join(of.rows, rows)
	}
}

// join returns the samples of rows with those of more that began at other times, oldest first.
func join(rows, more []Sample) []Sample {
	byTime := func(a, b Sample) int { return a.At.Compare(b.At) }
	missing := slices.DeleteFunc(more, func(s Sample) bool {
		_, found := slices.BinarySearchFunc(rows, s, byTime)
		return found
	})
	return slices.SortedFunc(slices.Values(slices.Concat(rows, missing)), byTime)
}

// save writes the samples that the file lacks, with the running minute if last is set. A failed commit is
// repeated with the next one.
func (r *Recorder) save(ctx context.Context, last bool) {
	if r.cfg.Store == nil {
		return
	}
	r.mu.Lock()
	news := map[string][]Sample{minutes: r.minutes.unsaved(), hours: r.hours.unsaved()}
	if last {
		news[minutes] = append(news[minutes], r.running)
	}
	r.mu.Unlock()
	err := r.cfg.Store.Update(ctx, func(tx *store.Tx) error {
		for bucket, all := range news {
			for _, s := range all {
				if err := store.PutJSON(tx, bucket, keyOf(s.At), encode(s)); err != nil {
					return err
				}
			}
		}
		if !r.cfg.Store.TrustsClock() {
			return nil
		}
		back := r.cfg.Store.ClockWentBack()
		return errors.Join(r.minutes.tidy(tx, back), r.hours.tidy(tx, back))
	})
	r.mu.Lock()
	defer r.mu.Unlock()
	if err == nil {
		r.minutes.wrote(news[minutes])
		r.hours.wrote(news[hours])
	}
	if err != nil && !r.failing && ctx.Err() == nil {
		r.cfg.Logger.Warn("the samples of GET /admin/samples are not in the data file; they are written when it takes changes again: look at /ready", "error", err)
	}
	r.failing = err != nil
}

// unsaved returns the completed samples that are not in the file.
func (s *series) unsaved() []Sample {
	first, _ := slices.BinarySearchFunc(s.rows, s.saved, func(s Sample, at time.Time) int { return s.At.Compare(at.Add(1)) })
	return slices.Clone(s.rows[first:])
}

// wrote notes that samples are in the file, unless the clock was set back since.
func (s *series) wrote(all []Sample) {
	if n := len(all); n > 0 && len(s.rows) > 0 && !all[n-1].At.After(s.rows[len(s.rows)-1].At) {
		s.saved = all[n-1].At
	}
}

// tidied is how many samples of a period a commit removes at most.
const tidied = 200

// tidy removes samples that are too old, and those of the future, which another clock made, unless this one went
// back: then it may be the one that is wrong.
func (s *series) tidy(tx *store.Tx, back bool) error {
	ranges := []store.Range{{Before: keyOf(s.oldest(tx.Now().Truncate(Minute)))}}
	if !back {
		ranges = append(ranges, store.Range{From: keyOf(tx.Now().Add(time.Second))})
	}
	var gone [][]byte
	for _, in := range ranges {
		if err := tx.Walk(s.bucket, in, func(key []byte) (bool, error) {
			gone = append(gone, slices.Clone(key))
			return len(gone) < tidied, nil
		}); err != nil {
			return err
		}
	}
	for _, key := range gone {
		if err := tx.Delete(s.bucket, key); err != nil {
			return err
		}
	}
	return nil
}
