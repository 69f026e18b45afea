package httpapi

import (
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"time"

	"postern/peers"
)

// logRequest names the pattern and not the path, and never the query: tokens
// travel there on WebSocket paths. Only of what was not found it has the path, for
// there the pattern does not tell what was asked for. Of a refusal it has the
// code, which tells an operator why, and not the messages, which may repeat what
// the caller sent.
func (a *api) logRequest(w *response, r *http.Request, took time.Duration) {
	log := a.log
	if w.code != "" {
		log = log.With("address", peers.Name(a.Proxies.Client(r)))
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
	if w.status == http.StatusNotFound || w.status == http.StatusMethodNotAllowed {
		log = log.With("path", printablePath(withoutSecret(r.URL.Path)))
	}
	log.LogAttrs(r.Context(), w.logLevel(), "request", slog.String("method", printable(r.Method)), slog.String("route", w.pattern),
		slog.Int("status", w.status), slog.Duration("duration", took), slog.String("request_id", w.requestID))
}

// logLevel hides what monitoring asks for every few seconds. A scrape that was
// refused is none of it.
func (w *response) logLevel() slog.Level {
	switch {
	case w.pattern == "/health" || w.pattern == "/ready", w.pattern == pathMetrics && w.status < 400:
		return slog.LevelDebug
	}
	return slog.LevelInfo
}

// maxLoggedPath is how much of a path a log line repeats.
const maxLoggedPath = 100

// printablePath is what a log line may have of a path that a stranger made up:
// its beginning, in printable ASCII with everything else escaped, quotation marks
// too. The log puts its own around it where it needs them.
func printablePath(path string) string {
	cut := path[:min(len(path), maxLoggedPath)]
	quoted := strconv.QuoteToASCII(cut)
	quoted = quoted[1 : len(quoted)-1]
	if len(cut) < len(path) {
		return quoted + "..."
	}
	return quoted
}

// withoutSecret is a path without the secret of a portal link, and what follows that.
func withoutSecret(path string) string {
	end := 0
	for word := range strings.SplitSeq(path, "/") {
		end += len(word) + len("/")
		if strings.EqualFold(word, "portal") && end < len(path) {
			return path[:end] + "..."
		}
	}
	return path
}

// printable cuts a method of the caller's invention to something to print.
func printable(method string) string { return method[:min(len(method), 16)] }
