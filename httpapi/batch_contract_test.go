package httpapi

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"postern/batch"
)

const contractBatch = `{"name":"all","instances":["a"],"recipients":["491740000001"],"message":{"type":"text","payload":{"text":"hi"}},"autoStart":false}`

// TestReadsOfABatchHaveTheSameFields compares the routes that answer with a
// batch, in lists or alone, with the one that created it.
func TestReadsOfABatchHaveTheSameFields(t *testing.T) {
	r := newRig(t)
	r.instance("a")
	created := decoded[map[string]any](t, r.do("POST", "/message/batches", contractBatch))
	want := slices.Sorted(maps.Keys(created))
	path := "/message/batches/" + fmt.Sprint(created["id"])
	compare := func(where string, got map[string]any) {
		for _, at := range []string{"pausedAt", "stoppedAt"} { // only when it happened
			delete(got, at)
		}
		if fields := slices.Sorted(maps.Keys(got)); !slices.Equal(fields, want) {
			t.Errorf("%s has %v, want %v", where, fields, want)
		}
		if c, _ := got["counts"].(map[string]any); len(c) != 10 || c["received"] != 1.0 || c["duplicatesIgnored"] != 0.0 {
			t.Errorf("%s has counts %v", where, c)
		}
	}
	compare("the creation", created)
	compare("a read", decoded[map[string]any](t, r.do("GET", path, "")))
	whole := decoded[map[string]any](t, r.do("GET", path+"/processing", ""))
	if recipients, _ := whole["recipients"].([]any); len(recipients) != 1 {
		t.Errorf("processing has recipients %v", whole["recipients"])
	}
	if held, ok := whole["held"].([]any); !ok || len(held) != 0 {
		t.Errorf("processing has held %v", whole["held"])
	}
	delete(whole, "recipients")
	delete(whole, "held")
	compare("processing", whole)
	for where, list := range map[string]batch.List[map[string]any]{
		"a list by query": decoded[batch.List[map[string]any]](t, r.do("GET", "/message/batches", "")),
		"a list by body":  decoded[batch.List[map[string]any]](t, r.do("POST", "/message/batches/list", "{}")),
	} {
		if len(list.Records) != 1 {
			t.Fatalf("%s has %d records", where, len(list.Records))
		}
		compare(where, list.Records[0])
	}
	for _, act := range []string{"start", "resume", "pause", "stop"} {
		compare(act, decoded[map[string]any](t, r.do("POST", path+"/"+act, "")))
	}
}

// TestPageSizeIs50From1To200 covers the list of batches and the items of one.
func TestPageSizeIs50From1To200(t *testing.T) {
	r := newRig(t)
	r.instance("a")
	recipients := make([]string, 51)
	for i := range recipients {
		recipients[i] = fmt.Sprintf(`"4917400%05d"`, i+1)
		r.create(fmt.Sprint("batch ", i))
	}
	large := decoded[batch.View](t, r.do("POST", "/message/batches", strings.Replace(contractBatch, `"491740000001"`, strings.Join(recipients, ","), 1)))
	for path, total := range map[string]int{"/message/batches": 52, "/message/batches/" + large.ID.String() + "/items": 51} {
		for query, want := range map[string]int{"": 50, "?limit=1": 1, "?limit=200": total} {
			page := decoded[batch.List[json.RawMessage]](t, r.do("GET", path+query, ""))
			if len(page.Records) != want || page.TotalRecords != total || page.PreviousCursor != nil || (page.NextCursor != nil) != (want < total) {
				t.Errorf("%s%s: %d of %d records, cursors %v and %v", path, query, len(page.Records), page.TotalRecords, page.NextCursor, page.PreviousCursor)
			}
		}
		for _, query := range []string{"?limit=0", "?limit=201", "?nextCursor=a&previousCursor=b"} {
			wantError(t, r.do("GET", path+query, ""), 400, "INVALID_QUERY")
		}
	}
}

func TestAnyUserMayUseAnyInstance(t *testing.T) {
	r := newRig(t)
	r.instance("a")
	for range 2 {
		user, token := r.newUser()
		if v := decoded[batch.View](t, r.as(token, "POST", "/message/batches", contractBatch)); v.OwnerUserID != user {
			t.Errorf("the batch of %s belongs to %s", user, v.OwnerUserID)
		}
		list := decoded[batch.List[batch.View]](t, r.as(token, "GET", "/message/batches", ""))
		if list.TotalRecords != 1 || len(list.Records) != 1 || list.Records[0].OwnerUserID != user {
			t.Errorf("%s lists %+v", user, list)
		}
	}
}

func TestRecipientNotAllowedRefusesTheBatch(t *testing.T) {
	r := newRig(t)
	r.instance("a")
	for what, recipient := range map[string]string{
		"a group": "120363000000000001@g.us", "a LID": "4917400@lid", "nothing": "", "six digits": "123456", "sixteen digits": "1234567890123456", "letters": "4917400x0001",
	} {
		body := strings.Replace(contractBatch, `["491740000001"]`, fmt.Sprintf(`["491740000001",%q]`, recipient), 1)
		e := wantError(t, r.do("POST", "/message/batches", body), 422, "INVALID_RECIPIENT")
		if len(e.Messages) != 1 || !strings.HasPrefix(e.Messages[0], "recipients[1] ") {
			t.Errorf("%s: %v", what, e.Messages)
		}
	}
	if list := decoded[batch.List[batch.View]](t, r.do("GET", "/message/batches", "")); list.TotalRecords != 0 {
		t.Errorf("%d batches were made", list.TotalRecords)
	}
}

func TestAControlThatTheStateForbidsIs409(t *testing.T) {
	r := newRig(t)
	path := "/message/batches/" + r.create("one").ID.String()
	wantError(t, r.do("POST", path+"/pause", ""), 409, "INVALID_BATCH_TRANSITION") // a draft
	for range 2 {                                                                  // the second one is taken and changes nothing
		if v := decoded[batch.View](t, r.do("POST", path+"/stop", "")); v.Status != "STOPPED" {
			t.Fatalf("status %s", v.Status)
		}
	}
	for _, act := range []string{"start", "resume", "pause"} {
		wantError(t, r.do("POST", path+"/"+act, ""), 409, "INVALID_BATCH_TRANSITION")
	}
}
