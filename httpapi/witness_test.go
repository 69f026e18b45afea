package httpapi

import (
	"net/http"
	"sync"
	"testing"

	"postern/httpapi/openapi/witness"
)

// theWitness has the OpenAPI document of the tests.
var theWitness = sync.OnceValues(func() (*witness.Witness, error) {
	raw, err := OpenAPI("", "test")
	if err != nil {
		return nil, err
	}
	older, err := OpenAPIAliases("", "test")
	if err != nil {
		return nil, err
	}
	return witness.New(raw, older)
})

// witnessed checks every answer of h in a test against the document, so that each test of the interface also tests
// its documentation.
func witnessed(t testing.TB, h http.Handler) http.Handler {
	t.Helper()
	w, err := theWitness()
	if err != nil {
		t.Fatal(err)
	}
	return w.Handler(h, func(err error) { t.Errorf("against the OpenAPI document: %v", err) })
}
