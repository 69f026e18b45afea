package event

import (
	"net/url"
	"strings"
	"testing"
)

// impossible are URLs that name a port nobody can be reached at. Those with a
// port that is no number are refused by net/url already.
var impossible = []string{
	"http://example.org:0/", "http://example.org:00000/", "https://example.org:65536/", "http://example.org:99999999999999999999/",
	"http://example.org:/", "http://[2001:db8::1]:/hook", "http://[2001:db8::1]:0/hook", "http://127.0.0.1:70000",
}

func TestAnImpossiblePortIsRefused(t *testing.T) {
	for _, raw := range impossible {
		u, err := url.Parse(raw)
		if err != nil {
			t.Fatal(err)
		}
		if err := CheckPort(u); err == nil || !strings.Contains(err.Error(), "1 to 65535") {
			t.Errorf("%s: %v", raw, err)
		}
	}
	for _, raw := range []string{"http://example.org", "http://example.org:1/", "https://example.org:65535/", "http://[2001:db8::1]/", "http://[2001:db8::1]:8080/"} {
		u, err := url.Parse(raw)
		if err != nil {
			t.Fatal(err)
		}
		if err := CheckPort(u); err != nil {
			t.Errorf("%s: %v", raw, err)
		}
	}
}

func TestMediaURLWithInvalidPortIsRefused(t *testing.T) {
	for _, raw := range append(impossible, "http://example.org:http/", "http://example.org:-1/") {
		if err := checkURL("mediaMessage.media", raw); err == nil || !strings.Contains(err.Error(), "mediaMessage.media") {
			t.Errorf("%s: %v", raw, err)
		}
	}
}
