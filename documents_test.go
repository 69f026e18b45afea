package main

import (
	"net/http"
	"sync"
	"testing"

	"postern/httpapi"
	"postern/httpapi/openapi/witness"
)

func newWitness(t *testing.T) *witness.Witness {
	t.Helper()
	raw, err := httpapi.OpenAPI("", "test")
	if err != nil {
		t.Fatal(err)
	}
	w, err := witness.New(raw)
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

// witnessed is a transport that holds whatever the program answers in a test
// against its OpenAPI document.
func witnessed(t *testing.T) http.RoundTripper {
	t.Helper()
	theWitness.once.Do(func() { theWitness.Witness = newWitness(t) })
	return held(t, theWitness.Witness)
}

func held(t *testing.T, w *witness.Witness) http.RoundTripper {
	return w.Transport(http.DefaultTransport, func(err error) { t.Errorf("against the OpenAPI document: %v", err) })
}
