package httpapi

import (
	"crypto/sha256"
	"net/http"
	"testing"
)

func TestTheConsoleAsksForTheKeyThenTheUpgradeThenTheQueryThenTheOrigin(t *testing.T) {
	r := newRig(t)
	key := func(h http.Header) { h.Set("Apikey", testKey) }
	bearing := func(token string) func(http.Header) {
		return func(h http.Header) { h.Set("Authorization", "Bearer "+token) }
	}
	for _, c := range []struct {
		name, target string
		edit         func(http.Header)
		status       int
		code         string
	}{
		{"no key and nothing else right", "/ws/console?x=1", func(h http.Header) { h.Del("Upgrade") }, 401, "UNAUTHORIZED"},
		{"a wrong key", "/ws/console", func(h http.Header) { h.Set("Apikey", "wrong") }, 401, "UNAUTHORIZED"},
		{"a user's token", "/ws/console", bearing(r.token), 401, "UNAUTHORIZED"},
		{"an instance's token", "/ws/console", bearing(r.instance("a")), 401, "UNAUTHORIZED"},
		{"the key in the query, where logs of proxies have it", "/ws/console?apikey=" + testKey, nil, 401, "UNAUTHORIZED"},
		{"no upgrade", "/ws/console?x=1", func(h http.Header) { key(h); h.Del("Upgrade") }, 426, "UPGRADE_REQUIRED"},
		{"a query", "/ws/console?x=1", key, 400, "INVALID_QUERY"},
		{"a foreign origin", "/ws/console", func(h http.Header) { key(h); h.Set("Origin", "https://evil.example") }, 403, "ORIGIN_REFUSED"},
	} {
		t.Run(c.name, func(t *testing.T) { wantError(t, do(r.h, handshakeOf(c.target, c.edit)), c.status, c.code) })
	}
	r.hub.err = ErrTooManySockets
	wantError(t, do(r.h, handshakeOf("/ws/console", key)), 429, "LIMIT_REACHED")
	r.hub.err = nil
	if res := do(r.h, handshakeOf("/ws/console", key)); res.StatusCode != http.StatusSwitchingProtocols {
		t.Fatalf("with everything right: %d", res.StatusCode)
	}
	if v := r.hub.viewer; !v.Figures || v.Instance == nil || !v.Instance("a") || r.hub.stream.Token != sha256.Sum256([]byte(testKey)) {
		t.Errorf("the operator is let see %+v", v)
	}
}
