package batch

import (
	"errors"
	"slices"

	"github.com/google/uuid"

	"postern/batch/paging"
	"postern/batch/record"
	"postern/batch/table"
	"postern/store"
)

const (
	// specCost is the cost of reading a batch's own record, relative to a row of an index.
	specCost = 10
	// maxCounted bounds how many batches are counted while numbers are not known.
	maxCounted = 100_000
)

// batchList is a list of batches.
type batchList struct {
	name  string
	owner *uuid.UUID // nil: of all users
	want  wanted
	most  int // as in query
}

// query returns the query of a page of the list. With known numbers, one that
// selects by status only has its total, and one of an owner goes through the batches of
// these statuses only.
func (l batchList) query(tx *store.Tx) (q paging.Query[uuid.UUID], err error) {
	q = paging.Query[uuid.UUID]{List: l.name, Total: paging.UnknownTotal, Most: l.most}
	key := record.AllNumbersKey
	if l.owner != nil {
		q.Prefix, key = l.owner[:], record.OwnerNumbersKey(*l.owner)
	}
	n, known, err := record.NumbersOf(tx, key)
	switch {
	case err != nil:
		return q, err
	case known && l.want.byStatusOnly():
		q.Total = n.Sum(l.want.Status)
	case l.want.empty():
		if q.Total, err = tx.CountSome(l.all().Bucket, q.Prefix, maxCounted); err != nil {
			return q, err
		}
		q.AtLeast = q.Total == maxCounted
	}
	sources, err := l.sources(tx, n, known)
	q.Rows = func(tx *store.Tx, at []byte, back bool, fn func(paging.Row[uuid.UUID]) (bool, error)) error {
		return paging.Merged(tx, sources, at, !back, func(id [16]byte, from string, value []byte) (bool, error) {
			fits, cost, err := l.fits(tx, id, from, value)
			if err != nil {
				return false, err
			}
			r := paging.Row[uuid.UUID]{First: id[:], Last: id[:], Cost: cost}
			if fits {
				r.Lines = []paging.Line[uuid.UUID]{{At: id[:], Value: id}}
			}
			return fn(r)
		})
	}
	return q, err
}

// all returns the source of the whole list.
func (l batchList) all() paging.Source {
	if l.owner == nil {
		return paging.Source{Bucket: record.BucketHeader}
	}
	return paging.Source{Bucket: record.BucketOwner, Prefix: l.owner[:]}
}

// sources returns the indexes that have all batches that the list may show, and as few
// others as possible.
func (l batchList) sources(tx *store.Tx, n record.ByStatus, known bool) ([]paging.Source, error) {
	whole := []paging.Source{l.all()}
	unfinished := slices.DeleteFunc(slices.Clone(l.want.Status), table.Final)
	switch {
	case len(l.want.Status) == 0:
		return whole, nil
	case l.owner == nil:
		if len(unfinished) == len(l.want.Status) {
			return []paging.Source{{Bucket: record.BucketOpen}}, nil
		}
		return whole, nil
	case !known:
		return whole, nil
	}
	var some []paging.Source
	if len(unfinished) > 0 && n.Sum(unfinished) > 0 {
		rows, err := tx.Rows(record.BucketOpen)
		if err != nil || rows > uint64(n.Sum(nil)) { //nolint:gosec // never negative
			return whole, record.IgnoreDamage(err)
		}
		some = append(some, paging.Source{Bucket: record.BucketOpen})
	}
	for _, s := range l.want.Status {
		if table.Final(s) {
			some = append(some, paging.Source{Bucket: record.BucketEnded, Prefix: record.EndedPrefix(*l.owner, s)})
		}
	}
	return some, nil
}

// fits reports whether the list shows a batch that a source names, and how many records
// were read for that.
func (l batchList) fits(tx *store.Tx, id uuid.UUID, from string, value []byte) (fits bool, cost int, err error) {
	cost = 1
	fits, known := l.want.byStatusOnly(), l.want.byStatusOnly()
	switch {
	case l.owner == nil:
	case from == record.BucketOwner:
		fits, known = l.want.row(value)
	case from == record.BucketOpen || !known:
		raw, err := tx.Get(record.BucketOwner, store.Key(*l.owner, id))
		if cost++; err != nil {
			return false, cost, record.IgnoreDamage(err)
		}
		if raw == nil {
			return false, cost, nil // someone else's
		}
		fits, known = l.want.row(raw)
	}
	if known && !fits {
		return false, cost, nil
	}
	if len(l.want.Status) > 0 && from != record.BucketEnded {
		if from != record.BucketHeader {
			cost++
			if value, err = tx.Get(record.BucketHeader, id[:]); err != nil {
				return false, cost, record.IgnoreDamage(err)
			}
		}
		if !slices.Contains(l.want.Status, record.StatusOf(value)) {
			return false, cost, nil
		}
	}
	if known {
		return fits, cost, nil
	}
	s, err := record.LoadSpec(tx, id)
	if errors.Is(err, store.ErrDamaged) || errors.Is(err, ErrNotFound) {
		return false, cost + specCost, nil
	}
	return err == nil && l.want.selects(s), cost + specCost, err
}
