package rig

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
)

// KeyedAnswer is what a request with an Idempotency-Key got.
type KeyedAnswer struct {
	Status   int
	Body     string
	Replayed bool
}

func (a KeyedAnswer) String() string {
	return fmt.Sprintf("%d replayed %t: %s", a.Status, a.Replayed, a.Body)
}

// Field returns a field of the answer as text, empty when there is none.
func (a KeyedAnswer) Field(name string) string {
	var fields map[string]any
	_ = json.Unmarshal([]byte(a.Body), &fields)
	return fmt.Sprint(fields[name])
}

// WithKey posts with a key. A program that is killed meanwhile is no answer.
func (w *World) WithKey(token, key, path string, body any) (KeyedAnswer, error) {
	raw, err := json.Marshal(body)
	if err != nil {
		return KeyedAnswer{}, err
	}
	req, err := http.NewRequestWithContext(w.T.Context(), http.MethodPost, w.API.Base+path, bytes.NewReader(raw))
	if err != nil {
		return KeyedAnswer{}, err
	}
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("Idempotency-Key", key)
	res, err := w.API.HTTP.Do(req)
	if err != nil {
		return KeyedAnswer{}, err
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(res.Body)
	return KeyedAnswer{res.StatusCode, string(answer), res.Header.Get("idempotency-replayed") == "true"}, err
}

// MustWithKey is WithKey that ends the test when there is no answer.
func (w *World) MustWithKey(token, key, path string, body any) KeyedAnswer {
	w.T.Helper()
	a, err := w.WithKey(token, key, path, body)
	if err != nil {
		w.T.Fatal(err)
	}
	return a
}

// TextTo returns the body of a text.
func TextTo(number, text string, delayMs int) map[string]any {
	return map[string]any{"number": number, "textMessage": map[string]any{"text": text}, "options": map[string]any{"delay": delayMs}}
}
