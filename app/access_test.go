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

// TestWhatStopsDoesNotRunOn though its last message may be on its way.
func TestWhatStopsDoesNotRunOn(t *testing.T) {
	s := newSockets(t)
	key, made := s.runsWithKey()
	type running struct {
		Batches  []batch.KeyBatch
		Webhooks []any
	}
	var got struct {
		running
		Stopped running
	}
	if err := s.api.Call(t.Context(), s.key, http.MethodDelete, "/keys/"+key.String()+"?stop=true", nil, &got); err != nil {
		t.Fatal(err)
	}
	if len(got.Batches)+len(got.Webhooks) > 0 || len(got.Stopped.Batches) != 1 || got.Stopped.Batches[0].ID != made || len(got.Stopped.Webhooks) != 1 {
		t.Errorf("%+v", got)
	}
}

// runsWithKey has a scoped key set a batch and a webhook running.
func (s *socketRig) runsWithKey() (key, made uuid.UUID) {
	s.t.Helper()
	s.instance("a")
	var k struct {
		ID  uuid.UUID
		Key string
	}
	call := func(c consumer.Credential, method, path string, in, out any) {
		s.t.Helper()
		if err := s.api.Call(s.t.Context(), c, method, path, in, out); err != nil {
			s.t.Fatal(err)
		}
	}
	call(s.key, http.MethodPost, "/keys", map[string]any{"name": "k", "instances": []string{"*"}, "scopes": []string{"batch", "webhook"}, "userId": s.owner}, &k)
	with := consumer.Bearer(k.Key)
	var b batch.View
	call(with, http.MethodPost, "/message/batches", map[string]any{
		"name": "x", "instances": []string{"a"}, "recipients": []string{"4915112345678"}, "message": map[string]any{"type": "text", "payload": map[string]string{"text": "x"}},
	}, &b)
	call(with, http.MethodPut, "/instance/a/webhook", map[string]any{"url": "https://example.org/hook", "enabled": true}, nil)
	return k.ID, b.ID
}

// TestStartCompletesAnInterruptedDeletion between the commit that deleted the key and those
// that stop what it left running.
func TestStartCompletesAnInterruptedDeletion(t *testing.T) {
	s := newSockets(t)
	key, made := s.runsWithKey()
	if _, err := s.access.Keys.Delete(t.Context(), key, true); err != nil {
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
	hook, err := s.registry.Webhooks().Webhook(rec.ID)
	if err != nil || hook.Enabled {
		t.Errorf("webhook %+v, %v", hook, err)
	}
	comes(t, "the batch stops", func() bool {
		b, err := s.engine.AnyBatch(made, nil)
		return err == nil && b.Status == event.BatchIsStopped
	})
}
