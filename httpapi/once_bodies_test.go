package httpapi

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"postern/batch"
	"postern/httpapi/idempotency"
	"postern/httpapi/rest"
)

func TestCreatedBatchIsNotCreatedAgain(t *testing.T) {
	r := newRig(t)
	r.instance("a")
	body := batchBody("externalAttributes", `{"k":"<é>"}`)
	first := r.keyed(r.token, "k", "/message/batches", body)
	if first.status != 201 {
		t.Fatal(first)
	}
	in, err := r.registry.ByName("a")
	if err != nil {
		t.Fatal(err)
	}
	if err := r.registry.Delete(t.Context(), in.ID, true); err != nil {
		t.Fatal(err)
	}
	again := r.keyed(r.token, "k", "/message/batches", body)
	if again.status != 201 || !again.replayed || again.body != first.body {
		t.Errorf("\n got %v\nwant %v", again, first)
	}
	if got := r.keyed(r.token, "k2", "/message/batches", body); got.status != 422 {
		t.Errorf("a new key: %v", got)
	}
	r.wantBatches(1)
}

func (r *rig) wantBatches(n int) {
	r.t.Helper()
	list := decoded[batch.List[batch.View]](r.t, r.do("GET", "/message/batches", ""))
	if list.TotalRecords != n {
		r.t.Errorf("%d batches, want %d", list.TotalRecords, n)
	}
}

func TestALargeBatchIsKeptToo(t *testing.T) {
	r := newRig(t)
	r.instance("a")
	var list strings.Builder
	for n := range 20_000 {
		fmt.Fprintf(&list, `,"+49 (151) %08d"`, n)
	}
	body := batchBody("recipients", "["+list.String()[1:]+"]")
	first := r.keyed(r.token, "k", "/message/batches", body)
	again := r.keyed(r.token, "k", "/message/batches", body)
	if first.status != 201 || !again.replayed || again.body != first.body {
		t.Errorf("first %v, again %v", first, again)
	}
	if got := r.keyed(r.token, "k", "/message/batches", strings.Replace(body, "00019999", "00029999", 1)); got.code() != "IDEMPOTENCY_KEY_REUSED" {
		t.Error(got)
	}
	r.wantBatches(1)
}

func TestABatchThatIsRefusedFreesItsKey(t *testing.T) {
	r := newRig(t)
	if got := r.keyed(r.token, "k", "/message/batches", batchBody("", "")); got.status != 422 {
		t.Error(got)
	}
	r.instance("a")
	if got := r.keyed(r.token, "k", "/message/batches", batchBody("", "")); got.status != 201 || got.replayed {
		t.Error(got)
	}
}

// multipartBody returns the same two parts with a new boundary.
func multipartBody(boundary, file string) string {
	part := func(disposition, content string) string {
		return "--" + boundary + "\r\nContent-Disposition: form-data; " + disposition + "\r\n\r\n" + content + "\r\n"
	}
	return part(`name="number"`, "4915112345678") + part(`name="attachment"; filename="a.txt"`, file) + "--" + boundary + "--\r\n"
}

func TestMultipartBodiesCompareByTheirParts(t *testing.T) {
	r := newRig(t)
	token := r.instance("a")
	ran := 0
	upload := func(c *rest.Call) error {
		parts, err := c.Request.MultipartReader()
		if err != nil {
			return err
		}
		d := idempotency.NewParts()
		for {
			p, err := parts.NextPart()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				return err
			}
			if _, err := io.Copy(d.Next(p.FormName(), p.FileName()), p); err != nil {
				return err
			}
		}
		if err := c.Claim(d.Sum()); err != nil {
			return err
		}
		ran++
		return c.Response.JSON(http.StatusAccepted, struct{}{})
	}
	row := rest.Route{Method: "POST", Path: "/instance/{i}/upload", Auth: rest.InstanceBearer, Right: rest.Never, Handle: upload, Once: true}
	a := r.api.Server
	a.Router.Add(row.Method, row.Path, a.Handler(row))
	post := func(boundary, file string) answer {
		req := keyedRequest(t.Context(), token, "k", "/instance/a/upload", multipartBody(boundary, file))
		req.Header.Set("Content-Type", "multipart/form-data; boundary="+boundary)
		return read(t, do(r.h, req))
	}
	if got := post("one", "content"); got.status != 202 || got.replayed {
		t.Fatal(got)
	}
	if got := post("two", "content"); got.status != 202 || !got.replayed {
		t.Error(got)
	}
	if got := post("two", "contents"); got.code() != "IDEMPOTENCY_KEY_REUSED" || ran != 1 {
		t.Errorf("%v; ran %d times", got, ran)
	}
}
