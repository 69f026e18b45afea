package httpapi

import (
	"compress/gzip"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
)

// rows returns the names of the instances that a query selects.
func (r *rig) rows(query string) (names []string) {
	r.t.Helper()
	for _, row := range decoded[[]struct{ Name string }](r.t, r.admin("GET", "/instance"+query, "")) {
		names = append(names, row.Name)
	}
	return names
}

// TestInstancesAreSelectedByEachParameter: equal ones are alternatives except for tags, different ones must all hold.
func TestInstancesAreSelectedByEachParameter(t *testing.T) {
	r := newRig(t)
	for _, one := range [][2]string{{"a", "São Paulo desk"}, {"b", "Night desk"}, {"c", "Returns"}} {
		if res := r.admin("POST", "/instance", `{"instanceName":"`+one[0]+`","description":"`+one[1]+`"}`); res.StatusCode != http.StatusCreated {
			t.Fatal(res.Status)
		}
	}
	manager := r.newKey(`{"name":"tags","instances":["*"],"scopes":["manage"]}`).Key
	for name, tags := range map[string]string{"a": `["north"," paying ","north"]`, "b": `["north"]`, "c": `["Paying"]`} {
		if res := r.with(manager, "PUT", "/instance/"+name+"/tags", `{"tags":`+tags+`}`); res.StatusCode != http.StatusOK {
			t.Fatalf("tags of %s: %s", name, res.Status)
		}
	}
	for query, want := range map[string]string{
		"?tag=north": "a b", "?tag=north&tag=paying": "a", "?tag=paying": "a", "?query=SAO": "a", "?query=desk&tag=north": "a b", "?query=PAYING": "a c",
		"?state=OFFLINE": "a b c", "?state=online": "", "?state=online&state=offline&query=return": "c", "?trouble=INSTANCE_OFFLINE": "", "?instanceName=b": "b",
	} {
		if got := strings.Join(r.rows(query), " "); got != want {
			t.Errorf("%s: %q, want %q", query, got, want)
		}
	}
	for _, query := range []string{"?state=gone", "?trouble=GONE", "?limit=0", "?limit=1001", "?nextCursor=x"} {
		if res := r.admin("GET", "/instance"+query, ""); res.StatusCode != http.StatusBadRequest {
			t.Errorf("%s: %s", query, res.Status)
		}
	}
	bare, err := New(r.config) // the document has the array alone, for generated clients
	if err != nil {
		t.Fatal(err)
	}
	var seen []string
	for query := "?limit=2"; ; {
		var page struct {
			NextCursor   *string
			TotalRecords int
			Records      []struct{ Name string }
		}
		req := httptest.NewRequest(http.MethodGet, "/instance"+query, nil)
		req.Header.Set("apikey", testKey)
		answer := httptest.NewRecorder()
		bare.ServeHTTP(answer, req)
		if err := json.Unmarshal(answer.Body.Bytes(), &page); err != nil {
			t.Fatal(err)
		}
		for _, row := range page.Records {
			seen = append(seen, row.Name)
		}
		if page.TotalRecords != 3 {
			t.Errorf("%d in all", page.TotalRecords)
		}
		if page.NextCursor == nil {
			break
		}
		query = "?limit=2&nextCursor=" + *page.NextCursor
	}
	if slices.Sort(seen); strings.Join(seen, "") != "abc" {
		t.Errorf("page by page: %v", seen)
	}
}

// TestTagsAreCheckedAndKeptInOrder: a refused request changes nothing.
func TestTagsAreCheckedAndKeptInOrder(t *testing.T) {
	r := newRig(t)
	r.admin("POST", "/instance", `{"instanceName":"a"}`)
	manager := r.newKey(`{"name":"tags","instances":["*"],"scopes":["manage"]}`).Key
	got := decoded[struct{ Tags []string }](t, r.with(manager, "PUT", "/instance/a/tags", `{"tags":["z"," b ","Z","z"]}`))
	if strings.Join(got.Tags, ",") != "z,b,Z" {
		t.Errorf("%v", got.Tags)
	}
	many, err := json.Marshal(strings.Split("a b c d e f g h i j k l m n o p q", " "))
	if err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{`["a,b"]`, `[""]`, `["  "]`, `["a\u0007"]`, `["` + strings.Repeat("x", 41) + `"]`, string(many)} {
		wantError(t, r.with(manager, "PUT", "/instance/a/tags", `{"tags":`+bad+`}`), 422, "INVALID_TAG")
	}
	rows := decoded[[]struct{ Tags, Troubles []string }](t, r.admin("GET", "/instance", ""))
	if strings.Join(rows[0].Tags, ",") != "z,b,Z" || rows[0].Troubles == nil {
		t.Errorf("after refused requests: %+v", rows)
	}
	if got = decoded[struct{ Tags []string }](t, r.with(manager, "PUT", "/instance/a/tags", `{"tags":[]}`)); got.Tags == nil || len(got.Tags) != 0 {
		t.Errorf("none: %v", got.Tags)
	}
}

// TestListsHaveAnETagOfTheirCredential and are compressed for those who ask.
func TestListsHaveAnETagOfTheirCredential(t *testing.T) {
	r := newRig(t)
	for name := range strings.FieldsSeq("a b c d e f g h") {
		r.admin("POST", "/instance", `{"instanceName":"`+name+`"}`)
	}
	key := r.newKey(`{"name":"all","instances":["*"],"scopes":["read"]}`)
	ask := func(auth, header, value string) *http.Response {
		req := httptest.NewRequest(http.MethodGet, "/instance", nil)
		req.Header.Set("Authorization", "Bearer "+auth)
		if auth == "" {
			req.Header.Del("Authorization")
			req.Header.Set("apikey", testKey)
		}
		if header != "" {
			req.Header.Set(header, value)
		}
		return do(r.h, req)
	}
	first, other := ask(key.Key, "", ""), ask("", "", "")
	tag := first.Header.Get("ETag")
	if !strings.HasPrefix(tag, `W/"`) || tag == other.Header.Get("ETag") {
		t.Errorf("%q for a key, %q for the operator", tag, other.Header.Get("ETag"))
	}
	if again := ask(key.Key, "If-None-Match", tag); again.StatusCode != http.StatusNotModified || again.Header.Get("ETag") != tag {
		t.Errorf("again: %s", again.Status)
	}
	if foreign := ask("", "If-None-Match", tag); foreign.StatusCode != http.StatusOK {
		t.Errorf("with the tag of another credential: %s", foreign.Status)
	}
	packed := ask(key.Key, "Accept-Encoding", "gzip")
	if packed.Header.Get("Content-Encoding") != "gzip" || packed.Header.Get("ETag") != tag || !strings.Contains(packed.Header.Get("Vary"), "Accept-Encoding") {
		t.Fatalf("packed: %v", packed.Header)
	}
	plain, err := io.ReadAll(first.Body)
	if err != nil {
		t.Fatal(err)
	}
	unpacked, err := gzip.NewReader(packed.Body)
	if err != nil {
		t.Fatal(err)
	}
	if same, err := io.ReadAll(unpacked); err != nil || string(same) != string(plain) {
		t.Errorf("unpacked: %v", err)
	}
	if off := ask(key.Key, "Accept-Encoding", "gzip;q=0"); off.Header.Get("Content-Encoding") != "" {
		t.Error("packed for a client that refuses it")
	}
	r.with(r.newKey(`{"name":"tags","instances":["*"],"scopes":["manage"]}`).Key, "PUT", "/instance/a/tags", `{"tags":["new"]}`)
	if changed := ask(key.Key, "If-None-Match", tag); changed.StatusCode != http.StatusOK {
		t.Errorf("after a change: %s", changed.Status)
	}
	req := httptest.NewRequest(http.MethodPost, "/instance", strings.NewReader(`{"instanceName":"secret","externalAttributes":{"x":"`+strings.Repeat("y", 2000)+`"}}`))
	req.Header.Set("apikey", testKey)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept-Encoding", "gzip")
	if res := do(r.h, req); res.StatusCode != http.StatusCreated || res.Header.Get("Content-Encoding") != "" {
		t.Errorf("an answer with a token: %s %v", res.Status, res.Header)
	}
}
