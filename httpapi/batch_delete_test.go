package httpapi

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/uuid"

	"postern/batch"
	"postern/httpapi/rest"
)

func (r *rig) wantDeleted(token string, id uuid.UUID) {
	r.t.Helper()
	res := r.as(token, http.MethodDelete, "/message/batches/"+id.String(), "")
	body, err := io.ReadAll(res.Body)
	if res.StatusCode != http.StatusNoContent || len(body) > 0 || err != nil || res.Header.Get("Content-Type") != "" {
		r.t.Errorf("deletion: %d %q %v (%v)", res.StatusCode, body, res.Header, err)
	}
}

func TestOwnerDeletesAFinalBatch(t *testing.T) {
	r := newRig(t)
	b, other := r.create("one"), r.create("two")
	path := "/message/batches/" + b.ID.String()
	refused := wantError(t, r.do(http.MethodDelete, path, ""), http.StatusConflict, "INVALID_BATCH_TRANSITION")
	if text := refused.Messages[0]; !strings.Contains(text, "DRAFT") || !strings.Contains(text, "stop it first") {
		t.Errorf("the refusal says %q", text)
	}
	decoded[batch.View](t, r.do(http.MethodPost, path+"/stop", ""))
	_, stranger := r.newUser()
	wantError(t, r.as(stranger, http.MethodDelete, path, ""), http.StatusNotFound, "BATCH_NOT_FOUND")
	wantError(t, r.do(http.MethodDelete, path, `{"force":true}`), http.StatusBadRequest, rest.CodeUnknownField)
	r.emit(b.ID, 3, struct{}{})
	if n := len(decoded[outboxPage](t, r.do(http.MethodGet, path+"/events", "")).Records); n != 3 {
		t.Fatalf("%d events", n)
	}
	r.wantDeleted(r.token, b.ID)
	for _, ask := range []string{"GET ", "DELETE ", "GET /items", "GET /attempts", "GET /processing", "GET /events", "POST /start", "POST /stop"} {
		method, rest, _ := strings.Cut(ask, " ")
		wantError(t, r.do(method, path+rest, ""), http.StatusNotFound, "BATCH_NOT_FOUND")
	}
	list := decoded[batch.List[batch.View]](t, r.do(http.MethodGet, "/message/batches", ""))
	if list.TotalRecords != 1 || len(list.Records) != 1 || list.Records[0].ID != other.ID {
		t.Errorf("the list has %d batches: %+v", list.TotalRecords, list.Records)
	}
	wantError(t, r.do(http.MethodDelete, "/message/batches/nothing", ""), http.StatusNotFound, "BATCH_NOT_FOUND")
}

// A client that never received the answer repeats a creation after its batch was deleted: this makes no second batch, which
// would send everything again.
func TestRepeatedCreationOfDeletedBatchCreatesNothing(t *testing.T) {
	r := newRig(t)
	r.instance("a")
	const body = `{"name":"n","instances":["a"],"recipients":["4915111111111"],"message":{"type":"text","payload":{"text":"hi"}},"autoStart":false}`
	first := r.keyed(r.token, "once", "/message/batches", body)
	var made batch.View
	if err := json.Unmarshal([]byte(first.body), &made); err != nil || first.status != http.StatusCreated {
		t.Fatal(first, err)
	}
	decoded[batch.View](t, r.do(http.MethodPost, "/message/batches/"+made.ID.String()+"/stop", ""))
	r.wantDeleted(r.token, made.ID)
	again := r.keyed(r.token, "once", "/message/batches", body)
	if again.status != http.StatusCreated || !again.replayed || string(again.body) != string(first.body) {
		t.Errorf("repeated: %s, want %s", again, first)
	}
	if list := decoded[batch.List[batch.View]](t, r.do(http.MethodGet, "/message/batches", "")); list.TotalRecords != 0 {
		t.Errorf("there are %d batches", list.TotalRecords)
	}
}

func TestOperatorControlsBatchesOfAllUsers(t *testing.T) {
	r := newRig(t)
	mine := r.create("mine")
	owner := r.user
	r.user, _ = r.newUser()
	theirs := r.create("theirs")
	names := func(query string) string {
		t.Helper()
		list := decoded[batch.List[batch.View]](t, r.admin(http.MethodGet, "/admin/batches"+query, ""))
		var all []string
		for _, v := range list.Records {
			all = append(all, v.Name)
		}
		if list.TotalRecords < len(all) {
			t.Errorf("%s: %d of %d", query, len(all), list.TotalRecords)
		}
		return strings.Join(all, " ")
	}
	first := decoded[batch.List[batch.View]](t, r.admin(http.MethodGet, "/admin/batches?limit=1", ""))
	for query, want := range map[string]string{
		"": "theirs mine", "?ownerUserId=" + owner.String(): "mine", "?ownerUserId=" + uuid.NewString(): "", "?limit=1": "theirs",
		"?limit=1&nextCursor=" + *first.NextCursor: "mine", "?status=DRAFT": "theirs mine", "?status=DRAFT&ownerUserId=" + owner.String(): "mine",
		"?status=STOPPED": "", "?name=mine": "mine", "?query=THE": "theirs", "?instanceName=b": "",
		"?createdFrom=2099-01-01T00:00:00Z": "", "?createdTo=2099-01-01T00:00:00Z": "theirs mine",
	} {
		if got := names(query); got != want {
			t.Errorf("%s: %q, want %q", query, got, want)
		}
	}
	for _, query := range []string{"?ownerUserId=", "?ownerUserId=x", "?ownerUserId={" + owner.String() + "}", "?status=x", "?limit=0", "?owner=x"} {
		wantError(t, r.admin(http.MethodGet, "/admin/batches"+query, ""), http.StatusBadRequest, rest.CodeInvalidQuery)
	}
	// A cursor of one list is not valid for another.
	wantError(t, r.admin(http.MethodGet, "/admin/batches?ownerUserId="+owner.String()+"&nextCursor="+*first.NextCursor, ""), http.StatusBadRequest, rest.CodeNoCursor)

	path := "/admin/batches/" + theirs.ID.String()
	wantError(t, r.admin(http.MethodPost, path+"/pause", ""), http.StatusConflict, "INVALID_BATCH_TRANSITION") // of a draft
	if v := decoded[batch.View](t, r.admin(http.MethodPost, path+"/stop", "")); v.Status != "STOPPED" || v.OwnerUserID != r.user {
		t.Errorf("stopped: %+v", v)
	}
	if names("?status=STOPPED") != "theirs" {
		t.Error("the stopped batch is not listed as such")
	}
	wantError(t, r.admin(http.MethodPost, "/admin/batches/"+uuid.NewString()+"/stop", ""), http.StatusNotFound, "BATCH_NOT_FOUND")
	for _, ask := range []string{"GET /admin/batches", "POST /admin/batches/" + mine.ID.String() + "/stop", "POST /admin/batches/" + mine.ID.String() + "/pause"} {
		method, path, _ := strings.Cut(ask, " ")
		wantError(t, r.do(method, path, ""), http.StatusUnauthorized, rest.CodeUnauthorized) // a user is no operator
	}
}
