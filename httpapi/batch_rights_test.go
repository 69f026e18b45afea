package httpapi

import (
	"testing"

	"github.com/google/uuid"

	"postern/batch"
)

// TestBatchEventsFollowAChangeOfInstances adds a foreign instance to a batch, and then removes the key's.
func TestBatchEventsFollowAChangeOfInstances(t *testing.T) {
	r := newRig(t)
	r.instance("mine")
	r.instance("foreign")
	k := r.newKey(`{"name":"k","instances":["mine"],"scopes":["batch"],"userId":"` + r.user.String() + `"}`)
	path := "/message/batches/" + decoded[batch.View](t, r.with(r.token, "POST", "/message/batches", `{"name":"n","instances":["mine"],"autoStart":false,`+oneMessage+`}`)).ID.String()
	key, err := r.api.Access.Keys.Get(k.ID)
	if err != nil {
		t.Fatal(err)
	}
	tells := r.api.batches.Tells(&key)
	const mine, foreign = `{"id":1,"name":"mine"}`, `{"id":2,"name":"foreign"}`
	event := func(instances string) string {
		return `{"data":{"batch":{"id":"` + path[len("/message/batches/"):] + `","instances":[` + instances + `]}},"event":"message.batch.progress"}`
	}
	for _, row := range []struct{ to, body, want string }{
		{`["mine"]`, event(mine), event(mine)},
		{`["mine","foreign"]`, event(mine + "," + foreign), event(mine)},
		{`["foreign"]`, event(foreign), ""},
	} {
		if res := r.with(r.token, "PATCH", path, `{"instances":`+row.to+`}`); res.StatusCode != 200 {
			t.Fatal(text(t, res))
		}
		if got := string(tells([]byte(row.body))); got != row.want {
			t.Errorf("with %s:\n%s\nwant\n%s", row.to, got, row.want)
		}
	}
}

// TestBatchEventsNameOnlyTheKeysInstances and do not change otherwise.
func TestBatchEventsNameOnlyTheKeysInstances(t *testing.T) {
	r := newRig(t)
	r.instance("mine")
	r.instance("foreign")
	k := r.newKey(`{"name":"k","instances":["mine"],"scopes":["batch"],"userId":"` + r.user.String() + `"}`)
	made := func(instances string) string {
		body := `{"name":"n","instances":` + instances + `,"autoStart":false,` + oneMessage + `}`
		return decoded[batch.View](t, r.with(r.token, "POST", "/message/batches", body)).ID.String()
	}
	both, other := made(`["mine","foreign"]`), made(`["foreign"]`)
	key, err := r.api.Access.Keys.Get(k.ID)
	if err != nil {
		t.Fatal(err)
	}
	tells := r.api.batches.Tells(&key)
	const mine, foreign = `{"id":1,"name":"mine","connectionStatus":"online","selectedCount":7}`, `{"id":2,"name":"foreign","connectionStatus":"online","selectedCount":1}`
	item := func(name string) string {
		return `{"id":"i","instanceName":"` + name + `","position":3,"recipient":"49151"}`
	}
	for _, row := range []struct{ body, want string }{
		{
			`{"event":"message.batch.created","data":{"batch":{"id":"` + both + `","message":{"payload":{"a":1.50}},"instances":[` + mine + `,` + foreign + `]}}}`,
			`{"data":{"batch":{"id":"` + both + `","instances":[` + mine + `],"message":{"payload":{"a":1.50}}}},"event":"message.batch.created"}`,
		},
		{
			`{"event":"message.batch.progress","data":{"batch":{"currentItem":` + item("foreign") + `,"id":"` + both + `","instances":[` + foreign + `,` + mine + `]}}}`,
			`{"data":{"batch":{"currentItem":` + item("") + `,"id":"` + both + `","instances":[` + mine + `]}},"event":"message.batch.progress"}`,
		},
		{
			`{"event":"message.batch.progress","data":{"batch":{"currentItem":` + item("mine") + `,"id":"` + both + `","instances":[` + foreign + `,` + mine + `]}}}`,
			`{"data":{"batch":{"currentItem":` + item("mine") + `,"id":"` + both + `","instances":[` + mine + `]}},"event":"message.batch.progress"}`,
		},
		{`{"event":"message.batch.completed-with-errors","data":{"batch":{"id":"` + both + `","name":"<é&>"}}}`, `{"data":{"batch":{"id":"` + both + `","name":"<é&>"}},"event":"message.batch.completed-with-errors"}`},
		{`{"event":"message.batch.item.failed","data":{"batchId":"` + both + `","instance":{"id":1,"name":"mine"}}}`, `{"event":"message.batch.item.failed","data":{"batchId":"` + both + `","instance":{"id":1,"name":"mine"}}}`},
		{`{"event":"message.batch.item.failed","data":{"batchId":"` + both + `","instance":{"id":2,"name":"foreign"}}}`, ""},
		{`{"event":"message.batch.item.failed","data":{"batchId":"` + other + `","instance":{"id":2,"name":"foreign"}}}`, ""},
		{`{"event":"message.batch.created","data":{"batch":{"id":"` + other + `"}}}`, ""},
		{`{"event":"message.batch.created","data":{"batch":{"id":"` + uuid.NewString() + `"}}}`, ""},
		{`{"event":"message.batch.created","data":{"batch":{"id":"` + both + `","instances":"x"}}}`, ""},
		{`{"event":"message.batch.created","data":{"batch":{"id":"` + both + `"`, ""},
	} {
		if got := string(tells([]byte(row.body))); got != row.want {
			t.Errorf("%s\nis sent as %s\nwant       %s", row.body, got, row.want)
		}
	}
}
