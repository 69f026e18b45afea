package rig

import (
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"github.com/google/uuid"

	"postern/app"
	"postern/cli/consumer"
	"postern/delivery/outbox"
	"postern/event"
	"postern/store"
)

// BatchAnswer is what tests look at of a batch.
type BatchAnswer struct {
	ID     uuid.UUID
	Status event.BatchStatus
	Counts event.BatchCounts
}

// CreateBatch makes a batch of texts that begins at once; the text is "for " and its name.
func (w *World) CreateBatch(name string, instances, recipients []string) BatchAnswer {
	w.T.Helper()
	return w.CreateBatchWith(name, instances, recipients, "for "+name)
}

// CreateBatchWith is CreateBatch with another text.
func (w *World) CreateBatchWith(name string, instances, recipients []string, text string) BatchAnswer {
	w.T.Helper()
	return w.CreateBatchOf(map[string]any{
		"name": name, "instances": instances, "recipients": recipients,
		"message": map[string]any{"type": "text", "payload": map[string]any{"text": text}},
	})
}

// CreateBatchOf makes a batch of a whole request.
func (w *World) CreateBatchOf(request map[string]any) BatchAnswer {
	w.T.Helper()
	var b BatchAnswer
	w.Call(consumer.Bearer(w.User), http.MethodPost, "/message/batches", request, &b)
	return b
}

// Batch asks for a batch.
func (w *World) Batch(id uuid.UUID) BatchAnswer {
	w.T.Helper()
	var b BatchAnswer
	w.Call(consumer.Bearer(w.User), http.MethodGet, "/message/batches/"+id.String(), nil, &b)
	return b
}

// ItemAnswer is what tests look at of an item.
type ItemAnswer struct {
	ID                  string
	Status              string
	NormalizedRecipient string
}

func (w *World) items(id uuid.UUID) []ItemAnswer {
	w.T.Helper()
	return Pages[ItemAnswer](w, w.User, "/message/batches/"+id.String()+"/items")
}

// Pages reads a list to its end.
func Pages[T any](w *World, token, path string) (all []T) {
	w.T.Helper()
	for cursor := ""; ; {
		var page struct {
			NextCursor *string
			Records    []T
		}
		w.Call(consumer.Bearer(token), http.MethodGet, path+"?limit=200"+cursor, nil, &page)
		all = append(all, page.Records...)
		if page.NextCursor == nil {
			return all
		}
		cursor = "&nextCursor=" + *page.NextCursor
	}
}

// CheckItems compares the items' results with what the phones decrypted.
func (w *World) CheckItems(id uuid.UUID, name string) {
	w.T.Helper()
	results := map[string]int{}
	for _, item := range w.items(id) {
		results[item.Status]++
		decrypted := w.Decrypted(item.NormalizedRecipient, "for "+name)
		if decrypted > 1 {
			w.T.Errorf("%s decrypted the text %d times", item.NormalizedRecipient, decrypted)
		}
		switch item.Status {
		case "SUCCESS":
			if decrypted != 1 {
				w.T.Errorf("%s: SUCCESS, and the phone decrypted %d", item.NormalizedRecipient, decrypted)
			}
		case "UNKNOWN":
			w.Await("item.unknown of "+item.ID, func() bool { return w.BodyWith(event.BatchItemUnknown, item.ID) })
		default:
			w.T.Errorf("%s ended as %s", item.NormalizedRecipient, item.Status)
		}
	}
	w.T.Logf("%s: %v", name, results)
}

// Decrypted counts how often the phone of number read the text. Receipts reach
// the program after the phone has read it, so nothing is waited for.
func (w *World) Decrypted(number, text string) (n int) {
	phone, ok := w.Sandbox.Phone(number)
	if !ok {
		return 0
	}
	for _, m := range phone.Received() {
		if m.Text == text {
			n += m.Count
		}
	}
	return n
}

// BodyWith reports whether a webhook of the kind came whose body holds text.
func (w *World) BodyWith(kind event.Kind, text string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for body := range w.bodies {
		if strings.Contains(body, string(kind)) && strings.Contains(body, text) {
			return true
		}
	}
	return false
}

// BodiesWith counts the different webhooks of the kind whose body holds text.
func (w *World) BodiesWith(kind event.Kind, text string) (n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for body := range w.bodies {
		if strings.Contains(body, text) && strings.Contains(body, `"`+string(kind)+`"`) {
			n++
		}
	}
	return n
}

// AwaitOutbox waits until the receiver has been quiet for a moment, so that
// the program is not stopped with deliveries on their way.
func (w *World) AwaitOutbox() {
	last, since := -1, time.Now()
	w.Await("quiet", func() bool {
		w.mu.Lock()
		n := len(w.bodies)
		w.mu.Unlock()
		if n != last {
			last, since = n, time.Now()
		}
		return time.Since(since) > 300*time.Millisecond
	})
}

// CheckOutbox reads the data file: each event of the batch was received and is
// marked as delivered.
func (w *World) CheckOutbox(id uuid.UUID) {
	w.T.Helper()
	s, err := store.Open(store.Options{Path: w.DataFile(), Buckets: app.Buckets()})
	if err != nil {
		w.T.Fatal(err)
	}
	defer s.Close()
	var entries []outbox.Entry
	err = s.View(func(tx *store.Tx) (err error) {
		entries, err = outbox.OfBatch(tx, id, 0, 100_000)
		return err
	})
	if err != nil || len(entries) == 0 {
		w.T.Errorf("batch %s: %d events, %v", id, len(entries), err)
	}
	for _, e := range entries {
		w.mu.Lock()
		times := w.bodies[string(e.Body)]
		w.mu.Unlock()
		if times == 0 || e.State != outbox.Delivered {
			w.T.Errorf("event %d %s: received %d times, %s", e.Seq, e.Kind, times, e.State)
		}
		if !json.Valid(e.Body) {
			w.T.Errorf("event %d: damaged body", e.Seq)
		}
	}
}
