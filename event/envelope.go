package event

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/google/uuid"
)

// Notice is one event ready for delivery: the final body and what its delivery
// needs. Instance events are handed over as notices by package instance; the
// outbox builds them from its entries for batch events.
type Notice struct {
	Kind Kind
	Body []byte // the envelope; shared by all destinations, never modified

	// Instance events only.
	InstanceID   int64
	InstanceName string
	OwnerJID     string // empty when not connected
	RequestID    string // becomes x-request-id; empty: a fresh UUID per delivery

	ID       uuid.UUID     // of the event: webhook-id, the same for all destinations
	About    About         // the chat or person that it concerns
	To       []Destination // may be empty: then only WebSocket clients get it
	Sequence uint64        // among the durable events of the instance, 0 when it is none
	Stored   bool          // WebSocket clients get it from the file, in the order of Sequence
}

type instanceEnvelope struct {
	Event     Kind     `json:"event" doc:"The name of the event."`
	Instance  Snapshot `json:"instance" doc:"The instance as it was then."`
	Data      any      `json:"data" doc:"The content of the event."`
	Timestamp Time     `json:"timestamp"`
}

type batchEnvelope struct {
	Event     Kind `json:"event" doc:"The name of the event."`
	Data      any  `json:"data" doc:"The content of the event."`
	Timestamp Time `json:"timestamp"`
}

// MarshalInstance returns the body of an instance event made at the given time.
// It fails when kind is not an instance event or data cannot be marshalled.
func MarshalInstance(kind Kind, instance Snapshot, data any, at time.Time) ([]byte, error) {
	return marshal(kind, Instance, instanceEnvelope{kind, instance, data, At(at)})
}

// MarshalBatch returns the body of a batch event made at the given time.
// It fails when kind is not a batch event or data cannot be marshalled.
func MarshalBatch(kind Kind, data any, at time.Time) ([]byte, error) {
	return marshal(kind, Batch, batchEnvelope{kind, data, At(at)})
}

func marshal(kind Kind, family Family, envelope any) ([]byte, error) {
	if d, ok := Lookup(kind); !ok || d.Family != family {
		return nil, fmt.Errorf("event: %q is not in this family of the catalogue", kind)
	}
	b, err := Marshal(envelope)
	if err != nil {
		return nil, fmt.Errorf("event: marshal %s: %w", kind, err)
	}
	return b, nil
}

// Marshal is json.Marshal without HTML escaping and without a final newline:
// the form of every body that leaves the program.
func Marshal(v any) ([]byte, error) {
	e := encoders.Get().(*encoder)
	defer encoders.Put(e)
	e.body = nil
	if err := e.json.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(e.body, []byte("\n")), nil
}

// encoder collects what its json writes. Only what a call made belongs to its
// caller: the encoder itself is used again.
type encoder struct {
	body []byte
	json *json.Encoder
}

var encoders = sync.Pool{New: func() any {
	e := &encoder{}
	e.json = json.NewEncoder(e)
	e.json.SetEscapeHTML(false)
	return e
}}

// Write implements io.Writer.
func (e *encoder) Write(p []byte) (int, error) {
	e.body = append(e.body, p...)
	return len(p), nil
}

type requestIDKey struct{}

// WithRequestID returns a context for the work of the API call with that id.
func WithRequestID(ctx context.Context, id string) context.Context {
	return context.WithValue(ctx, requestIDKey{}, id)
}

// RequestIDOf returns the id of the API call that ctx belongs to, or "".
func RequestIDOf(ctx context.Context) string {
	id, _ := ctx.Value(requestIDKey{}).(string)
	return id
}
