package httpapi

import (
	"bytes"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"postern/batch/optout"
	"postern/batch/paging"
	"postern/httpapi/batches"
)

func (r *rig) optedOut() (all []string) {
	r.t.Helper()
	l := decoded[paging.List[optout.Entry]](r.t, r.do("GET", "/optouts?limit=200", ""))
	for _, e := range l.Records {
		all = append(all, e.Number)
	}
	return all
}

func (r *rig) wantOptedOut(want ...string) {
	r.t.Helper()
	if got := r.optedOut(); fmt.Sprint(got) != fmt.Sprint(want) {
		r.t.Errorf("opted out are %v, want %v", got, want)
	}
}

// optOutCSV posts a table as a whole body.
func (r *rig) optOutCSV(token, contentType, table string) *http.Response {
	req := httptest.NewRequest("POST", "/optouts/csv", strings.NewReader(table))
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("Content-Type", contentType)
	return do(r.h, req)
}

func TestOptOutsAreAddedListedAndRemoved(t *testing.T) {
	r := newRig(t)
	added := decoded[batches.AddedOptOuts](t, r.do("POST", "/optouts", `{"numbers":["+49 151 12345678","4915112345678","77@lid","4915187654321"],"reason":"asked","source":"crm"}`))
	if added != (batches.AddedOptOuts{Added: 3, Existing: 1}) {
		t.Errorf("the answer is %+v", added)
	}
	r.wantOptedOut("4915112345678", "4915187654321", "77@lid")
	l := decoded[paging.List[map[string]any]](t, r.do("GET", "/optouts?limit=1", ""))
	if e := l.Records[0]; len(e) != 4 || e["reason"] != "asked" || e["source"] != "crm" || e["createdAt"] == nil || l.TotalRecords != 3 || l.NextCursor == nil {
		t.Errorf("the list is %+v", l)
	}
	removed := decoded[batches.RemovedOptOuts](t, r.do("DELETE", "/optouts", `{"numbers":["4915112345678","4915100000000"]}`))
	if removed != (batches.RemovedOptOuts{Removed: 1, Absent: 1}) {
		t.Errorf("the answer is %+v", removed)
	}
	r.wantOptedOut("4915187654321", "77@lid")
}

func TestInvalidOptOutsAreRefusedByName(t *testing.T) {
	r := newRig(t)
	long := strings.Repeat("ä", 256)
	for _, one := range []struct {
		method, body, text string
		status             int
		code               string
	}{
		{"POST", `{}`, "numbers", 400, "MISSING_FIELD"},
		{"POST", `{"numbers":[]}`, "1 to 10000", 422, "INVALID_ARGUMENT"},
		{"POST", `{"numbers":["4915112345678","x","12"]}`, "numbers[1]", 422, "INVALID_RECIPIENT"},
		{"POST", `{"numbers":["1-2@g.us"]}`, "group", 422, "INVALID_RECIPIENT"},
		{"POST", `{"numbers":"4915112345678"}`, "numbers", 400, "INVALID_TYPE"},
		{"POST", `{"numbers":["4915112345678"],"reason":"` + long + `"}`, "reason has 256", 422, "INVALID_ARGUMENT"},
		{"POST", `{"numbers":["4915112345678"],"source":"` + long + `"}`, "source has 256", 422, "INVALID_ARGUMENT"},
		{"POST", `{"numbers":["4915112345678"],"force":true}`, "force", 400, "UNKNOWN_FIELD"},
		{"POST", `{"numbers":[` + strings.Repeat(`"4915112345678",`, 10_000) + `"4915112345678"]}`, "/optouts/csv", 422, "INVALID_ARGUMENT"},
		{"DELETE", `{"numbers":["x"]}`, "numbers[0]", 422, "INVALID_RECIPIENT"},
		{"DELETE", `{"numbers":["4915112345678"],"reason":"x"}`, "reason", 400, "UNKNOWN_FIELD"},
	} {
		e := wantError(t, r.do(one.method, "/optouts", one.body), one.status, one.code)
		if !strings.Contains(strings.Join(e.Message, " "), one.text) {
			t.Errorf("%s %.60s: %q, want %q in it", one.method, one.body, e.Message, one.text)
		}
	}
	r.wantOptedOut()
	wantError(t, r.do("GET", "/optouts?nextCursor=abc", ""), 400, "INVALID_CURSOR")
	wantError(t, r.do("GET", "/optouts?number=1", ""), 400, "INVALID_QUERY")
}

func TestOptOutTableIsReadInItsForms(t *testing.T) {
	for name, one := range map[string]struct{ table, want string }{
		"one column":              {"4915112345678\n4915187654321\n", "[4915112345678 4915187654321]"},
		"without a last line end": {"4915112345678", "[4915112345678]"},
		"with a header":           {"Name,Number,Reason\nAnne,4915112345678,\"no, thanks\"\n", "[4915112345678]"},
		"as spreadsheets write":   {"\ufeffnumber;reason\r\n+49 151 12345678;x\r\n", "[4915112345678]"},
		"with tabs and blanks":    {"number\treason\n\n4915112345678\t\n\n", "[4915112345678]"},
		"with a LID":              {"5@lid,wrote", "[5@lid]"},
		"in Windows-1252":         {"number;reason\n4915112345678;k\xfcndigt", "[4915112345678]"},
		"in UTF-16":               {"\xff\xfen\x00u\x00m\x00b\x00e\x00r\x00\n\x004\x009\x001\x005\x001\x001\x002\x003\x004\x005\x006\x007\x008\x00", "[4915112345678]"},
	} {
		r := newRig(t)
		if res := r.optOutCSV(r.token, "text/csv; charset=utf-8", one.table); res.StatusCode != 200 {
			t.Errorf("%s: %+v", name, wantError(t, res, res.StatusCode, ""))
			continue
		}
		if got := fmt.Sprint(r.optedOut()); got != one.want {
			t.Errorf("%s: opted out are %s, want %s", name, got, one.want)
		}
	}
}

func TestOptOutTableCanBeAFormFile(t *testing.T) {
	r := newRig(t)
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	part, err := form.CreateFormFile("file", "list.csv")
	if err == nil {
		_, err = io.WriteString(part, "number,reason\n4915112345678,asked\n")
	}
	if err != nil || form.Close() != nil {
		t.Fatal(err)
	}
	res := r.optOutCSV(r.token, form.FormDataContentType(), body.String())
	if got := decoded[batches.AddedOptOuts](t, res); got.Added != 1 {
		t.Errorf("the answer is %+v", got)
	}
	l := decoded[paging.List[optout.Entry]](t, r.do("GET", "/optouts", ""))
	if e := l.Records[0]; e.Number != "4915112345678" || *e.Reason != "asked" || *e.Source != "csv" {
		t.Errorf("the entry is %+v", e)
	}
	if left := r.spooled(); len(left) > 0 {
		t.Errorf("the file was left: %v", left)
	}
}

func TestInvalidTableOfOptOutsAddsNothing(t *testing.T) {
	r := newRig(t)
	for _, one := range []struct {
		contentType, table, text string
		status                   int
		code                     string
	}{
		{"text/csv", "number\n4915112345678\nx\n\n12\n", "row 3", 422, "INVALID_RECIPIENT"},
		{"text/csv", "reason\nx\n", "row 1", 422, "INVALID_RECIPIENT"},
		{"text/csv", "", "is empty", 422, "INVALID_CSV"},
		{"text/csv", "number\n", "no row", 422, "INVALID_ARGUMENT"},
		{"text/csv", "4915112345678,\x00", "UTF-8", 422, "INVALID_CSV"},
		{"text/csv", "4915112345678," + strings.Repeat("x", 256), "row 1: ", 422, "INVALID_RECIPIENT"},
		{"text/csv", strings.Repeat("4915112345678\n", batches.MaxOptOutRows+1), "100000", 422, "INVALID_ARGUMENT"},
		{"text/csv", strings.Repeat("4915112345678,"+strings.Repeat("x", 200)+"\n", batches.MaxOptOutTable/200), "bytes", 413, "BODY_TOO_LARGE"},
		{"application/json", `{}`, "text/csv", 415, "UNSUPPORTED_CONTENT_TYPE"},
	} {
		e := wantError(t, r.optOutCSV(r.token, one.contentType, one.table), one.status, one.code)
		if !strings.Contains(strings.Join(e.Message, " "), one.text) {
			t.Errorf("%.40q: %q, want %q in it", one.table, e.Message, one.text)
		}
	}
	r.wantOptedOut()
}

// TestKeyOfSomeInstancesOnlyAddsOptOuts: they hold for all instances of the user.
func TestKeyOfSomeInstancesOnlyAddsOptOuts(t *testing.T) {
	r := newRig(t)
	r.instance("a")
	user := `"scopes":["batch"],"userId":"` + r.user.String() + `"`
	narrow := r.newKey(`{"name":"k","instances":["a"],` + user + `}`).Key
	wide := r.newKey(`{"name":"k","instances":["*"],` + user + `}`).Key
	to := r.newKey(`{"name":"k","instances":["*"],"recipients":["4915112345678"],` + user + `}`).Key
	const anne, bert = `{"numbers":["4915112345678"]}`, `{"numbers":["4915187654321"]}`
	if got := decoded[batches.AddedOptOuts](t, r.as(narrow, "POST", "/optouts", bert)); got.Added != 1 {
		t.Errorf("the answer is %+v", got)
	}
	wantError(t, r.as(narrow, "GET", "/optouts", ""), 403, "SCOPE")
	wantError(t, r.as(narrow, "DELETE", "/optouts", bert), 403, "SCOPE")
	wantError(t, r.as(to, "DELETE", "/optouts", bert), 403, "RECIPIENT_NOT_ALLOWED")
	wantError(t, r.as(to, "POST", "/optouts", bert), 403, "RECIPIENT_NOT_ALLOWED")
	wantError(t, r.optOutCSV(to, "text/csv", "4915187654321"), 403, "RECIPIENT_NOT_ALLOWED")
	decoded[batches.AddedOptOuts](t, r.as(to, "POST", "/optouts", anne))
	r.wantOptedOut("4915112345678", "4915187654321")
	if got := decoded[batches.RemovedOptOuts](t, r.as(wide, "DELETE", "/optouts", bert)); got.Removed != 1 {
		t.Errorf("the answer is %+v", got)
	}
	r.wantOptedOut("4915112345678")
	foreign := r.newKey(`{"name":"k","instances":["*"],"scopes":["read","send","manage"]}`).Key
	wantError(t, r.as(foreign, "POST", "/optouts", anne), 403, "SCOPE")
}
