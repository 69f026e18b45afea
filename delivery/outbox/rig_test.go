package outbox

import (
	"testing"

	"postern/store"
	"postern/store/schema"
)

// opened is a data file and its outbox.
type opened struct {
	*store.Store
	*Outbox
}

func openTest(t testing.TB, path string, change ...func(*Outbox)) *opened {
	t.Helper()
	return openWith(t, store.Options{Path: path}, change...)
}

func openWith(t testing.TB, o store.Options, change ...func(*Outbox)) *opened {
	t.Helper()
	o.Buckets, o.NoSync, o.MinFree = append(Buckets(), thing), o.SurveyFrom == 0, 1
	s, err := store.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	box, err := Open(s)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range change {
		c(box)
	}
	return &opened{s, box}
}

// thing is a bucket of another owner in the same file.
var thing = schema.Bucket{Name: "thing", Owner: "test", Key: "any", Value: "any"}

func disabledDelivery(o *Outbox) { o.SetDelivery(false) }

func newest(tx *store.Tx) uint64 {
	n, _ := Newest(tx)
	return n
}
