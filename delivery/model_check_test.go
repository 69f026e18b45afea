package delivery

import (
	"cmp"
	"encoding/binary"
	"slices"
	"time"

	"postern/store"
)

// check compares the whole file with the model.
func (m *model) check() {
	m.t.Helper()
	m.view(func(tx *store.Tx) error {
		m.checkRecords(tx)
		m.checkIndexes(tx)
		m.checkBacklogs(tx)
		m.checkExpiries(tx)
		return nil
	})
	m.checkEvents(false)
}

func (m *model) checkRecords(tx *store.Tx) {
	seen := 0
	err := tx.Scan(records, store.Range{}, func(k, v []byte) (bool, error) {
		got, err := decodeRecord(binary.BigEndian.Uint64(k), v)
		seen++
		want := m.records[got.ID]
		switch {
		case err != nil || want == nil:
			m.t.Errorf("record %d is in the file, %v", got.ID, err)
		case got.State != want.state || got.Former != want.former || got.Attempts != want.attempts || got.Lane != want.lane || got.Instance != want.instance:
			m.t.Errorf("record %d is %+v, want %+v", got.ID, got, want)
		case got.State == Pending && (got.Line != 0) != (want.line != ""):
			m.t.Errorf("record %d has line %d, want %q", got.ID, got.Line, want.line)
		}
		return true, nil
	})
	if err != nil || seen != len(m.records) {
		m.t.Errorf("%d records in the file, want %d, %v", seen, len(m.records), err)
	}
	rows, _ := tx.Count(attempts, nil)
	want := 0
	for _, r := range m.records {
		want += max(0, r.attempts-1)
		// A cancelled record keeps the result of its last attempt, beside the reason.
		if r.attempts > 0 && r.cancelled {
			want++
		}
	}
	if rows != want && !m.damaged {
		m.t.Errorf("%d earlier attempts in the file, want %d", rows, want)
	}
}

// checkIndexes compares all lanes with the deliveries that may be sent.
func (m *model) checkIndexes(tx *store.Tx) {
	byLane := map[Lane][]Due{}
	globals, inLines := 0, 0
	for _, r := range m.pending(true) {
		byLane[r.lane] = append(byLane[r.lane], Due{At: r.due, Record: r.id})
		if r.lane == GlobalLane {
			globals++
		}
	}
	for _, r := range m.pending(false) {
		if r.line != "" {
			inLines++
		}
	}
	total := 0
	for lane, want := range byLane {
		total += len(want)
		got, err := PendingAfter(tx, lane, 0, 0)
		if err != nil || !slices.EqualFunc(got, want, func(a, b Due) bool { return a.Record == b.Record }) {
			m.t.Errorf("pending of %+v are %v, want %v, %v", lane, got, want, err)
		}
		slices.SortFunc(want, func(a, b Due) int { return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.Record, b.Record)) })
		got, err = DueAfter(tx, lane, Due{}, 0)
		if err != nil || !slices.EqualFunc(got, want, func(a, b Due) bool { return a.Record == b.Record && a.At.Equal(b.At) }) {
			m.t.Errorf("due of %+v are %v, want %v, %v", lane, got, want, err)
		}
		m.checkPaging(tx, lane, got)
	}
	for bucket, want := range map[string]int{dues: total, heads: total + globals, lines: inLines} {
		if rows, err := tx.Count(bucket, nil); rows != want || err != nil {
			m.t.Errorf("%s has %d rows, want %d, %v", bucket, rows, want, err)
		}
	}
}

// checkPaging: a reader that continues from the last row sees all rows once.
func (m *model) checkPaging(tx *store.Tx, lane Lane, all []Due) {
	var paged []Due
	var after Due
	for {
		page, err := DueAfter(tx, lane, after, 3)
		if err != nil || len(page) == 0 {
			break
		}
		paged, after = append(paged, page...), page[len(page)-1]
	}
	if !slices.Equal(paged, all) {
		m.t.Errorf("paged are %v, want %v", paged, all)
	}
}

func (m *model) checkBacklogs(tx *store.Tx) {
	want := map[Lane]Backlog{}
	var all Backlog
	for _, r := range m.pending(false) {
		b := want[r.lane]
		want[r.lane] = Backlog{Lane: r.lane, Pending: b.Pending + 1, Bytes: b.Bytes + int64(r.bytes)}
		all.Pending, all.Bytes = all.Pending+1, all.Bytes+int64(r.bytes)
	}
	got, err := Backlogs(tx)
	for _, b := range got {
		if b != want[b.Lane] {
			m.t.Errorf("backlog %+v, want %+v", b, want[b.Lane])
		}
	}
	sum, errSum := readBacklog(tx, allLanes)
	if len(got) != len(want) || sum != all || err != nil || errSum != nil {
		m.t.Errorf("%d backlogs, %+v together, want %d, %+v; %v, %v", len(got), sum, len(want), all, err, errSum)
	}
}

// checkExpiries: each pending delivery has a row that will end it.
func (m *model) checkExpiries(tx *store.Tx) {
	rows, err := firstExpiries(tx, 1<<30)
	if err != nil {
		m.t.Error(err)
	}
	ends := map[expiry]bool{}
	for _, row := range rows {
		ends[row] = true
	}
	for _, r := range m.pending(false) {
		if !ends[expiry{r.expires, expiryEvent, r.event}] && !ends[expiry{r.expires, expiryRecord, r.id}] {
			m.t.Errorf("record %d has no alarm: %+v", r.id, r)
		}
	}
}

// checkEvents: needed events exist and, after Expire, no others.
func (m *model) checkEvents(exact bool) {
	m.t.Helper()
	now := time.Now()
	m.view(func(tx *store.Tx) error {
		byInstance := map[int64][]uint64{}
		var gone []uint64
		for seq, e := range m.events {
			has := tx.Has(events, store.Key(seq))
			needed := now.Before(e.expires) || m.wanted(e)
			if needed && !has || exact && has && !needed {
				m.t.Errorf("event %d of %+v is there: %v, needed: %v", seq, e, has, needed)
			}
			if !has {
				gone = append(gone, seq)
			} else if e.sequence != 0 && now.Before(e.expires) {
				byInstance[e.instance] = append(byInstance[e.instance], e.sequence)
			}
		}
		for _, seq := range gone {
			delete(m.events, seq)
		}
		if rows, err := tx.Count(events, nil); rows != len(m.events) && !m.damaged || err != nil {
			m.t.Errorf("%d events in the file, want %d, %v", rows, len(m.events), err)
		}
		for _, instance := range m.instances {
			m.checkNumbers(tx, instance, byInstance[instance])
		}
		return nil
	})
}

func (m *model) wanted(e *modelEvent) bool {
	for _, id := range e.records {
		r := m.records[id]
		if r != nil && (r.state == Pending || m.cfg.Bodies == BodiesAll || m.cfg.Bodies == BodiesFailed && r.state != Delivered) {
			return true
		}
	}
	return false
}

func (m *model) checkNumbers(tx *store.Tx, instance int64, want []uint64) {
	slices.Sort(want)
	all, err := PositionAfter(tx, instance, 0, 0)
	var got []uint64
	for _, e := range all {
		got = append(got, e.Sequence)
	}
	last, errNewest := NewestOf(tx, instance)
	if m.damaged && last > m.sequences[instance] {
		m.sequences[instance] = last
	}
	if !slices.Equal(got, want) || last != m.sequences[instance] || err != nil || errNewest != nil {
		m.t.Errorf("instance %d has %v, newest %d; want %v, newest %d; %v %v",
			instance, got, last, want, m.sequences[instance], err, errNewest)
	}
}
