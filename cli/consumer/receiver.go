package consumer

import (
	"context"
	"io"
	"net/http"
	"time"
)

// maxWebhook limits one received webhook: a message with a large thumbnail is
// far below it.
const maxWebhook = 64 << 20

// Webhook is one webhook as it came in.
type Webhook struct {
	At       time.Time
	Event    string // from the header
	Instance string // from the header, empty for batch events
	ID       string // of the event, from webhook-id; may be empty
	Header   http.Header
	Body     []byte
}

// Receive answers every POST with status after handing it to got, which must
// be safe for concurrent use.
func Receive(status int, got func(Webhook)) http.Handler {
	return Answer(func(_ context.Context, w Webhook) (int, string) {
		got(w)
		return status, ""
	})
}

// Answer answers every POST with the status and the line of text that decide
// chooses, which must be safe for concurrent use. Its context ends when the
// sender disconnects.
func Answer(decide func(context.Context, Webhook) (status int, text string)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxWebhook))
		if err != nil || r.Method != http.MethodPost {
			http.Error(w, "send webhooks with POST", http.StatusMethodNotAllowed)
			return
		}
		h := r.Header
		status, text := decide(r.Context(), Webhook{time.Now(), h.Get("x-webhook-event"), h.Get("x-instance-name"), h.Get("webhook-id"), h, body})
		if text != "" {
			http.Error(w, text, status)
			return
		}
		w.WriteHeader(status)
	})
}
