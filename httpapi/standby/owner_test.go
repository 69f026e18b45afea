package standby

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// Whatever a handler does first, a process that does not own its cell answers 503.
func TestFormerOwnerAnswersNothing(t *testing.T) {
	for name, answer := range map[string]func(w http.ResponseWriter){
		"status": func(w http.ResponseWriter) { w.WriteHeader(http.StatusCreated) },
		"body":   func(w http.ResponseWriter) { _, _ = io.WriteString(w, "secret") },
		"flush":  func(w http.ResponseWriter) { _ = http.NewResponseController(w).Flush() },
		"hijack": func(w http.ResponseWriter) {
			if _, _, err := http.NewResponseController(w).Hijack(); err == nil {
				t.Error("the connection was handed out")
			}
		},
		"body in parts": func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", "text/plain")
			w.Header().Set("Set-Cookie", "a=b")
			_, _ = io.WriteString(w, "se")
			_, _ = io.WriteString(w, "cret")
		},
	} {
		t.Run(name, func(t *testing.T) {
			for _, valid := range []bool{true, false} {
				w := httptest.NewRecorder()
				g := &guarded{ResponseWriter: w, request: httptest.NewRequest(http.MethodGet, "/instance", nil), valid: func() bool { return valid }}
				if valid && name == "hijack" {
					continue
				}
				answer(g)
				refused := w.Code == http.StatusServiceUnavailable && strings.Contains(w.Body.String(), "NO_OWNER") && w.Header().Get("Retry-After") == "1"
				if refused == valid || !valid && (strings.Contains(w.Body.String(), "secret") || w.Header().Get("Set-Cookie") != "") {
					t.Errorf("valid %v: %d %v %q", valid, w.Code, w.Header(), w.Body)
				}
			}
		})
	}
}
