package httpapi

import (
	"bytes"
	"net/http"

	"postern/event"
)

const contentTypeJSON = "application/json"

// ending is how a request with an Idempotency-Key ended.
type ending struct {
	success bool // the handler answered with a 2xx
	kept    bool // a retry gets this answer again
	certain bool // not kept, and a retry is safe: nothing was done

	status      int
	contentType string
	body        []byte
}

// heldAnswer takes what a handler writes. Headers pass through.
type heldAnswer struct {
	http.ResponseWriter
	body bytes.Buffer
}

// WriteHeader implements http.ResponseWriter; the status is held by the
// [response] around it.
func (h *heldAnswer) WriteHeader(int) {}

// Write implements http.ResponseWriter.
func (h *heldAnswer) Write(p []byte) (int, error) { return h.body.Write(p) }

// Unwrap lets http.ResponseController reach the server's own writer.
func (h *heldAnswer) Unwrap() http.ResponseWriter { return h.ResponseWriter }

// answer judges what the handler wrote or, when it failed, what its error will
// be answered with.
func (h *heldAnswer) answer(status int, err error, requestID string) ending {
	if err == nil {
		ok := status >= 200 && status < 300
		return ending{success: ok, kept: ok, certain: !ok, status: status, contentType: h.Header().Get("Content-Type"), body: h.body.Bytes()}
	}
	r, known := answerTo(err)
	if !keepsKey(r) {
		return ending{certain: known}
	}
	body, err := event.Marshal(r.body(requestID))
	if err != nil {
		return ending{}
	}
	return ending{kept: true, status: r.status, contentType: contentTypeJSON, body: body}
}

// codeNoAnswer is the code of a request that is no send and may have been done.
const codeNoAnswer = "WHATSAPP_TIMEOUT"

// keepsKey reports whether a refusal is kept under its key: those after which
// the message may be on its way, or is, or a group or label may be there. A fault of ours is no answer to keep,
// but after begin it leaves the key in flight, which comes to the same.
func keepsKey(r refusal) bool {
	return r.status == http.StatusNotAcceptable || r.code == event.SendResultUnknown || r.code == codeNoAnswer
}

// replay ends a handler whose request has its answer already.
type replay struct{ record keyRecord }

// Error implements error.
func (*replay) Error() string { return "the request was answered before" }

// write gives the answer again, byte for byte. A record in flight, whose
// handler no longer runs, is answered as the send of unknown outcome that it
// is; the answer depends on the record only, so it stays the same too.
func (r *replay) write(w *response) error {
	known := r.record
	if known.Status == 0 {
		unknown := refusal{http.StatusRequestTimeout, event.SendResultUnknown, []string{
			"the program stopped, or failed, before the outcome of this send was known; the message may have arrived",
		}}
		body, err := event.Marshal(unknown.body(known.RequestID))
		if err != nil {
			return err
		}
		known.Status, known.ContentType, known.body = unknown.status, contentTypeJSON, body
	}
	if known.ContentType != "" {
		w.Header().Set("Content-Type", known.ContentType)
	}
	w.Header().Set(replayedHeader, "true")
	w.WriteHeader(known.Status)
	_, err := w.Write(known.body)
	return err
}
