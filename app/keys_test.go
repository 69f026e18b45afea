package app

import (
	"context"
	"net/http"
	"testing"

	"github.com/google/uuid"

	"postern/batch"
	"postern/cli/consumer"
	"postern/event"
)

// TestAStartEndsADeletionThatWasCutOff between the commit that deleted the key and those
// that stop what it left running.
func TestAStartEndsADeletionThatWasCutOff(t *testing.T) {
	s := newSockets(t)
	s.instance("a")
	var key struct {
		ID  uuid.UUID
		Key string
	}
	call := func(c consumer.Credential, method, path string, in, out any) {
		t.Helper()
		if err := s.api.Call(t.Context(), c, method, path, in, out); err != nil {
			t.Fatal(err)
		}
	}
	call(s.key, http.MethodPost, "/keys", map[string]any{"name": "k", "instances": []string{"*"}, "scopes": []string{"batch", "webhook"}, "userId": s.owner}, &key)
	with := consumer.Bearer(key.Key)
	var made batch.View
	call(with, http.MethodPost, "/message/batches", map[string]any{
		"name": "x", "instances": []string{"a"}, "recipients": []string{"4915112345678"}, "message": map[string]any{"type": "text", "payload": map[string]string{"text": "x"}},
	}, &made)
	call(with, http.MethodPut, "/instance/a/webhook", map[string]any{"url": "https://example.org/hook", "enabled": true}, nil)
	if _, err := s.access.Keys.Delete(t.Context(), key.ID, true); err != nil {
		t.Fatal(err)
	}
	cfg, sec := s.cfg, s.sec
	if err := s.Stop(context.Background()); err != nil {
		t.Fatal(err)
	}
	s.run(cfg, sec)
	comes(t, "the deletion ends", func() bool {
		left, err := s.access.Keys.Ending()
		return err == nil && len(left) == 0
	})
	rec, err := s.registry.ByName("a")
	if err != nil {
		t.Fatal(err)
	}
	hook, err := s.registry.Webhook(rec.ID)
	if err != nil || hook.Enabled {
		t.Errorf("webhook %+v, %v", hook, err)
	}
	if b, err := s.engine.AnyBatch(made.ID); err != nil || b.Status != event.BatchIsStopped {
		t.Errorf("batch %s, %v", b.Status, err)
	}
}
