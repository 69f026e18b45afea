package instance

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestTheDelayOfAnAcceptedSendIsNotPartOfItsTimeout(t *testing.T) {
	connected(t, func(r *rig, id int64, _ *session) {
		p := r.processor(func(c *ProcessorConfig) { c.Timeout = time.Minute })
		defer stopProcessor(t, p)
		out := greeting
		out.Delay = 2 * time.Minute
		if _, err := p.Accept(bg, Deferred{Instance: id, Out: out, RequestID: "req-7"}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(out.Delay)
		synctest.Wait()
		if got := r.result(); got["status"] != "sent" {
			t.Errorf("told %v", got)
		}
	})
}
