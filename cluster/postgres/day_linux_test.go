package postgres

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"postern/cluster"
	"postern/cluster/postgres/pgtest"
	"postern/internal/nightly"
	"postern/store"
)

// life makes the changes of accounts that receive messages: of each message one change of a
// session and a counter, one with the message and its index, and one with an event that is
// delivered some changes later. Messages are kept for a while.
type life struct {
	random   *rand.Rand
	messages uint64
}

const (
	lifeSessions = 20_000
	lifeMessages = 30_000
	lifeWaiting  = 50
)

func (l *life) bytes(from, to int) []byte {
	b := make([]byte, from+l.random.IntN(to-from))
	for i := 0; i+8 <= len(b); i += 8 {
		binary.LittleEndian.PutUint64(b[i:], l.random.Uint64())
	}
	return b
}

func lifeKey(n uint64) []byte {
	return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(nil, n%100), n)
}

func lifeIndex(n uint64) []byte {
	return fmt.Appendf(nil, "%03d/%013d@s.whatsapp.net/%016x", n%100, n*n%7919, n)
}

// session is small but for one in twenty, whose value does not fit into a page with others.
func (l *life) session(n int) store.Row {
	from, to := 400, 1400
	if n%20 == 0 {
		from, to = 3000, 6000
	}
	return store.Row{Bucket: "sessions", Key: fmt.Appendf(nil, "%03d/%013d:1", n%100, n*7919), Value: l.bytes(from, to)}
}

func (l *life) message(n uint64) []store.Row {
	return []store.Row{{Bucket: "messages", Key: lifeKey(n), Value: l.bytes(300, 900)}, {Bucket: "messages_by_chat", Key: lifeIndex(n), Value: []byte{}}}
}

// change returns the rows of the n-th change.
func (l *life) change(n uint64) []store.Row {
	switch n % 3 {
	case 0:
		s := l.random.IntN(lifeSessions)
		return []store.Row{l.session(s), {Bucket: "counters", Key: lifeKey(uint64(s % 100)), Value: l.bytes(16, 32)}}
	case 1:
		l.messages++
		old := l.messages - lifeMessages
		return append(l.message(l.messages), store.Row{Bucket: "messages", Key: lifeKey(old)}, store.Row{Bucket: "messages_by_chat", Key: lifeIndex(old)})
	}
	return []store.Row{{Bucket: "outbox", Key: lifeKey(n / 3), Value: l.bytes(700, 2500)}, {Bucket: "outbox", Key: lifeKey(n/3 - lifeWaiting)}}
}

// fill makes the rows that are there at the beginning.
func (l *life) fill(put func([]store.Row)) {
	var rows []store.Row
	for n := range lifeSessions {
		rows = append(rows, l.session(n))
	}
	put(rows)
	for rows = nil; l.messages < lifeMessages; {
		l.messages++
		rows = append(rows, l.message(l.messages)...)
	}
	put(rows)
}

// vacuumSQL returns the tables that autovacuum would choose now, of those with its settings.
const vacuumSQL = `with setting as (
	select c.oid, c.reltuples, max(o.option_value) filter (where o.option_name = 'autovacuum_vacuum_threshold') as threshold,
		max(o.option_value) filter (where o.option_name = 'autovacuum_vacuum_scale_factor') as scale
	from pg_class c, pg_options_to_table(c.reloptions) o group by c.oid, c.reltuples
)
select s.relid::regclass from pg_stat_all_tables s join setting on setting.oid = s.relid
where s.schemaname in ('postern', 'pg_toast') and n_dead_tup > coalesce(threshold::float, 50) + coalesce(scale::float, 0.2) * greatest(reltuples, 0)`

// sizes are those of a table, in bytes.
type sizes struct{ heap, index, live float64 }

// measure returns the size of a table with its TOAST, of its indexes, and of its live rows.
func measure(t testing.TB, s *pgtest.Server, database, table string) (z sizes) {
	t.Helper()
	out := s.In(t, database, fmt.Sprintf(`select pg_table_size('postern.%[1]s'), pg_indexes_size('postern.%[1]s'), sum(pg_column_size(r) + 4) from postern.%[1]s r`, table))
	if _, err := fmt.Sscanf(strings.ReplaceAll(out, "|", " "), "%g %g %g", &z.heap, &z.index, &z.live); err != nil {
		t.Fatal(out, err)
	}
	return z
}

// TestDayOfCommitsLeavesTablesSmall commits as often as an owner with a hundred commits a second
// does, and does for each second of these what the owner does then, and for each minute what
// autovacuum does then. Nothing waits for the clock.
func TestDayOfCommitsLeavesTablesSmall(t *testing.T) {
	const most, rate = 1.5, 100
	if testing.Short() {
		t.Skip("makes thousands of commits")
	}
	seconds := nightly.Or(2*60, 24*60*60)
	server := pgtest.Start(t, unsynced, "autovacuum = off", "shared_buffers = 256MB", "max_wal_size = 2GB")
	database := server.Database(t)
	d, err := Open(pgtest.URL(database, server), Options{withoutSync: true, Noticed: time.Minute}) // the machine may be busy
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.Close)
	if _, err := d.Check(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := d.Create(t.Context(), "main", "id"); err != nil {
		t.Fatal(err)
	}
	l := &life{random: rand.New(rand.NewPCG(1, 2))} //nolint:gosec // the same in each run
	l.fill(func(rows []store.Row) {
		if err := d.Fill(t.Context(), "main", rows); err != nil {
			t.Fatal(err)
		}
	})
	o := own(t, d)
	version, pruned, worst, began := o.version, o.version, 0.0, time.Now()
	commit := func(rows []store.Row) {
		version++
		o.must(d.Commit(t.Context(), o.g, store.Change{Version: version, Stamp: time.Now(), Rows: rows}))
	}
	for second := 1; second <= seconds; second++ {
		for range rate {
			commit(l.change(version))
		}
		if version >= pruned+cluster.PruneEvery {
			_, err := d.Prune(t.Context(), "main", cluster.KeepChanges)
			o.must(err)
			pruned = version
		}
		if second%60 == 0 {
			for table := range strings.FieldsSeq(server.In(t, database, vacuumSQL)) {
				server.In(t, database, "vacuum "+table)
			}
		}
		if second%max(60, seconds/24/60*60) == 0 {
			kv, log := measure(t, server, database, "kv"), measure(t, server, database, "change_log")
			worst = max(worst, (kv.heap+log.heap)/(kv.live+log.live))
			t.Logf("%3d min, %4.0f s: kv %.1f + %.1f MB, live %.1f, %.2f; change_log %.1f + %.1f MB, live %.1f, %.2f; both %.2f, with indexes %.2f", second/60, time.Since(began).Seconds(),
				kv.heap/1e6, kv.index/1e6, kv.live/1e6, kv.heap/kv.live, log.heap/1e6, log.index/1e6, log.live/1e6, log.heap/log.live, (kv.heap+log.heap)/(kv.live+log.live), (kv.heap+kv.index+log.heap+log.index)/(kv.live+log.live))
		}
	}
	if worst > most {
		t.Errorf("the tables have %.2f x the size of their live rows, want at most %.1f", worst, most)
	}
}
