package rest

import (
	"log/slog"
	"net/http"
	"time"

	"postern/internal/peers"
)

// PathMetrics is the path of the Prometheus metrics.
const PathMetrics = "/metrics"

// logRequest logs the pattern of a request and never its path or query: both may contain phone
// numbers, tokens and whole keys, even if no such path exists. For a refusal it logs the code,
// which shows an operator the reason, and not the messages, which may repeat what the caller
// sent.
func (s *Server) logRequest(w *Response, r *http.Request, took time.Duration) {
	log := s.Log
	if w.code != "" {
		log = log.With("address", peers.Name(s.Proxies.Client(r)))
	}
	if w.key != "" {
		log = log.With("key", w.key)
	}
	if w.wrong {
		log = log.With("credential", "wrong")
	}
	if w.code != "" {
		log = log.With("code", w.code)
	}
	log.LogAttrs(r.Context(), w.logLevel(), "request", slog.String("method", knownMethod(r.Method)), slog.String("route", w.Pattern),
		slog.Int("status", w.Status), slog.Duration("duration", took), slog.String("request_id", w.requestID))
}

// logLevel logs frequent requests of monitoring at debug level, unless they were
// refused.
func (w *Response) logLevel() slog.Level {
	switch {
	case w.Pattern == "/health" || w.Pattern == "/ready", w.Pattern == PathMetrics && w.Status < 400:
		return slog.LevelDebug
	}
	return slog.LevelInfo
}

// knownMethod returns a known method, or "other" for an unknown one, which may be any text.
func knownMethod(method string) string {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions,
		http.MethodConnect, http.MethodTrace:
		return method
	}
	return "other"
}

// printable truncates an unknown method.
func printable(method string) string { return method[:min(len(method), 16)] }
