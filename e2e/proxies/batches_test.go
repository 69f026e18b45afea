package proxies

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"postern/cli/consumer"
	"postern/e2e/rig"
	"postern/event"
	"postern/whatsapp/proxy/proxytest"
)

// batch of three people; what is sent to them is a text or a file.
func (b *behind) batch(message map[string]any) rig.BatchAnswer {
	return b.CreateBatchOf(map[string]any{
		"name": "three", "instances": []string{"shop"}, "recipients": []string{"4915730002001", "4915730002002", "4915730002003"}, "message": message,
	})
}

func (b *behind) put(body map[string]any) {
	b.T.Helper()
	b.Call(consumer.Bearer(b.token), http.MethodPut, "/instance/shop/proxy", body, nil)
}

func TestBatchWaitsForAFailedProxy(t *testing.T) {
	files := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.ServeFile(w, r, "media/testdata/photo.jpg")
	}))
	defer files.Close()
	text := map[string]any{"type": "text", "payload": map[string]any{"text": "hello"}}
	image := map[string]any{"type": "media", "payload": map[string]any{"mediatype": "image", "media": files.URL + "/photo.jpg"}}
	for name, tc := range map[string]struct {
		uses    []string
		message map[string]any
		down    event.State
	}{
		"of everything": {nil, text, event.Reconnecting},
		"of files":      {[]string{"media"}, image, event.Online}, // the socket goes through the one for all, and works
	} {
		t.Run(name, func(t *testing.T) {
			b := start(t)
			own, next := b.proxy("http"), b.proxy("socks5")
			body := func(p *proxytest.Proxy) map[string]any {
				return map[string]any{"url": p.URL(""), "for": tc.uses}
			}
			b.put(body(own))
			b.AwaitOnline("shop", b.token)
			own.Close()
			if tc.down != event.Online {
				b.lastError("RECONNECTING", "the proxy failed at connect")
			}
			job := b.batch(tc.message)
			b.Await("an attempt that found no way, or a wait", func() bool {
				got := b.Batch(job.ID)
				return got.Status == event.BatchWaitingForInstance || len(rig.Pages[struct{ Status string }](b.World, b.User, "/message/batches/"+job.ID.String()+"/attempts")) > 0
			})
			if got := b.Batch(job.ID); got.Counts.Failed+got.Counts.Unknown+got.Counts.Success != 0 {
				t.Errorf("with no way: %+v", got.Counts)
			}
			b.put(body(next))
			b.Await("the end of the batch", func() bool {
				s := b.Batch(job.ID).Status
				return s == event.BatchIsCompleted || s == event.BatchIsWithErrors
			})
			if got := b.Batch(job.ID); got.Counts.Success != 3 {
				t.Errorf("at the end: %+v", got.Counts)
			}
			b.nothingElse(b.all, next)
			b.Stop()
		})
	}
}
