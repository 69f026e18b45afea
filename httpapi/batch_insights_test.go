package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"postern/batch"
	"postern/event"
	"postern/instance"
	"postern/messages"
	"postern/store"
)

// storingFleet sends at once and stores what it sends. The id of a message is its recipient.
type storingFleet struct {
	instantFleet
	r *rig
}

// Instance names a for 1, b for 2.
func (storingFleet) Instance(id int64) (string, event.State, bool) {
	return string("?ab"[id]), event.Online, true
}

func (f storingFleet) Send(_ context.Context, id int64, out event.Outgoing) (batch.Receipt, error) {
	to, err := event.ParseRecipient(out.To)
	if err != nil {
		return batch.Receipt{}, err
	}
	jid := to.JID()
	return batch.Receipt{WhatsAppID: jid, RecipientJID: jid, Record: func(tx *store.Tx) (int64, error) {
		return f.r.messages.StoreMessage(tx, id, &event.Message{KeyID: jid, KeyRemoteJID: &jid, KeyFromMe: true, Content: json.RawMessage(`{}`)})
	}}, nil
}

// receive stores a receipt of the message to a number.
func (r *rig) receive(id int64, number string, status event.UpdateStatus, at time.Time) {
	r.t.Helper()
	receipt := event.Receipt{KeyIDs: []string{number + "@s.whatsapp.net"}, Status: status, At: at}
	if err := r.registry.Report(r.t.Context(), id, event.Fact{Kind: event.MessagesUpdate, Data: receipt}); err != nil {
		r.t.Fatal(err)
	}
}

// insightsOf reads the insights of a batch.
func (r *rig) insightsOf(token string, v batch.View) string {
	r.t.Helper()
	res := r.as(token, "GET", "/message/batches/"+v.ID.String()+"/insights", "")
	raw, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != 200 {
		r.t.Fatal(res.StatusCode, string(raw), err)
	}
	return strings.TrimSpace(string(raw))
}

func TestInsightsCountByHourAndInstance(t *testing.T) {
	r := newRig(t)
	r.instance("a")
	r.instance("b")
	plan := strings.Replace(strings.Replace(csvBatch, `,"autoStart":false`, "", 1), `["a"]`, `["a","b"]`, 1)
	const n = 24 // so that each instance sends some
	file := "number\n"
	for i := range n {
		file += fmt.Sprintf("4915100000%03d\n", i)
	}
	v := decoded[batch.View](t, r.csv(r.token, "", plan, "", file))
	if got, want := r.insightsOf(r.token, v), `{"counts":{"sent":0,"delivered":0,"read":0,"replied":null},"byHour":[],"byInstance":[]}`; got != want {
		t.Errorf("before it sends:\n%s", got)
	}
	r.processBy(storingFleet{r: r}, v.ID)
	items := r.itemsOf(v)
	sent := items[0].FinishedAt.UTC().Truncate(time.Hour)
	if !items[n-1].FinishedAt.UTC().Truncate(time.Hour).Equal(sent) {
		t.Skip("the hour ended meanwhile")
	}
	later := sent.Add(5 * time.Hour)
	by := map[string]int{}
	for i, item := range items {
		by[*item.SelectedInstanceName]++
		if i > 0 {
			r.receive(*item.SelectedInstanceID, item.NormalizedRecipient, event.StatusDelivered, sent.Add(time.Minute))
		}
		if i > 2 {
			r.receive(*item.SelectedInstanceID, item.NormalizedRecipient, event.StatusRead, later.Add(time.Minute))
		}
	}
	if by["a"] == 0 || by["b"] == 0 {
		t.Fatal(by)
	}
	var got struct {
		Counts     json.RawMessage
		ByHour     []json.RawMessage
		ByInstance []struct {
			Name            string
			Sent, Delivered int
			Replied         *int
		}
	}
	if err := json.Unmarshal([]byte(r.insightsOf(r.token, v)), &got); err != nil {
		t.Fatal(err)
	}
	if want := `{"sent":24,"delivered":23,"read":21,"replied":null}`; string(got.Counts) != want {
		t.Errorf("counts %s", got.Counts)
	}
	hours := []string{
		`{"hour":"` + event.At(sent).String() + `","sent":24,"delivered":23,"read":0,"replied":null}`,
		`{"hour":"` + event.At(later).String() + `","sent":0,"delivered":0,"read":21,"replied":null}`,
	}
	if len(got.ByHour) != 2 || string(got.ByHour[0]) != hours[0] || string(got.ByHour[1]) != hours[1] {
		t.Errorf("by hour %s, want %s", got.ByHour, hours)
	}
	if b := got.ByInstance; len(b) != 2 || b[0].Name != "a" || b[1].Name != "b" || b[0].Sent != by["a"] || b[1].Sent != by["b"] || b[0].Delivered+b[1].Delivered != n-1 || b[0].Replied != nil {
		t.Errorf("by instance %+v", b)
	}

	narrow := r.newKey(`{"name":"k","instances":["b"],"scopes":["batch"],"userId":"` + r.user.String() + `"}`).Key
	own := r.insightsOf(narrow, v)
	if !strings.HasPrefix(own, fmt.Sprintf(`{"counts":{"sent":%d,`, by["b"])) || strings.Contains(own, `"name":"a"`) {
		t.Errorf("a key for b reads %s", own)
	}
	_, rows := r.reportOf(narrow, v)
	for i, item := range items {
		if hidden := *item.SelectedInstanceName == "a"; hidden && rows[i+1][9] != "" {
			t.Errorf("a key for b reads %q", rows[i+1])
		}
	}
	_, rows = r.reportOf(r.token, v)
	at, read := event.At(sent.Add(time.Minute)).String(), event.At(later.Add(time.Minute)).String()
	for i, want := range [][]string{{"deliveredAt", "readAt", "repliedAt"}, {"", "", ""}, {at, "", ""}, {at, "", ""}, {at, read, ""}} {
		if !reflect.DeepEqual(rows[i][9:], want) {
			t.Errorf("row %d of the report ends %q, want %q", i, rows[i][9:], want)
		}
	}
}

func TestInsightsHaveTheRightsOfItems(t *testing.T) {
	r := newRig(t)
	r.instance("a")
	r.instance("b")
	v := decoded[batch.View](t, r.csv(r.token, "", csvBatch, "", "number\n4915100000001\n"))
	_, other := r.newUser()
	elsewhere := r.newKey(`{"name":"k","instances":["b"],"scopes":["batch"],"userId":"` + r.user.String() + `"}`).Key
	for _, name := range []string{"/insights", "/report.csv"} {
		path := "/message/batches/" + v.ID.String() + name
		wantError(t, r.as(other, "GET", path, ""), 404, "BATCH_NOT_FOUND")
		wantError(t, r.as(elsewhere, "GET", path, ""), 404, "BATCH_NOT_FOUND")
		wantError(t, r.do("GET", "/message/batches/x"+name, ""), 404, "BATCH_NOT_FOUND")
	}
}

// BenchmarkInsights reads a sent batch of 100 000 over HTTP, each message of which was delivered and read: its insights and its
// report, against its items as CSV and a plain scan of what was sent, and the growth of the resident memory meanwhile.
func BenchmarkInsights(b *testing.B) {
	defer debug.SetGCPercent(debug.SetGCPercent(20)) // of the 95 MB in use here: the program's room, see app/heap/collector.go
	const n, step = 100_000, 500
	r := newRigWith(b, store.Options{NoSync: true})
	r.box.SetDelivery(false)
	r.instance("a")
	all, err := messages.Open(b.Context(), messages.Config{Store: r.store, Owner: instance.There, SaveUpdates: true, SaveMessages: true})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(all.Close)
	r.api.batches.Messages = all
	base := r.listen()
	v := r.postLarge(base, n)
	r.processBy(storingFleet{r: r}, v.ID)
	for _, status := range []event.UpdateStatus{event.StatusDelivered, event.StatusRead} {
		for from := 0; from < n; from += step {
			receipt := event.Receipt{Status: status, At: time.Now()}
			for i := from; i < from+step; i++ {
				receipt.KeyIDs = append(receipt.KeyIDs, fmt.Sprintf("49151%08d@s.whatsapp.net", i))
			}
			if err := r.registry.Report(b.Context(), 1, event.Fact{Kind: event.MessagesUpdate, Data: receipt}); err != nil {
				b.Fatal(err)
			}
		}
	}
	took := map[string]float64{}
	measure := func(name string, fn func()) {
		debug.FreeOSMemory()
		before, peak, begun := residentMB(b, "RssAnon"), watchResident(b, "RssAnon"), time.Now()
		fn()
		took["s-"+name], took["MB-"+name] = time.Since(begun).Seconds(), peak()-before
	}
	read := func(path string) (size int) {
		res := r.fetch("GET", base+"/message/batches/"+v.ID.String()+path, nil)
		defer res.Body.Close()
		buffer := make([]byte, 32<<10)
		for {
			got, err := res.Body.Read(buffer)
			if size += got; errors.Is(err, io.EOF) {
				return size
			}
			if err != nil {
				b.Fatal(err)
			}
		}
	}
	for b.Loop() {
		measure("scan", func() {
			parts, err := r.engine.Shown(r.user, nil).Sent(v.ID)
			sent := 0
			for part := range parts {
				sent += len(part)
			}
			if err != nil || sent != n {
				b.Fatal(sent, err)
			}
		})
		measure("items.csv", func() { read("/items.csv") })
		measure("report.csv", func() { read("/report.csv") })
		measure("insights", func() { read("/insights") })
	}
	if got := r.insightsOf(r.token, v); !strings.HasPrefix(got, `{"counts":{"sent":100000,"delivered":100000,"read":100000,"replied":0}`) {
		b.Error(got)
	}
	for name, figure := range took {
		b.ReportMetric(figure, name)
	}
	b.ReportMetric(0, "ns/op")
}
