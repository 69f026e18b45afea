//go:build linux

package postgres

import (
	"fmt"
	"testing"

	"postern/cluster/postgres/pgtest"
	"postern/store"
)

// BenchmarkCommit commits changes of records that exist, of 200 bytes: one row in a change, or
// 64, with a synchronous copy on the same machine and without.
func BenchmarkCommit(b *testing.B) {
	for _, copies := range []string{"one", "two"} {
		server := pgtest.Start(b)
		if copies == "two" {
			server.AddStandby(b, "second")
		}
		for _, rows := range []int{1, 64} {
			b.Run(fmt.Sprintf("copies=%s/rows=%d", copies, rows), func(b *testing.B) {
				o := own(b, open(b, pgtest.URL(server.Database(b), server)))
				value := make([]byte, 200)
				n := 0
				for b.Loop() {
					c := store.Change{Version: o.version + 1}
					for range rows {
						n++
						c.Rows = append(c.Rows, store.Row{Bucket: "messages", Key: fmt.Appendf(nil, "%08d", n%2000), Value: value})
					}
					o.must(o.Commit(o.ctx, o.g, c))
					o.version++
				}
				b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "commits/s")
			})
		}
	}
}

// BenchmarkRows fills a cell and reads it: rows of 200 bytes.
func BenchmarkRows(b *testing.B) {
	const n, step = 400_000, 20_000
	server := pgtest.Start(b)
	d := open(b, pgtest.URL(server.Database(b), server))
	if _, err := d.Check(b.Context()); err != nil {
		b.Fatal(err)
	}
	if err := d.Create(b.Context(), "main", "id"); err != nil {
		b.Fatal(err)
	}
	b.Run("fill", func(b *testing.B) {
		filled := 0
		for b.Loop() {
			rows := make([]store.Row, step)
			for i := range rows {
				rows[i] = store.Row{Bucket: "messages", Key: fmt.Appendf(nil, "%08d", filled+i), Value: make([]byte, 200)}
			}
			if err := d.Fill(b.Context(), "main", rows); err != nil {
				b.Fatal(err)
			}
			filled += step
		}
		b.ReportMetric(float64(b.N*step)/b.Elapsed().Seconds(), "rows/s")
	})
	if err := d.Drop(b.Context(), "main"); err != nil {
		b.Fatal(err)
	}
	if err := d.Create(b.Context(), "main", "id"); err != nil {
		b.Fatal(err)
	}
	for from := 0; from < n; from += step {
		rows := make([]store.Row, step)
		for i := range rows {
			rows[i] = store.Row{Bucket: "messages", Key: fmt.Appendf(nil, "%08d", from+i), Value: make([]byte, 200)}
		}
		if err := d.Fill(b.Context(), "main", rows); err != nil {
			b.Fatal(err)
		}
	}
	b.Run("load", func(b *testing.B) {
		for b.Loop() {
			read := 0
			if err := d.Rows(b.Context(), "main", func(store.Row) error { read++; return nil }); err != nil || read != n {
				b.Fatal(read, err)
			}
		}
		b.ReportMetric(float64(b.N*n)/b.Elapsed().Seconds(), "rows/s")
	})
}
