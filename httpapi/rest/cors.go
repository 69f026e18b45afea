package rest

import (
	"net/http"
	"slices"
)

// What a page of another origin may send and read; browsers ask this first.
const (
	corsMethods = "GET, POST, PUT, PATCH, DELETE"
	corsHeaders = "Authorization, apikey, x-api-key, Content-Type, Idempotency-Key, X-Request-Id, Mcp-Session-Id, Mcp-Protocol-Version"
	corsExposed = "Content-Disposition, Idempotency-Replayed, Retry-After, Warning, X-Request-Id, Mcp-Session-Id"
	corsMaxAge  = "600" // seconds that a browser need not ask again
)

// AllowOrigins lets pages of these origins call h from a browser; each origin is written as browsers
// send it. Other callers are not affected. Cookies are not allowed: a page needs its own key or
// token.
func AllowOrigins(h http.Handler, origins []string) http.Handler {
	if len(origins) == 0 {
		return h
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		origin := r.Header.Get("Origin")
		if !slices.Contains(origins, origin) {
			h.ServeHTTP(w, r)
			return
		}
		answer := w.Header()
		answer.Set("Access-Control-Allow-Origin", origin)
		answer.Add("Vary", "Origin")
		if r.Method == http.MethodOptions && r.Header.Get("Access-Control-Request-Method") != "" {
			answer.Set("Access-Control-Allow-Methods", corsMethods)
			answer.Set("Access-Control-Allow-Headers", corsHeaders)
			answer.Set("Access-Control-Max-Age", corsMaxAge)
			answer.Set(RequestIDHeader, RequestID(r.Header))
			w.WriteHeader(http.StatusNoContent)
			return
		}
		answer.Set("Access-Control-Expose-Headers", corsExposed)
		h.ServeHTTP(w, r)
	})
}
