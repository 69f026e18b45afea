package sends

import (
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"postern/e2e/rig"
	"postern/event"
	"postern/sandbox"
)

// keyedPost posts a picture to the newsletter under an idempotency key. delay is in milliseconds.
func keyedPost(s *rig.SendScene, key string, delay int) (rig.KeyedAnswer, error) {
	return s.WithKey(s.Token, key, s.Fill("/instance/$name/send/media"), map[string]any{
		"number": breadChannel, "options": map[string]any{"delay": delay},
		"mediaMessage": map[string]any{"mediatype": "image", "media": s.Vars["files"] + "/photo.jpg", "caption": "a loaf"},
	})
}

// TestKillAfterUploadOfPostFreesKey kills while the delay of a post runs, whose file is at WhatsApp: nothing was
// posted, and the same request is carried out.
func TestKillAfterUploadOfPostFreesKey(t *testing.T) {
	t.Parallel()
	const delay = 5_000
	s := newChannel(t, "owner")
	before := s.Sandbox.MediaUploaded()
	var first sync.WaitGroup
	first.Go(func() { _, _ = keyedPost(s, "post", delay) })
	s.Await("the file at WhatsApp", func() bool { return s.Sandbox.MediaUploaded() > before })
	s.Kill()
	first.Wait()
	s.Start()
	s.Online(t)
	if n := len(postsSeenBy(t, s, "$anne")); n != 0 {
		t.Fatalf("%d posts before the request was repeated", n)
	}
	a, err := keyedPost(s, "post", delay)
	if err != nil || a.Status != http.StatusOK || a.Replayed {
		t.Fatal(a, err)
	}
	if again, err := keyedPost(s, "post", delay); err != nil || again.Body != a.Body || !again.Replayed {
		t.Errorf("%s, %v", again, err)
	}
	if n := len(postsSeenBy(t, s, "$anne")); n != 1 {
		t.Errorf("%d posts", n)
	}
	s.Stop()
}

// TestKillBeforeAcknowledgementOfPostIsUnknown kills when the post is published and not acknowledged. It is not
// sent again, nor under its key.
func TestKillBeforeAcknowledgementOfPostIsUnknown(t *testing.T) {
	t.Parallel()
	s := newChannel(t, "owner")
	s.Sandbox.SetFaults(sandbox.Faults{AckDelay: time.Hour})
	var first sync.WaitGroup
	first.Go(func() { _, _ = keyedPost(s, "post", 0) })
	s.Await("the post", func() bool { return len(postsSeenBy(t, s, "$anne")) == 1 })
	s.Kill()
	first.Wait()
	s.Sandbox.SetFaults(sandbox.Faults{})
	s.Start()
	s.Online(t)
	for range 2 {
		a, err := keyedPost(s, "post", 0)
		if err != nil || a.Status != http.StatusRequestTimeout || a.Field("code") != "SEND_RESULT_UNKNOWN" || !a.Replayed {
			t.Errorf("%s, %v", a, err)
		}
	}
	if n := len(postsSeenBy(t, s, "$anne")); n != 1 {
		t.Errorf("%d posts", n)
	}
	s.Stop()
}

// TestScheduledPostOutlivesAKill: one of a text, one of a file at a URL, and one of a file of the request.
func TestScheduledPostOutlivesAKill(t *testing.T) {
	t.Parallel()
	s := newChannel(t, "admin")
	from, at := len(s.Webhooks()), soon(8*time.Second)
	ids := []string{
		accepted(t, s.PostJSON(t, s.Fill("/instance/$name/send/text"), fmt.Sprintf(`{"number":"$bread","textMessage":{"text":"at eight"},"options":{"sendAt":%q}}`, at))),
		accepted(t, s.PostJSON(t, s.Fill("/instance/$name/send/media"), fmt.Sprintf(`{"number":"$bread","mediaMessage":{"mediatype":"image","media":"$files/photo.jpg","caption":"fetched"},"options":{"sendAt":%q}}`, at))),
		accepted(t, s.Multipart(t, s.Fill("/instance/$name/send/media-file"), "photo.jpg", map[string]string{"number": "$bread", "mediaType": "image", "caption": "kept", "sendAt": at})),
	}
	s.Kill()
	s.Start()
	for _, id := range ids {
		body := s.AwaitEvent(t, from, event.SendMessage, fmt.Sprintf(`{"keyRemoteJid":"$bread","metadata":{"scheduledId":%q,"serverId":"*"}}`, id))
		if err := rig.CheckEvent(event.SendMessage, body); err != nil {
			t.Errorf("%v: %s", err, body)
		}
	}
	if n := len(postsSeenBy(t, s, "$anne")); n != len(ids) || scheduled(t, s) != 0 {
		t.Errorf("%d posts, %d are left", n, scheduled(t, s))
	}
	s.Stop()
}

// TestKillDuringScheduledPostIsNeverRepeated kills when the post is published and not acknowledged.
func TestKillDuringScheduledPostIsNeverRepeated(t *testing.T) {
	t.Parallel()
	s := newChannel(t, "owner")
	from := len(s.Webhooks())
	s.Sandbox.SetFaults(sandbox.Faults{AckDelay: time.Hour})
	id := accepted(t, s.PostJSON(t, s.Fill("/instance/$name/send/text"), fmt.Sprintf(`{"number":"$bread","textMessage":{"text":"in doubt"},"options":{"sendAt":%q}}`, soon(time.Second))))
	s.Await("the post", func() bool { return len(postsSeenBy(t, s, "$anne")) == 1 })
	s.Kill()
	s.Sandbox.SetFaults(sandbox.Faults{})
	s.Start()
	s.AwaitEvent(t, from, event.SendMessage, fmt.Sprintf(`{"scheduledId":%q,"status":"failed","error":{"code":"SEND_RESULT_UNKNOWN"}}`, id))
	if n := len(postsSeenBy(t, s, "$anne")); n != 1 || scheduled(t, s) != 0 {
		t.Errorf("%d posts, %d are left", n, scheduled(t, s))
	}
	s.Stop()
}
