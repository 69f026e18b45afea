package webhooks

import (
	"errors"
	"testing"

	"github.com/google/uuid"

	"postern/delivery"
)

// TestDeletedInstanceStoresNothing: the commit that deletes the instance precedes its removal from
// the directory, and a change may come in between.
func TestDeletedInstanceStoresNothing(t *testing.T) {
	r := newRig(t, nil)
	defer r.stop()
	id, key, url := r.create(), uuid.New(), "http://a.example/"
	changes := map[string]func() error{
		"a webhook": func() error {
			_, err := r.e.PutWebhook(bg, id, WebhookChange{URL: &url, Key: key})
			return err
		},
		"options": func() error {
			_, err := r.e.PutOptions(bg, id, OptionsChange{Endpoints: []EndpointChange{{ID: "crm", URL: "http://b.example/"}}, Key: key})
			return err
		},
	}
	for what, change := range changes {
		if err := change(); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
	}
	r.erase(id)
	for what, change := range changes {
		if err := change(); !errors.Is(err, ErrNoInstance) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if _, err := r.e.DisableOfKey(bg, key); err != nil {
		t.Errorf("receivers of a key: %v", err)
	}
	for _, bucket := range []string{webhooks, optionsBucket} {
		if u, err := r.s.Usage(bucket); err != nil || u.Rows != 0 {
			t.Errorf("%s has %d records (%v)", bucket, u.Rows, err)
		}
	}
	r.e.Removed(id)
	if _, status := r.e.Resolve(webhookLane(id)); status != delivery.Gone {
		t.Errorf("after its end: %v", status)
	}
}
