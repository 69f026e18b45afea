package batch

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"

	"postern/event"
)

func TestWaitingBatchIsLoggedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var logs bytes.Buffer
		f := newFleet(1)
		r := newRig(t, f, func(c *Config) { c.Logger = slog.New(slog.NewTextHandler(&logs, nil)) })
		f.set(r.e, 1, event.Disconnected)
		r.create(request(1))
		r.status(waitInst)
		r.stop()
		if got := logs.String(); strings.Count(got, "none of its instances can send now") != 1 || !strings.Contains(got, r.batch.String()) {
			t.Errorf("the log says: %s", got)
		}
	})
}
