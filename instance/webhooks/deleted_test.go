package webhooks

import (
	"errors"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/uuid"

	"postern/delivery"
	"postern/event"
	"postern/store"
)

// TestDeletedInstanceStoresNothing: the commit that deletes the instance comes before its
// end in the directory, and a change may come in between.
func TestDeletedInstanceStoresNothing(t *testing.T) {
	instances := store.Bucket{Name: "instance", Owner: "test", Key: "id", Value: "nothing"}
	s, err := store.Open(store.Options{Path: filepath.Join(t.TempDir(), "w.db"), Buckets: slices.Concat(Buckets(), []store.Bucket{instances}), NoSync: true, MinFree: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	update := func(fn func(tx *store.Tx) error) {
		t.Helper()
		if err := s.Update(t.Context(), fn); err != nil {
			t.Fatal(err)
		}
	}
	gone := errors.New("gone")
	var lanes []delivery.Lane
	e := NewEditor(t.Context(), EditorConfig{
		Directory: New(Config{Store: s}),
		Owner: func(tx *store.Tx, id int64) error {
			if tx.Has("instance", store.Key(id)) {
				return nil
			}
			return gone
		},
		OnLanes: func(all []delivery.Lane) { lanes = append(lanes, all...) },
	})
	const id = int64(1)
	update(func(tx *store.Tx) error {
		scope, err := e.Create(tx, id)
		e.Add(scope)
		return errors.Join(err, tx.Put("instance", store.Key(id), nil))
	})
	key, url := uuid.New(), "http://a.example/"
	hook := WebhookChange{URL: &url, Key: key}
	options := OptionsChange{Endpoints: []EndpointChange{{ID: "crm", URL: "http://b.example/"}}, Key: key}
	if _, err := e.PutWebhook(t.Context(), id, hook); err != nil {
		t.Fatal(err)
	}
	if _, err := e.PutOptions(t.Context(), id, options); err != nil {
		t.Fatal(err)
	}
	lane := delivery.Lane{Flow: delivery.FlowInstance, Instance: id, Target: event.TargetWebhook}
	if to, status := e.Resolve(lane); to.URL != url || status != delivery.Ready {
		t.Errorf("leads to %q, %v", to.URL, status)
	}

	update(func(tx *store.Tx) error { return errors.Join(Forget(tx, id), tx.Delete("instance", store.Key(id))) })
	if _, err := e.PutWebhook(t.Context(), id, hook); !errors.Is(err, gone) {
		t.Errorf("webhook: %v", err)
	}
	if _, err := e.PutOptions(t.Context(), id, options); !errors.Is(err, gone) {
		t.Errorf("options: %v", err)
	}
	if _, err := e.DisableOfKey(t.Context(), key); err != nil {
		t.Errorf("receivers of a key: %v", err)
	}
	for _, bucket := range []string{webhooks, optionsBucket} {
		if u, err := s.Usage(bucket); err != nil || u.Rows != 0 {
			t.Errorf("%s has %d records (%v)", bucket, u.Rows, err)
		}
	}

	lanes = nil
	e.Removed(id)
	if _, status := e.Resolve(lane); status != delivery.Gone || len(lanes) != 2 {
		t.Errorf("after its end: %v, reported %v", status, lanes)
	}
	if _, err := e.PutWebhook(t.Context(), id, hook); !errors.Is(err, ErrNoInstance) {
		t.Errorf("after its end: %v", err)
	}
}
