package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"postern/batch"
	"postern/batch/record"
	"postern/event"
	"postern/httpapi/operator"
	"postern/httpapi/rest"
	"postern/httpapi/tokens"
)

// noFleet has instances that never send.
type noFleet struct{}

func (noFleet) Instance(int64) (string, event.State, bool) { return "", event.Offline, false }

func (noFleet) Gate(batch.Question) batch.Gate { return batch.Gate{} }

func (noFleet) Send(context.Context, int64, event.Outgoing) (batch.Receipt, error) {
	return batch.Receipt{}, errors.New("this fleet does not send")
}

func (r *rig) newUser() (uuid.UUID, string) {
	id := uuid.New()
	token, err := tokens.ForUser(testSecret, id, time.Hour, time.Now())
	if err != nil {
		r.t.Fatal(err)
	}
	return id, token
}

// create stores a draft.
func (r *rig) create(name string) batch.View {
	r.t.Helper()
	draft := false
	v, err := r.engine.Create(context.Background(), r.user, batch.CreateRequest{
		Name:       name,
		Instances:  []record.InstanceRef{{ID: 1, Name: "a"}},
		Recipients: []string{"+49 151 1111111", "491512222222"},
		Message:    event.BatchMessage{Type: "text", Payload: json.RawMessage(`{"text":"hi"}`)},
		AutoStart:  &draft,
	})
	if err != nil {
		r.t.Fatal(err)
	}
	return v
}

func (r *rig) as(token, method, path, body string) *http.Response {
	req := httptest.NewRequest(method, path, strings.NewReader(body))
	req.Header.Set("Authorization", "Bearer "+token)
	return do(r.h, req)
}

func (r *rig) do(method, path, body string) *http.Response {
	return r.as(r.token, method, path, body)
}

// decoded decodes an answer with status 200 or 201 into a T.
func decoded[T any](t testing.TB, res *http.Response) T {
	t.Helper()
	var v T
	if res.StatusCode != 200 && res.StatusCode != 201 {
		t.Fatalf("status %d: %+v", res.StatusCode, wantError(t, res, res.StatusCode, ""))
	}
	if err := json.NewDecoder(res.Body).Decode(&v); err != nil {
		t.Fatal(err)
	}
	return v
}

func TestBatchIsUnknownToOtherUsers(t *testing.T) {
	r := newRig(t)
	b := r.create("one")
	path := "/message/batches/" + b.ID.String()
	items := decoded[batch.List[batch.Item]](t, r.do("GET", path+"/items", ""))
	if len(items.Records) != 2 || items.TotalRecords != 2 {
		t.Fatalf("items %+v", items)
	}
	_, other := r.newUser()
	for _, p := range []string{"", "/items", "/attempts", "/items/" + items.Records[0].ID.String()} {
		if got := r.do("GET", path+p, "").StatusCode; got != 200 {
			t.Errorf("%s: status %d for the owner", p, got)
		}
		wantError(t, r.as(other, "GET", path+p, ""), 404, "BATCH_NOT_FOUND")
	}
	for _, act := range []string{"start", "resume", "pause", "stop"} {
		wantError(t, r.as(other, "POST", path+"/"+act, ""), 404, "BATCH_NOT_FOUND")
	}
}

func TestNonUUIDNamesNoBatchOrItem(t *testing.T) {
	r := newRig(t)
	b := r.create("one")
	for _, p := range []string{"x", "x/items", "x/items/y", "x/attempts", b.ID.String() + "/items/y", "urn:uuid:" + b.ID.String()} {
		wantError(t, r.do("GET", "/message/batches/"+p, ""), 404, "BATCH_NOT_FOUND")
	}
}

func TestSetBatchFieldsArePresentOverREST(t *testing.T) {
	r := newRig(t)
	b := r.create("one")
	got := decoded[map[string]json.RawMessage](t, r.do("GET", "/message/batches/"+b.ID.String(), ""))
	for _, f := range []string{
		"id", "name", "status", "progress", "counts", "createdAt", "updatedAt", "nextRunAt", "schedule", "autoResume", "options", "message", "ownerUserId",
		"instances", "interruptionReason", "lastInterruptedAt", "lastRecoveredAt", "externalAttributes",
	} {
		if _, there := got[f]; !there {
			t.Errorf("no %s", f)
		}
	}
	for _, f := range []string{"startedAt", "completedAt", "pausedAt", "stoppedAt", "interruptedAt"} {
		if at, there := got[f]; there {
			t.Errorf("%s is %s, and nothing of it happened", f, at)
		}
	}
	if string(got["schedule"]) != "null" {
		t.Errorf("schedule %s, want null", got["schedule"])
	}
}

func TestBatchListsByQueryAndBodyAgree(t *testing.T) {
	r := newRig(t)
	for _, name := range []string{"one", "two", "three"} {
		r.create(name)
	}
	first := decoded[batch.List[batch.View]](t, r.do("GET", "/message/batches?limit=2&status=DRAFT,QUEUED&status=PAUSED", ""))
	if len(first.Records) != 2 || first.TotalRecords != 3 || first.NextCursor == nil || first.PreviousCursor != nil {
		t.Fatalf("first page %+v", first)
	}
	if first.Records[0].Name != "three" {
		t.Errorf("the newest is not first: %s", first.Records[0].Name)
	}
	body := `{"limit":2,"status":["DRAFT","QUEUED","PAUSED"],"previousCursor":null,"nextCursor":"` + *first.NextCursor + `"}`
	second := decoded[batch.List[batch.View]](t, r.do("POST", "/message/batches/list", body))
	if len(second.Records) != 1 || second.Records[0].Name != "one" || second.NextCursor != nil || second.PreviousCursor == nil {
		t.Errorf("second page %+v", second)
	}
	if one := decoded[batch.List[batch.View]](t, r.do("POST", "/message/batches/list", `{"status":"DRAFT","name":"two"}`)); one.TotalRecords != 1 {
		t.Errorf("by name: %+v", one)
	}
	if none := decoded[batch.List[batch.View]](t, r.do("POST", "/message/batches/list", `{"status":"STOPPED"}`)); none.TotalRecords != 0 || none.Records == nil {
		t.Errorf("by another status: %+v", none)
	}
}

func TestBadListFiltersAre400(t *testing.T) {
	r := newRig(t)
	items := "/message/batches/" + r.create("one").ID.String() + "/items"
	for _, c := range []struct{ method, path, body, code string }{
		{"GET", "/message/batches?limit=0", "", "INVALID_QUERY"},
		{"GET", "/message/batches?limit=201", "", "INVALID_QUERY"},
		{"GET", "/message/batches?limit=x", "", "INVALID_QUERY"},
		{"GET", "/message/batches?limit=", "", "INVALID_QUERY"},
		{"GET", "/message/batches?limit=1&limit=2", "", "INVALID_QUERY"},
		{"GET", "/message/batches?nextCursor=a&previousCursor=b", "", "INVALID_QUERY"},
		{"GET", "/message/batches?nextCursor=!!", "", "INVALID_CURSOR"},
		{"GET", "/message/batches?stauts=DRAFT", "", "INVALID_QUERY"},
		{"GET", "/message/batches?status=draft", "", "INVALID_QUERY"},
		{"GET", "/message/batches?createdFrom=yesterday", "", "INVALID_QUERY"},
		{"GET", "/message/batches?%zz", "", "INVALID_QUERY"},
		{"GET", items + "?status=QUEUED", "", "INVALID_QUERY"},
		{"GET", items + "?limit=201", "", "INVALID_QUERY"},
		{"GET", items + "?name=x", "", "INVALID_QUERY"},
		{"POST", "/message/batches/list", `{"limit":201}`, "INVALID_QUERY"},
		{"POST", "/message/batches/list", `{"limit":"1"}`, "INVALID_TYPE"},
		{"POST", "/message/batches/list", `{"status":3}`, "INVALID_TYPE"},
		{"POST", "/message/batches/list", `{"Limit":1}`, "UNKNOWN_FIELD"},
		{"POST", "/message/batches/list", `[]`, "INVALID_TYPE"},
	} {
		t.Run(c.path+c.body, func(t *testing.T) { wantError(t, r.do(c.method, c.path, c.body), 400, c.code) })
	}
}

func TestBatchControlsFollowTheStateMachine(t *testing.T) {
	r := newRig(t)
	path := "/message/batches/" + r.create("one").ID.String()
	wantError(t, r.do("POST", path+"/pause", ""), 409, "INVALID_BATCH_TRANSITION")
	wantError(t, r.do("POST", path+"/start", `{"x":1}`), 400, "UNKNOWN_FIELD")
	for _, step := range []struct {
		act  string
		want event.BatchStatus
	}{
		{"start", event.BatchQueued},
		{"pause", event.BatchIsPaused},
		{"resume", event.BatchQueued},
		{"stop", event.BatchIsStopped},
		{"stop", event.BatchIsStopped},
	} {
		if got := decoded[batch.View](t, r.do("POST", path+"/"+step.act, "{}")); got.Status != step.want {
			t.Errorf("%s: status %s, want %s", step.act, got.Status, step.want)
		}
	}
	wantError(t, r.do("POST", path+"/start", ""), 409, "INVALID_BATCH_TRANSITION")
}

func TestUserTokensRequireTheKey(t *testing.T) {
	r := newRig(t)
	issue := func(body string) *http.Response {
		req := httptest.NewRequest("POST", "/auth/user-token", strings.NewReader(body))
		req.Header.Set("apikey", testKey)
		return do(r.h, req)
	}
	got := decoded[operator.UserToken](t, issue(`{"userId":"`+r.user.String()+`","expiresIn":60}`))
	if got.UserID != r.user.String() || time.Until(got.ExpiresAt.Time) > time.Minute {
		t.Errorf("got %+v", got)
	}
	if status := r.as(got.Token, "GET", "/message/batches", "").StatusCode; status != 200 {
		t.Errorf("the issued token answers %d", status)
	}
	fresh := decoded[operator.UserToken](t, issue(`{"expiresIn":31536000}`))
	if _, err := uuid.Parse(fresh.UserID); err != nil {
		t.Errorf("a fresh user is %q", fresh.UserID)
	}
	wantError(t, issue(`{}`), 400, "MISSING_FIELD")
	wantError(t, issue(`{"expiresIn":null}`), 400, "INVALID_TYPE")
	wantError(t, issue(`{"expiresIn":0}`), 422, "INVALID_EXPIRES_IN")
	wantError(t, issue(`{"expiresIn":31536001}`), 422, "INVALID_EXPIRES_IN")
	wantError(t, issue(`{"expiresIn":1,"userId":"me"}`), 422, "INVALID_USER_ID")
	wantError(t, r.do("POST", "/auth/user-token", `{"expiresIn":1}`), 401, "UNAUTHORIZED")
}

// TestARepeatedStatusIsAskedForOnce, because each batch, and each item, is compared with all of them.
func TestARepeatedStatusIsAskedForOnce(t *testing.T) {
	many := slices.Repeat([]string{"QUEUED", "PAUSED"}, 50_000)
	if got := rest.Distinct(many); !slices.Equal(got, []string{"PAUSED", "QUEUED"}) {
		t.Errorf("%d statuses", len(got))
	}
	if many[0] != "QUEUED" {
		t.Error("the caller's own list was changed")
	}
}
