package s3

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

// newSilent returns the URL of a server that does not answer before release.
func newSilent(t *testing.T, release <-chan struct{}) string {
	s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-release }))
	t.Cleanup(s.Close)
	return s.URL
}
