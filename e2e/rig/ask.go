package rig

import (
	"bufio"
	"io"
	"net/http"
	"strconv"
	"strings"

	"postern/cli/consumer"
)

// Metric reads one figure of the program, -1 when there is none.
func (w *World) Metric(name string) float64 {
	w.T.Helper()
	req, err := http.NewRequestWithContext(w.T.Context(), http.MethodGet, w.API.Base+"/metrics", nil)
	if err != nil {
		w.T.Fatal(err)
	}
	req.Header.Set("apikey", w.Sec.GlobalAuthToken)
	resp, err := w.API.HTTP.Do(req)
	if err != nil {
		return -1
	}
	defer resp.Body.Close()
	for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
		if value, ok := strings.CutPrefix(lines.Text(), name+" "); ok {
			f, err := strconv.ParseFloat(value, 64)
			if err != nil {
				w.T.Fatal(err)
			}
			return f
		}
	}
	return -1
}

// Raw sends a body as it is and returns the answer as it is.
func (w *World) Raw(cred consumer.Credential, method, path, body string) (status int, answer string) {
	w.T.Helper()
	req, err := http.NewRequestWithContext(w.T.Context(), method, w.API.Base+path, strings.NewReader(body))
	if err != nil {
		w.T.Fatal(err)
	}
	req.Header.Set(cred.Name, cred.Value)
	res, err := w.API.HTTP.Do(req)
	if err != nil {
		w.T.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		w.T.Fatal(err)
	}
	return res.StatusCode, string(text)
}
