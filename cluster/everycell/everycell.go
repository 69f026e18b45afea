//go:build everycell

package everycell

import (
	"context"
	"fmt"
	"os"
	"sync"
	"sync/atomic"

	"postern/cluster"
	"postern/cluster/postgres"
	"postern/store"
)

// URL names the variable with the address of the database.
const URL = "POSTERN_TEST_EVERYCELL_URL"

func init() {
	db, err := postgres.Open(os.Getenv(URL), postgres.Options{})
	if err != nil {
		panic(err)
	}
	d := &database{db: db, calls: make(chan func()), done: make(chan struct{})}
	go func() {
		for call := range d.calls {
			call()
			d.done <- struct{}{}
		}
	}()
	store.EveryCellBehind = d.cell
}

// database is used by one goroutine, since a test in which time is simulated cannot hold a
// connection.
type database struct {
	db    *postgres.Database
	made  atomic.Int64
	mu    sync.Mutex
	calls chan func()
	done  chan struct{}
}

func (d *database) do(call func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.calls <- call
	<-d.done
}

// cell is one cell of the database. It implements store.CellBehind.
type cell struct {
	d *database
	g cluster.Grant
}

// cell makes a cell that this process owns for ever.
func (d *database) cell() (store.CellBehind, error) {
	c := &cell{d: d}
	var err error
	name := fmt.Sprintf("%d-%d", os.Getpid(), d.made.Add(1))
	d.do(func() {
		ctx := context.Background()
		if err = d.db.Create(ctx, name, "of a test"); err != nil {
			return
		}
		var seen cluster.Cell
		if seen, _, err = d.db.Look(ctx, name); err == nil {
			c.g, err = d.db.Acquire(ctx, name, cluster.Member{Name: "test"}, seen)
		}
	})
	return c, err
}

// Commit implements [store.CellBehind].
func (c *cell) Commit(change store.Change) (err error) {
	c.d.do(func() { err = c.d.db.Commit(context.Background(), c.g, change) })
	return err
}

// Rows implements [store.CellBehind].
func (c *cell) Rows() (rows []store.Row, err error) {
	c.d.do(func() {
		err = c.d.db.Rows(context.Background(), c.g.Cell, func(r store.Row) error {
			rows = append(rows, r)
			return nil
		})
	})
	return rows, err
}
