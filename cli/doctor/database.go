package doctor

import (
	"context"
	"errors"
	"strings"
	"time"

	"postern/cluster"
	"postern/cluster/postgres"
)

// database examines the server of store.url as a start does, and changes nothing.
func (r *examination) database(ctx context.Context) []Finding {
	const check = "database"
	if r.Config.Store.URL == "" {
		return nil
	}
	db, err := postgres.Open(r.Config.Store.URL, postgres.Options{ReadOnly: true})
	if err != nil {
		return one(check, Fault, "correct store.url", "store.url: %v", err)
	}
	defer db.Close()
	ctx, cancel := limited(ctx)
	defer cancel()
	server, err := db.Check(ctx)
	now := time.Now()
	switch {
	case errors.Is(err, cluster.ErrUnfit):
		return one(check, Fault, "change that on the server; docs/cluster.md says what it needs", "%v", err)
	case err != nil:
		return one(check, Fault, "see the log of the server; each start waits for it", "%v", err)
	}
	all := one(check, OK, "", "PostgreSQL %s at %s can hold the cell, %.1f ms away", server.Version, server.Primary, float64(server.RoundTrip.Microseconds())/1000)
	return append(append(all, r.copies(server)...), apart(now.Sub(server.Now))...)
}

// copies examines whether commits wait for a second copy.
func (r *examination) copies(server cluster.Server) []Finding {
	const check, advice = "second copy", "configure a synchronous standby of the database: docs/cluster.md"
	switch {
	case len(server.Synchronous) > 0:
		return one(check, OK, "", "commits wait for %s", strings.Join(server.Synchronous, ", "))
	case r.Config.Store.AcceptLoss:
		return one(check, Warning, advice, "synchronous_standby_names is empty, and store.accept_loss accepts that the loss of the server loses what was answered")
	}
	return one(check, Fault, advice+"; or set store.accept_loss", "synchronous_standby_names is empty: no cell is made, and changes of an existing one wait")
}

// apart examines this machine's clock beside that of the server, which the request took less
// than a second to read.
func apart(off time.Duration) []Finding {
	const check = "database clock"
	off = off.Round(time.Second)
	if off.Abs() >= clockOff {
		return one(check, Warning, "synchronise both clocks by NTP (timedatectl)", "this machine's clock and that of the database are %v apart", off.Abs())
	}
	return one(check, OK, "", "the two clocks are %v apart", off.Abs())
}
