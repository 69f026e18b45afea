package httpapi

import (
	"fmt"
	"io"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"postern/batch"
	"postern/event"
	"postern/httpapi/operator"
	"postern/instance"
	"postern/store"
)

// endRig is a rig with a key that started batches and set webhooks, and with others that did.
type endRig struct {
	*rig

	key, other                    operator.CreatedKey
	created, started, both, taken uuid.UUID // batches that the key has a part in
	foreign, theirs               uuid.UUID // batches of the user and of the other key
	sendAt                        []string  // of the key's scheduled sends
}

const oneMessage = `"recipients":["4915112345678"],"message":{"type":"text","payload":{"text":"x"}}`

func (r *rig) batchBy(credential, more string) uuid.UUID {
	r.t.Helper()
	return decoded[batch.View](r.t, r.with(credential, "POST", "/message/batches", `{"name":"x","instances":["a"],`+more+oneMessage+`}`)).ID
}

func newEndRig(t *testing.T) *endRig {
	r := &endRig{rig: newRig(t)}
	tokens := map[string]string{}
	for _, name := range []string{"a", "b", "c", "d"} {
		tokens[name] = r.instance(name)
	}
	make := func(name string) operator.CreatedKey {
		return r.newKey(fmt.Sprintf(`{"name":%q,"instances":["*"],"scopes":["batch","webhook","send"],"userId":%q}`, name, r.user))
	}
	r.key, r.other = make("leaves"), make("stays")
	const draft = `"autoStart":false,`
	r.created, r.foreign, r.theirs = r.batchBy(r.key.Key, ""), r.batchBy(r.token, ""), r.batchBy(r.other.Key, "")
	r.started, r.both, r.taken = r.batchBy(r.token, draft), r.batchBy(r.key.Key, draft), r.batchBy(r.other.Key, draft)
	must := func(credential, method, path, body string) {
		t.Helper()
		if res := r.with(credential, method, path, body); res.StatusCode != 200 {
			t.Fatal(method, path, res.Status, text(t, res))
		}
	}
	start := func(credential string, id uuid.UUID) {
		t.Helper()
		must(credential, "POST", "/message/batches/"+id.String()+"/start", "")
	}
	start(r.key.Key, r.started)
	start(r.token, r.both)
	start(r.other.Key, r.taken)
	must(r.token, "POST", "/message/batches/"+r.taken.String()+"/pause", "")
	start(r.key.Key, r.taken)
	at := time.Now().Add(time.Hour).UTC().Truncate(time.Second)
	for i, credential := range []string{r.key.Key, tokens["a"], r.other.Key, r.key.Key} {
		res := r.with(credential, "POST", "/instance/a/send/text", fmt.Sprintf(`{"number":"4915112345678","textMessage":{"text":"x"},"options":{"sendAt":%q}}`, at.Add(time.Duration(i)*time.Minute).Format(time.RFC3339)))
		if res.StatusCode != 202 {
			t.Fatal(res.Status, text(t, res))
		}
	}
	r.sendAt = []string{event.At(at).String(), event.At(at.Add(3 * time.Minute)).String()}

	// a: webhook and options by the key. b: changed by others since. c: by the key since.
	// d: disabled already, and options of another key.
	hook := `{"url":"https://example.org/hook?secret=1","enabled":true,"events":{"messagesUpsert":true}}`
	options := `{"durable":true,"endpoints":[{"id":"on","url":"https://example.org/on","events":{"messagesUpsert":true},"headers":{"X-A":"b"}},{"id":"off","url":"https://example.org/off","enabled":false}]}`
	for _, row := range []struct{ credential, instance, path, body string }{
		{r.key.Key, "a", "", hook},
		{r.key.Key, "a", "/options", options},
		{r.key.Key, "b", "", hook},
		{r.key.Key, "b", "/options", options},
		{tokens["b"], "b", "", `{"enabled":true}`},
		{r.other.Key, "b", "/options", options},
		{tokens["c"], "c", "", hook},
		{r.key.Key, "c", "", `{"enabled":true}`},
		{r.key.Key, "c", "/options", `{"durable":true}`},
		{r.key.Key, "d", "", strings.Replace(hook, "true,", "false,", 1)},
		{r.other.Key, "d", "/options", options},
	} {
		must(row.credential, "PUT", "/instance/"+row.instance+"/webhook"+row.path, row.body)
	}
	return r
}

// mine are the batches of the key, as they are listed.
func (r *endRig) mine() (ids []uuid.UUID) {
	ids = []uuid.UUID{r.created, r.started, r.both, r.taken}
	slices.SortFunc(ids, func(a, b uuid.UUID) int { return slices.Compare(a[:], b[:]) })
	return ids
}

// check compares what a key has running, or had, with what it started.
func (r *endRig) check(what string, got operator.KeyRunning) {
	r.t.Helper()
	var ids []uuid.UUID
	for _, b := range got.Batches {
		ids = append(ids, b.ID)
		if b.Name != "x" || b.Status == "" {
			r.t.Errorf("%s: %+v", what, b)
		}
	}
	if !slices.Equal(ids, r.mine()) || got.TotalBatches != len(ids) {
		r.t.Errorf("%s: batches %v of %d, want %v", what, ids, got.TotalBatches, r.mine())
	}
	var sendAt []string
	for _, one := range got.Sends {
		sendAt = append(sendAt, one.SendAt.String())
		if one.InstanceName != "a" || one.ScheduledID == uuid.Nil {
			r.t.Errorf("%s: %+v", what, one)
		}
	}
	if !slices.Equal(sendAt, r.sendAt) || got.TotalSends != len(sendAt) {
		r.t.Errorf("%s: scheduled %v of %d, want %v", what, sendAt, got.TotalSends, r.sendAt)
	}
	want := []instance.KeyReceiver{
		{InstanceID: r.idOf("a"), InstanceName: "a", Target: event.TargetWebhook, URL: "https://example.org/hook"},
		{InstanceID: r.idOf("a"), InstanceName: "a", Target: event.TargetEndpoint, EndpointID: "on", URL: "https://example.org/on"},
		{InstanceID: r.idOf("c"), InstanceName: "c", Target: event.TargetWebhook, URL: "https://example.org/hook"},
	}
	if !slices.Equal(got.Webhooks, want) || got.TotalWebhooks != len(want) {
		r.t.Errorf("%s: webhooks %+v of %d, want %+v", what, got.Webhooks, got.TotalWebhooks, want)
	}
}

func (r *endRig) idOf(name string) int64 {
	r.t.Helper()
	rec, err := r.registry.ByName(name)
	if err != nil {
		r.t.Fatal(err)
	}
	return rec.ID
}

// statuses returns the statuses of the key's batches, and of the others.
func (r *endRig) statuses() (mine, others []event.BatchStatus) {
	r.t.Helper()
	of := func(ids ...uuid.UUID) (all []event.BatchStatus) {
		for _, id := range ids {
			v, err := r.engine.AnyBatch(id, nil)
			if err != nil {
				r.t.Fatal(err)
			}
			all = append(all, v.Status)
		}
		return all
	}
	return of(r.created, r.started, r.both, r.taken), of(r.foreign, r.theirs)
}

// enabled returns the enabled receivers.
func (r *endRig) enabled() (all []string) {
	r.t.Helper()
	for _, name := range []string{"a", "b", "c", "d"} {
		hook, err := r.registry.Webhooks().Webhook(r.idOf(name))
		if err != nil {
			r.t.Fatal(err)
		}
		if hook.Enabled {
			all = append(all, name)
		}
		o, err := r.registry.Webhooks().Options(r.idOf(name))
		if err != nil {
			r.t.Fatal(err)
		}
		for _, p := range o.Endpoints {
			if p.Enabled {
				all = append(all, name+"/"+p.ID)
			}
		}
	}
	return all
}

// wantStopped compares everything with what must remain once the key's part is stopped.
func (r *endRig) wantStopped() {
	r.t.Helper()
	mine, others := r.statuses()
	for _, s := range mine {
		if s != event.BatchIsStopped {
			r.t.Errorf("batches of the key: %v", mine)
			break
		}
	}
	if slices.Contains(others, event.BatchIsStopped) {
		r.t.Errorf("batches of others: %v", others)
	}
	if got := strings.Join(r.enabled(), " "); got != "b b/on d/on" {
		r.t.Errorf("enabled: %s", got)
	}
	if left, err := r.api.Access.Keys.Ending(); err != nil || len(left) > 0 {
		r.t.Errorf("ending: %v, %v", left, err)
	}
}

// TestADeletionTellsWhatTheKeyLeavesRunning and does not change it.
func TestADeletionTellsWhatTheKeyLeavesRunning(t *testing.T) {
	r := newEndRig(t)
	path := "/keys/" + r.key.ID.String()
	before := r.enabled()
	r.check("GET", decoded[operator.ShownKey](t, r.admin("GET", path, "")).KeyRunning)
	got := decoded[operator.DeletedKey](t, r.admin("DELETE", path, ""))
	r.check("DELETE", got.KeyRunning)
	if got.ID != r.key.ID || got.Name != "leaves" || got.Stopped != nil {
		t.Errorf("%+v", got)
	}
	mine, _ := r.statuses()
	if slices.Contains(mine, event.BatchIsStopped) || !slices.Equal(r.enabled(), before) {
		t.Errorf("batches %v, enabled %v", mine, r.enabled())
	}
	wantError(t, r.admin("DELETE", path+"?stop=true", ""), 404, "KEY_NOT_FOUND")
	none := decoded[operator.ShownKey](t, r.admin("GET", "/keys/"+r.newKey(`{"name":"n","instances":["*"],"scopes":["read"]}`).ID.String(), ""))
	if none.Batches == nil || none.Webhooks == nil || none.TotalBatches+none.TotalWebhooks != 0 {
		t.Errorf("of a new key: %+v", none)
	}
	wantError(t, r.admin("DELETE", "/keys/"+r.other.ID.String()+"?stop=perhaps", ""), 400, "INVALID_QUERY")
}

// TestDeletionWithStopStopsTheKeysBatches and nothing else; the audit log records it.
func TestDeletionWithStopStopsTheKeysBatches(t *testing.T) {
	r := newEndRig(t)
	first := decoded[operator.AuditList](t, r.admin("GET", "/audit?limit=1", "")).Records[0].ID
	got := decoded[operator.DeletedKey](t, r.admin("DELETE", "/keys/"+r.key.ID.String()+"?stop=true", ""))
	if got.Stopped == nil || len(got.Batches)+len(got.Webhooks)+got.TotalBatches+got.TotalWebhooks != 0 {
		t.Fatalf("%+v", got)
	}
	r.check("stopped", *got.Stopped)
	for _, b := range got.Stopped.Batches {
		if b.Status != event.BatchIsStopped {
			t.Errorf("got %+v", b)
		}
	}
	r.wantStopped()
	var noted []string
	for _, rec := range decoded[operator.AuditList](t, r.admin("GET", "/audit?limit=20", "")).Records {
		if rec.ID > first {
			noted = append(noted, rec.Actor+" "+rec.Action+" "+rec.Subject)
		}
	}
	slices.Sort(noted)
	want := []string{"global key.delete " + r.key.ID.String(), "global webhook.change a", "global webhook.change c", "global webhook.options.change a"}
	if !slices.Equal(noted, want) {
		t.Errorf("noted %q", noted)
	}
	if o, err := r.registry.Webhooks().Options(r.idOf("a")); err != nil || !o.Durable || o.Endpoints[0].Headers["X-A"] != "***" {
		t.Errorf("options of a: %+v, %v", o, err)
	}
}

// TestDeletionResumesAfterAnInterruption, by another call and by the next start.
func TestDeletionResumesAfterAnInterruption(t *testing.T) {
	for name, goOn := range map[string]func(*endRig) error{
		"call": func(r *endRig) error {
			got := decoded[operator.DeletedKey](t, r.admin("DELETE", "/keys/"+r.key.ID.String(), ""))
			if got.Name != "leaves" || got.Stopped == nil || got.Stopped.TotalBatches != 3 {
				t.Errorf("%+v", got)
			}
			return nil
		},
		"start": func(r *endRig) error {
			return operator.EndKeys(t.Context(), r.api.Access, r.engine, r.registry, r.api.operator.Scheduled)
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newEndRig(t)
			if _, err := r.api.Access.Keys.Delete(t.Context(), r.key.ID, true); err != nil {
				t.Fatal(err)
			}
			wantError(t, r.with(r.key.Key, "GET", "/message/batches", ""), 401, "UNAUTHORIZED")
			wantError(t, r.admin("GET", "/keys/"+r.key.ID.String(), ""), 404, "KEY_NOT_FOUND")
			if _, err := r.engine.StopBatch(t.Context(), r.user, r.created); err != nil { // some of it was done
				t.Fatal(err)
			}
			r.created = r.both
			if err := goOn(r); err != nil {
				t.Fatal(err)
			}
			r.wantStopped()
			wantError(t, r.admin("DELETE", "/keys/"+r.key.ID.String()+"?stop=true", ""), 404, "KEY_NOT_FOUND")
		})
	}
}

// meanwhile is a body that deletes a key before it is read.
type meanwhile struct {
	io.Reader
	act func()
}

func (m *meanwhile) Read(p []byte) (int, error) {
	if m.act != nil {
		m.act()
		m.act = nil
	}
	return m.Reader.Read(p)
}

// TestNothingIsSetRunningBehindADeletion by a request that was admitted before it.
func TestNothingIsSetRunningBehindADeletion(t *testing.T) {
	const many = 300 // recipients, which take several commits
	var numbers []string
	for i := range many {
		numbers = append(numbers, fmt.Sprintf(`"49151%07d"`, i))
	}
	for what, row := range map[string]struct{ method, path, body string }{
		"batch":       {"POST", "/message/batches", `{"name":"late","instances":["a"],` + oneMessage + `}`},
		"large batch": {"POST", "/message/batches", `{"name":"late","instances":["a"],"recipients":[` + strings.Join(numbers, ",") + `],"message":{"type":"text","payload":{"text":"x"}}}`},
		"webhook":     {"PUT", "/instance/d/webhook", `{"url":"https://example.org/late","enabled":true}`},
		"endpoint":    {"PUT", "/instance/d/webhook/options", `{"endpoints":[{"id":"late","url":"https://example.org/late"}]}`},
	} {
		t.Run(what, func(t *testing.T) {
			r := newEndRig(t)
			req := httptest.NewRequest(row.method, row.path, &meanwhile{strings.NewReader(row.body), func() {
				if res := r.admin("DELETE", "/keys/"+r.key.ID.String()+"?stop=true", ""); res.StatusCode != 200 {
					t.Fatal(res.Status)
				}
			}})
			req.Header.Set("Authorization", "Bearer "+r.key.Key)
			wantError(t, do(r.h, req), 401, "UNAUTHORIZED")
			r.wantStopped()
			list := decoded[batch.List[batch.View]](t, r.with(r.token, "GET", "/message/batches?name=late", ""))
			if len(list.Records) > 0 {
				t.Errorf("made meanwhile: %+v", list.Records)
			}
		})
	}
}

// TestDeletionStopsThousandsOfBatchesInFewCommits
func TestDeletionStopsThousandsOfBatchesInFewCommits(t *testing.T) {
	r := newRig(t)
	r.instance("a")
	k := r.newKey(fmt.Sprintf(`{"name":"k","instances":["*"],"scopes":["batch"],"userId":%q}`, r.user))
	const many = operator.MaxRunning + 30
	for range many {
		r.batchBy(k.Key, `"autoStart":false,`)
	}
	before := r.store.Stats().Commits
	got := decoded[operator.DeletedKey](t, r.admin("DELETE", "/keys/"+k.ID.String()+"?stop=true", "")).Stopped
	if len(got.Batches) != operator.MaxRunning || got.TotalBatches != many {
		t.Errorf("%d of %d are listed", len(got.Batches), got.TotalBatches)
	}
	if n := r.store.Stats().Commits - before; n > 40 {
		t.Errorf("it took %d commits", n)
	}
	left, err := r.engine.AllBatches(batch.Filter{Status: batch.Unfinished()}, batch.Page{})
	if err != nil || left.TotalRecords > 0 {
		t.Errorf("%d are left, %v", left.TotalRecords, err)
	}
}

// TestAnExportTellsNothingOfScopedKeys
func TestAnExportTellsNothingOfScopedKeys(t *testing.T) {
	r := newEndRig(t)
	e, err := r.registry.Export(r.idOf("a"))
	if err != nil {
		t.Fatal(err)
	}
	if all := string(e.Webhook) + string(e.Options); strings.Contains(all, r.key.ID.String()) || !strings.Contains(all, "https://example.org/on") {
		t.Errorf("exported %s", all)
	}
	again, err := r.registry.Receive(t.Context(), &instance.Received{Export: e, Name: "again", Token: "t"}, func(*store.Tx, int64) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	if got := r.registry.OfKey(r.key.ID); slices.ContainsFunc(got, func(k instance.KeyReceiver) bool { return k.InstanceID == again.ID }) {
		t.Errorf("of the key: %+v", got)
	}
}
