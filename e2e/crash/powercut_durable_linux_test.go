package crash

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"time"

	"nhooyr.io/websocket"

	"postern/cli/consumer"
	"postern/delivery"
	"postern/delivery/logbook"
	"postern/store"
)

// keepEvents makes the events of the instance durable, with a further endpoint.
func (w *watched) keepEvents() {
	w.t.Helper()
	body := map[string]any{"durable": true, "order": "chat", "endpoints": []any{map[string]any{
		"id": "a", "url": w.hook.URL + "/durable", "events": map[string]bool{"sendMessage": true, "messagesUpsert": true, "messagesUpdated": true, "connectionUpdated": true},
	}}}
	if w.call(consumer.Bearer(w.instance.token), http.MethodPut, "/instance/red/webhook/options", body) == nil {
		w.t.Fatal("the options were refused")
	}
	w.note("options", "", func(d *afterCut) error {
		return d.file.View(func(tx *store.Tx) error {
			if !tx.Has("webhook_options", store.Key(d.instances["red"])) {
				return fmt.Errorf("the options that were answered are not there")
			}
			return nil
		})
	})
}

// follow continues with the instance's events over one WebSocket for a moment.
func (w *watched) follow(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
	defer cancel()
	since := max(0, w.followed.Load()-2) // some again
	url := fmt.Sprintf("%s/ws/instance/events?event=*&since=%d", strings.Replace(w.api.Base, "http", "ws", 1), since)
	conn, resp, err := websocket.Dial(ctx, url, &websocket.DialOptions{HTTPHeader: http.Header{"Authorization": {"Bearer " + w.instance.token}}})
	if err != nil {
		if resp != nil && resp.StatusCode != http.StatusServiceUnavailable {
			w.t.Errorf("the instance's events since %d: %s", since, resp.Status)
		}
		return
	}
	defer conn.CloseNow()
	conn.SetReadLimit(1 << 20)
	if newest, err := strconv.ParseUint(resp.Header.Get("X-Event-Sequence"), 10, 64); err == nil && newest > 0 {
		w.note("newest event of an instance", fmt.Sprint(newest), func(d *afterCut) error { return d.hasNumber(newest, "") })
	}
	for seq := since + 1; ; seq++ {
		_, body, err := conn.Read(ctx)
		if err != nil {
			return
		}
		w.note("instance event on a WebSocket", fmt.Sprint(seq, string(body)), func(d *afterCut) error { return d.hasNumber(uint64(seq), string(body)) })
		if old := w.followed.Load(); old < seq {
			w.followed.CompareAndSwap(old, seq)
		}
	}
}

// readDeliveries reads the newest records of the log, or of those that came to
// an end.
func (w *watched) readDeliveries(rng *rand.Rand) {
	path := "/webhook/deliveries?limit=10"
	if rng.IntN(2) == 0 {
		path += "&state=DELIVERED"
	}
	var page struct {
		Records []struct {
			ID    uint64
			State delivery.State
		}
	}
	answer := w.call(consumer.Key(w.key), http.MethodGet, path, nil)
	if answer == nil {
		return
	}
	if err := json.Unmarshal(answer, &page); err != nil {
		w.t.Errorf("%v: %s", err, answer)
	}
	for _, r := range page.Records {
		w.note("delivery", fmt.Sprint(r.ID, r.State), func(d *afterCut) error { return d.hasDelivery(r.ID, r.State) })
	}
}

// hasDurable: the event of a webhook-id is stored in the bytes that arrived.
func (d *afterCut) hasDurable(id, body string) error {
	if got, found := d.durable[id]; !found || got != body {
		return fmt.Errorf("the durable event %s is %q and arrived as %q", id, got, body)
	}
	return nil
}

// hasNumber: the instance has so many numbered events, and this is that one.
func (d *afterCut) hasNumber(n uint64, body string) error {
	got, found := d.numbered[n]
	if !found || body != "" && got != body {
		return fmt.Errorf("event %d of the instance is %q and was reported as %q", n, got, body)
	}
	return nil
}

// hasDelivery: what has ended stays so.
func (d *afterCut) hasDelivery(id uint64, state delivery.State) error {
	r, _, _, err := d.log.Record(context.Background(), id)
	if err == nil && state != delivery.Pending && r.State != state {
		err = fmt.Errorf("it is %q", r.State)
	}
	if err != nil {
		return fmt.Errorf("delivery %d was reported as %s: %w", id, state, err)
	}
	return nil
}

// readDurable reads the stored events; those of one instance are numbered
// without holes, and each has its records.
func (d *afterCut) readDurable(tx *store.Tx) error {
	d.durable, d.numbered = map[string]string{}, map[uint64]string{}
	all, err := delivery.EventsAfter(tx, 0, 0)
	for _, e := range all {
		d.durable[e.ID.String()] = string(e.Body)
		for _, to := range e.To {
			d.records = append(d.records, to.Due.Record)
		}
		if e.Sequence == 0 {
			continue
		}
		d.numbered[e.Sequence] = string(e.Body)
		if _, before := d.numbered[e.Sequence-1]; !before && e.Sequence > 1 {
			return fmt.Errorf("event %d of the instance follows none", e.Sequence)
		}
	}
	return err
}

// hasRecords: every stored event has a record for each of its destinations.
func (d *afterCut) hasRecords() (err error) {
	ledger, err := delivery.Open(d.file, delivery.Config{Log: true})
	if err != nil {
		return err
	}
	d.log = logbook.New(ledger, logbook.Config{})
	for _, id := range d.records {
		if _, _, _, err := d.log.Record(context.Background(), id); err != nil {
			return fmt.Errorf("the record %d of a stored event: %w", id, err)
		}
	}
	return nil
}
