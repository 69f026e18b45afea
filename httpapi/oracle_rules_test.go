package httpapi

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"postern/batch"
	"postern/httpapi/rest"
)

// said is the part of an answer that a client can compare.
func said(t *testing.T, res *http.Response) string {
	t.Helper()
	body := text(t, res)
	id := res.Header.Get("X-Request-Id")
	h := res.Header.Clone()
	for _, name := range []string{"X-Request-Id", "Date", "Content-Length"} {
		h.Del(name)
	}
	return fmt.Sprint(res.StatusCode, h, strings.ReplaceAll(body, id, "ID"))
}

// TestForeignAndUnknownNamesAreAnsweredAlike on every route that names an instance or a batch, byte for byte
// except for the request id. What a caller sees of a batch of several instances does not name those of
// others.
func TestForeignAndUnknownNamesAreAnsweredAlike(t *testing.T) {
	r := newRig(t)
	for _, name := range []string{"mine", "foreign"} {
		r.instance(name)
	}
	batchOf := func(instances string) string {
		body := `{"name":"x","instances":` + instances + `,"recipients":["4915112345678"],"autoStart":false,"message":{"type":"text","payload":{"text":"x"}}}`
		return decoded[batch.View](t, r.with(r.token, "POST", "/message/batches", body)).ID.String()
	}
	foreign, both := batchOf(`["foreign"]`), batchOf(`["mine","foreign"]`)
	key := r.newKey(`{"name":"k","instances":["mine"],"scopes":["read","send","manage","pair","webhook","batch","metrics","media","deliveries"],"userId":"` + r.user.String() + `"}`).Key
	ask := func(method, path string) string {
		return said(t, r.with(key, method, path, `{}`))
	}
	item := uuid.NewString()
	instances, batches := 0, 0
	for _, row := range routes() {
		if row.Right == rest.Never || row.IsSocket() {
			continue
		}
		fill := func(name, id string) string {
			return concrete(strings.NewReplacer("{i}", name, "{item}", item).Replace(strings.Replace(row.Path, "/message/batches/{id}", "/message/batches/"+id, 1)))
		}
		switch {
		case strings.Contains(row.Path, "{i}"):
			instances++
			foreign, unknown := ask(row.Method, fill("foreign", "")), ask(row.Method, fill("none", ""))
			if foreign != unknown || !strings.HasPrefix(foreign, "403 ") || strings.Contains(foreign, "foreign") {
				t.Errorf("%s %s:\n%s\n%s", row.Method, row.Path, foreign, unknown)
			}
		case strings.HasPrefix(row.Path, "/message/batches/{id}"):
			batches++
			unknown := ask(row.Method, fill("", uuid.NewString()))
			if got := ask(row.Method, fill("", foreign)); got != unknown || !strings.HasPrefix(got, "404 ") {
				t.Errorf("%s %s:\n%s\n%s", row.Method, row.Path, got, unknown)
			}
			if got := ask(row.Method, fill("", both)); strings.Contains(got, "foreign") || !strings.Contains(row.Path, "{item}") && strings.HasPrefix(got, "404 ") {
				t.Errorf("%s %s of several:\n%s", row.Method, row.Path, got)
			}
		}
	}
	if instances < 80 || batches < 10 {
		t.Errorf("%d and %d routes were asked", instances, batches)
	}
	var created []string
	for _, name := range []string{"foreign", "none"} {
		body := `{"name":"x","instances":["mine","` + name + `"],"recipients":["4915112345678"],"message":{"type":"text","payload":{"text":"x"}}}`
		created = append(created, said(t, r.with(key, "POST", "/message/batches", body)))
	}
	if created[0] != created[1] || !strings.HasPrefix(created[0], "403 ") || strings.Contains(created[0], "foreign") {
		t.Errorf("POST /message/batches:\n%s", strings.Join(created, "\n"))
	}
	for _, list := range []string{
		said(t, r.with(key, "GET", "/message/batches", "")), said(t, r.with(key, "POST", "/message/batches/list", `{"instanceName":"mine"}`)),
	} {
		if strings.Contains(list, "foreign") || !strings.Contains(list, both) {
			t.Errorf("a list: %s", list)
		}
	}
	for _, path := range []string{"/instance?instanceName=", "/message/batches?instanceName=", "/ws/instance/events?event=*&instance="} {
		var all []string
		for _, name := range []string{"foreign", "none"} {
			req := httptest.NewRequest("GET", path+name, nil)
			if strings.HasPrefix(path, "/ws/") {
				req = handshakeOf(path+name, nil)
			}
			req.Header.Set("Authorization", "Bearer "+key)
			all = append(all, said(t, do(r.h, req)))
		}
		if len(slices.Compact(all)) != 1 {
			t.Errorf("GET %s:\n%s", path, strings.Join(all, "\n"))
		}
	}
}
