package instance

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"postern/event"
	"postern/instance/webhooks"
)

func TestOnChangeFollowsEveryCommit(t *testing.T) {
	var published []string
	var r *rig
	r = newRig(t, func(c *Config) {
		c.OnChange = func(id int64, name string, gone bool) {
			_, err := r.reg.ByID(id)
			published = append(published, fmt.Sprint(name, " ", gone, " ", err == nil))
		}
	}, nil)
	rec := r.create("a")
	url := "https://a.example/hook"
	if _, err := r.reg.Webhooks().PutWebhook(context.Background(), rec.ID, webhooks.WebhookChange{URL: &url}); err != nil {
		t.Fatal(err)
	}
	if err := r.reg.Report(context.Background(), rec.ID, event.Fact{Kind: event.ConnectionUpdated, Status: event.Connecting, Data: event.ConnectionUpdate{}}); err != nil {
		t.Fatal(err)
	}
	if err := r.reg.Delete(context.Background(), rec.ID, true); err != nil {
		t.Fatal(err)
	}
	if want := []string{"a false true", "a false true", "a false true", "a true false"}; !slices.Equal(published, want) {
		t.Errorf("published %v, want %v", published, want)
	}
}
