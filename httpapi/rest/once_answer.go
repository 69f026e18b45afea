package rest

import (
	"bytes"
	"net/http"

	"postern/event"
	"postern/httpapi/idempotency"
)

// ContentTypeJSON is the media type of all answers that are no file.
const ContentTypeJSON = "application/json"

// MediaBytes is the default media type.
const MediaBytes = "application/octet-stream"

// heldAnswer buffers what a handler writes. Headers pass through.
type heldAnswer struct {
	http.ResponseWriter
	body bytes.Buffer
}

// WriteHeader implements http.ResponseWriter; the [Response] around it holds the status.
func (h *heldAnswer) WriteHeader(int) {}

// Write implements http.ResponseWriter.
func (h *heldAnswer) Write(p []byte) (int, error) { return h.body.Write(p) }

// Unwrap lets http.ResponseController reach the server's own writer.
func (h *heldAnswer) Unwrap() http.ResponseWriter { return h.ResponseWriter }

// ending returns how the request ends for its key: from the written answer or, if the handler
// failed, from the answer to its error.
func (h *heldAnswer) ending(c *Call, status int, err error) idempotency.Ending {
	if err == nil {
		ok := status >= 200 && status < 300
		return idempotency.Ending{Success: ok, Kept: ok, Certain: !ok, Answer: idempotency.Answer{
			Status: status, ContentType: h.Header().Get("Content-Type"), Body: h.body.Bytes(),
		}}
	}
	r, known := c.AnswerTo(err)
	if !r.KeepsKey() {
		return idempotency.Ending{Certain: known}
	}
	body, err := event.Marshal(r.body(c.RequestID))
	if err != nil {
		return idempotency.Ending{}
	}
	return idempotency.Ending{Kept: true, Answer: idempotency.Answer{Status: r.Status, ContentType: ContentTypeJSON, Body: body}}
}

// codeNoAnswer is the code of a request, not a send, with an unknown outcome.
const codeNoAnswer = "WHATSAPP_TIMEOUT"

// KeepsKey reports whether a refusal is kept under its key: those after which the
// message was or may have been sent, or a group or label created. An internal error
// is not kept, but after begin it leaves the key in flight, with the same effect.
func (r Error) KeepsKey() bool {
	return r.Status == http.StatusNotAcceptable || r.Code == event.SendResultUnknown || r.Code == codeNoAnswer
}

// replay ends the handler of a request that already has an answer.
type replay struct{ answer idempotency.Answer }

// Error implements error.
func (*replay) Error() string { return "the request was answered before" }

// write sends the stored answer again, byte for byte. For a handler that did not
// finish, the answer is an unknown outcome; it depends only on the file, so it does
// not change either.
func (r *replay) write(w *Response) error {
	known := r.answer
	if known.Status == 0 {
		unknown := ErrorOf(http.StatusRequestTimeout, event.SendResultUnknown,
			"the program stopped, or failed, before the outcome of this send was known; the message may have arrived",
		)
		body, err := event.Marshal(unknown.body(known.RequestID))
		if err != nil {
			return err
		}
		known.Status, known.ContentType, known.Body = unknown.Status, ContentTypeJSON, body
	}
	if known.ContentType != "" {
		w.Header().Set("Content-Type", known.ContentType)
	}
	w.Header().Set(replayedHeader, "true")
	w.WriteHeader(known.Status)
	_, err := w.Write(known.Body)
	return err
}
