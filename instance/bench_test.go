package instance

import (
	"fmt"
	"testing"
	"time"

	"postern/event"
	"postern/store"
)

// BenchmarkReportOfAMessage measures a message from the connector to its
// published event, the commit included, against a bare commit of one record
// of the same size on the same file. Commits dominate: the ratio says what the
// package adds to them.
func BenchmarkReportOfAMessage(b *testing.B) {
	r := newRig(b, nil, nil)
	defer r.stop()
	id := r.create("a").ID
	bare := func(i int) {
		err := r.s.Update(bg, func(tx *store.Tx) error {
			return store.PutJSON(tx, messages, store.Key(int64(99), uint64(i)), text(fmt.Sprint(i), "1@s.whatsapp.net", false))
		})
		if err != nil {
			b.Fatal(err)
		}
	}
	var reports, commits time.Duration
	i := 0
	for b.Loop() {
		began := time.Now()
		r.report(id, event.Fact{Kind: event.MessagesUpsert, Data: text(fmt.Sprint(i), "1@s.whatsapp.net", false)})
		middle := time.Now()
		bare(i)
		reports += middle.Sub(began)
		commits += time.Since(middle)
		i++
	}
	b.ReportMetric(float64(reports)/float64(commits), "report/update")
}
