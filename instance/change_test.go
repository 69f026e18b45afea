package instance

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"postern/event"
)

func TestOnChangeFollowsEveryCommit(t *testing.T) {
	var told []string
	var r *rig
	r = newRig(t, func(c *Config) {
		c.OnChange = func(id int64, name string, gone bool) {
			_, err := r.reg.ByID(id)
			told = append(told, fmt.Sprint(name, " ", gone, " ", err == nil))
		}
	}, nil)
	rec := r.create("a")
	url := "https://a.example/hook"
	if _, err := r.reg.PutWebhook(context.Background(), rec.ID, WebhookChange{URL: &url}); err != nil {
		t.Fatal(err)
	}
	if err := r.reg.Report(context.Background(), rec.ID, event.Fact{Kind: event.ConnectionUpdated, Status: event.Connecting, Data: event.ConnectionUpdate{}}); err != nil {
		t.Fatal(err)
	}
	if err := r.reg.Delete(context.Background(), rec.ID, true); err != nil {
		t.Fatal(err)
	}
	if want := []string{"a false true", "a false true", "a false true", "a true false"}; !slices.Equal(told, want) {
		t.Errorf("told %v, want %v", told, want)
	}
}
