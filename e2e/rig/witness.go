package rig

import (
	"net/http"
	"sync"
	"testing"

	"postern/event"
	eventwitness "postern/event/witness"
	"postern/httpapi"
	"postern/httpapi/openapi/witness"
)

// NewWitness knows the OpenAPI documents and counts what it has seen of it.
func NewWitness(t *testing.T) *witness.Witness {
	t.Helper()
	raw, err := httpapi.OpenAPI("", "test")
	if err != nil {
		t.Fatal(err)
	}
	older, err := httpapi.OpenAPIAliases("", "test")
	if err != nil {
		t.Fatal(err)
	}
	w, err := witness.New(raw, older)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// theWitness is shared by the tests that only want to hear of faults.
var theWitness struct {
	once sync.Once
	*witness.Witness
}

var eventSchemas = eventwitness.New(event.SchemaJSON)

// CheckEvent reports what about an event's body its published schema does not allow.
func CheckEvent(kind event.Kind, body []byte) error { return eventSchemas.Check(kind, body) }

// witnessed returns a transport that holds whatever the program answers in a test
// against its OpenAPI document.
func witnessed(t *testing.T) http.RoundTripper {
	t.Helper()
	theWitness.once.Do(func() { theWitness.Witness = NewWitness(t) })
	return Held(t, theWitness.Witness)
}

// Held returns a transport that checks each answer against the document of w.
func Held(t *testing.T, w *witness.Witness) http.RoundTripper {
	return w.Transport(http.DefaultTransport, func(err error) { t.Errorf("against the OpenAPI document: %v", err) })
}
