package httpapi

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"

	"postern/batch"
	"postern/batch/mailing"
	"postern/httpapi/rest"
	"postern/internal/sheet"
)

const csvPath = "/message/batches/csv"

// csvBatch is the part of a draft whose text is a template.
const csvBatch = `{"name":"b","instances":["a"],"message":{"type":"text","payload":{"text":"Hi {{name|there}}, {{{x}}"}},"autoStart":false}`

// csv posts a file with a batch, and a mapping unless it is empty.
func (r *rig) csv(token, key, plan, mapping, file string) *http.Response {
	r.t.Helper()
	parts := []part{{name: "batch", text: plan}}
	if mapping != "" {
		parts = append(parts, part{name: "mapping", text: mapping})
	}
	body, kind := formBody(r.t.(*testing.T), append(parts, part{"file", "people.csv", file})...)
	req := keyedRequest(r.t.Context(), token, key, csvPath, string(body))
	if key == "" {
		req.Header.Del("Idempotency-Key")
	}
	req.Header.Set("Content-Type", kind)
	return do(r.h, req)
}

func (r *rig) itemsOf(v batch.View) []batch.Item {
	r.t.Helper()
	return decoded[batch.List[batch.Item]](r.t, r.do("GET", "/message/batches/"+v.ID.String()+"/items", "")).Records
}

func TestCSVCreatesATemplatedBatch(t *testing.T) {
	r := newRig(t)
	r.instance("a")
	mapping := `{"number":"Phone","externalId":"Id","variables":{"name":"First name"}}`
	for name, row := range map[string]struct{ mapping, file string }{
		"default":      {"", "number,externalId,name\n+49 151 00000001,c-1,Ana\n4915100000002,,\n4915100000001,c-3,Eva\n"},
		"mapped":       {mapping, "Id;Phone;First name;Notes\nc-1;+49 151 00000001;Ana;x\n;4915100000002;;\nc-3;4915100000001;Eva;y\n"},
		"Windows-1252": {mapping, "Id\tPhone\tFirst name\tNotes\r\nc-1\t+49 151 00000001\tAna\t\xe9\r\n\r\n\t4915100000002\t\t\"a\r\nb\"\r\nc-3\t4915100000001\tEva\t\r\n"},
	} {
		v := decoded[batch.View](t, r.csv(r.token, "", csvBatch, row.mapping, row.file))
		if v.Counts.Total != 2 || *v.Counts.Received != 3 || *v.Counts.DuplicatesIgnored != 1 {
			t.Errorf("%s: %+v", name, v.Counts)
		}
		items := r.itemsOf(v)
		if i := items[0]; i.RecipientInput != "+49 151 00000001" || i.ExternalID != "c-1" || !reflect.DeepEqual(i.Variables, map[string]string{"name": "Ana"}) || i.RenderedPreview != "Hi Ana, {{x}}" {
			t.Errorf("%s: %+v", name, i)
		}
		if i := items[1]; i.ExternalID != "" || i.RenderedPreview != "Hi there, {{x}}" {
			t.Errorf("%s: %+v", name, i)
		}
	}
	v := decoded[batch.View](t, r.csv(r.token, "", csvBatch, `{"variables":{}}`, "number,name\n4915100000001,Ana\n"))
	if i := r.itemsOf(v)[0]; i.RenderedPreview != "Hi there, {{x}}" || i.Variables != nil {
		t.Errorf("without variables: %+v", i)
	}
}

func TestBadCSVIsRefusedInWords(t *testing.T) {
	r := newRig(t)
	r.instance("a")
	needs := strings.Replace(csvBatch, "{{name|there}}", "{{name}}", 1)
	wide := "number"
	for i := range mailing.MaxVariables + 1 {
		wide += fmt.Sprint(",v", i)
	}
	for name, row := range map[string]struct{ plan, mapping, file, code, want string }{
		"no number column":     {csvBatch, "", "Phone,name\n1,2\n", "INVALID_CSV", `row 1 has no column "number"; it has "Phone", "name"; mapping.number names the column`},
		"mapped to nothing":    {csvBatch, `{"variables":{"name":"Vorname"}}`, "number,name\n1,2\n", "INVALID_CSV", `mapping.variables: row 1 has no column "Vorname"`},
		"no external id":       {csvBatch, `{"externalId":"Id"}`, "number,name\n1,2\n", "INVALID_CSV", `mapping.externalId: row 1 has no column "Id"`},
		"header twice":         {csvBatch, "", "number,name,name\n1,2,3\n", "INVALID_CSV", `row 1, column "name", is there twice`},
		"an unreadable row":    {csvBatch, "", "number,name\n4915100000001,a\n4915100000002,a\"b\n", "INVALID_CSV", `row 3, column "name", has a quote`},
		"an xlsx file":         {csvBatch, "", "PK\x03\x04", "INVALID_CSV", "save it as CSV"},
		"empty":                {csvBatch, "", "", "INVALID_CSV", "the file is empty"},
		"NUL":                  {csvBatch, "", "number,name\n4915100000001,\x00\n", "INVALID_CSV", `row 2, column "name", has the character U+0000`},
		"a long line":          {csvBatch, "", "number,name\n4915100000001," + strings.Repeat("x", 2*sheet.MaxRow), "INVALID_CSV", "row 2 is longer than 1024 KiB"},
		"too many variables":   {csvBatch, "", wide + "\n", "INVALID_CSV", "row 1 would have 33 variables, at most 32 are allowed; name the columns to use in mapping.variables"},
		"a header only":        {csvBatch, "", "number\n\n", batch.InvalidRecipient, "the file has no rows below its header"},
		"too many rows":        {csvBatch, "", "number\n" + strings.Repeat("1\n", r.api.batches.MaxRecipients+1), batch.TooManyRecipients, fmt.Sprintf("the file has more than the %d rows that are allowed", r.api.batches.MaxRecipients)},
		"a bad number":         {csvBatch, `{"number":"Phone"}`, "Phone;name\n4915100000001;a\n\n12;b\n", batch.InvalidRecipient, `row 3 column "Phone": `},
		"a long external id":   {csvBatch, "", "number,externalId\n4915100000001," + strings.Repeat("x", 256) + "\n", batch.InvalidRecipient, "row 2 externalId has 256 characters"},
		"a long value":         {csvBatch, "", "number,name\n4915100000001," + strings.Repeat("x", 1025) + "\n", batch.InvalidRecipient, `row 2 variables: "name" has 1025 characters`},
		"a header of no name":  {csvBatch, "", "number,a/b\n4915100000001,c\n", "INVALID_CSV", `row 1, column "a/b", cannot be a variable`},
		"mapped to no name":    {csvBatch, `{"variables":{"a/b":"name"}}`, "number,name\n4915100000001,c\n", "INVALID_CSV", `mapping.variables: "a/b" is not a name of a variable`},
		"a missing variable":   {needs, "", "number,nme\n4915100000001,c\n", batch.MissingVariable, `row 2 has no variable "name"`},
		"a rendered text":      {strings.Replace(needs, "{{name}}", strings.Repeat("{{name}}", 70), 1), "", "number,name\n4915100000001,a\n4915100000002," + strings.Repeat("x", 1000) + "\n", batch.InvalidMessage, "row 3 message: "},
		"an unknown instance":  {strings.Replace(csvBatch, `"a"`, `"b"`, 1), "", "number\n4915100000001\n", batch.InvalidInstances, "instances[0]"},
		"a message of no type": {strings.Replace(csvBatch, `"text"`, `"txt"`, 1), "", "number\n4915100000001\n", batch.InvalidMessage, "message"},
	} {
		res := r.csv(r.token, "", row.plan, row.mapping, row.file)
		if e := wantError(t, res, 422, row.code); len(e.Messages) == 0 || !strings.Contains(e.Messages[0], row.want) {
			t.Errorf("%s: %q, want %s", name, e.Messages, row.want)
		}
	}
	r.wantBatches(0)
}

func TestPartsOfACSVComeInOrder(t *testing.T) {
	r := newRig(t)
	r.instance("a")
	plan, mapping, file := part{name: "batch", text: csvBatch}, part{name: "mapping", text: "{}"}, part{"file", "a.csv", "number\n4915100000001\n"}
	for name, row := range map[string]struct {
		parts  []part
		status int
		code   string
	}{
		"all":                  {[]part{plan, mapping, file}, 201, ""},
		"no mapping":           {[]part{plan, file}, 201, ""},
		"the file first":       {[]part{file, plan}, 400, rest.CodeMissingField},
		"the mapping last":     {[]part{plan, file, mapping}, 400, rest.CodeMalformedForm},
		"no file":              {[]part{plan, mapping}, 400, rest.CodeMissingField},
		"no batch":             {[]part{mapping, file}, 400, rest.CodeMissingField},
		"nothing":              {nil, 400, rest.CodeMissingField},
		"the file twice":       {[]part{plan, file, file}, 400, rest.CodeDuplicateField},
		"an unknown part":      {[]part{plan, {name: "x"}, file}, 400, rest.CodeUnknownField},
		"recipients":           {[]part{{name: "batch", text: batchBody("", "")}, file}, 400, rest.CodeUnknownField},
		"a batch of no object": {[]part{{name: "batch", text: "[]"}, file}, 400, rest.CodeInvalidType},
		"a large mapping":      {[]part{plan, {name: "mapping", text: strings.Repeat(" ", rest.MaxFormField+1)}, file}, 413, rest.CodeBodyTooLarge},
		"half a batch":         {[]part{{name: "batch", text: `{"name":`}, file}, 400, "MALFORMED_JSON"},
		"an unknown mapping":   {[]part{plan, {name: "mapping", text: `{"phone":"x"}`}, file}, 400, rest.CodeUnknownField},
	} {
		body, kind := formBody(t, row.parts...)
		res := r.form(csvPath, r.token, body, kind)
		if row.status == 201 {
			decoded[batch.View](t, res)
			continue
		}
		t.Run(name, func(t *testing.T) { wantError(t, res, row.status, row.code) })
	}
	e := wantError(t, r.csv(r.token, "", csvBatch, `{"number":"Phone"`, "number\n4915100000001\n"), 400, "MALFORMED_JSON")
	if want := "mapping is not valid JSON: unexpected EOF"; !strings.HasPrefix(e.Messages[0], want) {
		t.Errorf("%q, want %s", e.Messages, want)
	}
	wantError(t, r.do("POST", csvPath, csvBatch), 415, rest.CodeContentType)
}

func TestCutOffCSVCreatesNothing(t *testing.T) {
	r := newRig(t)
	r.instance("a")
	body, kind := formBody(t, part{name: "batch", text: csvBatch}, part{"file", "a.csv", "number\n4915100000001\n4915100000002\n"})
	for _, n := range []int{30, len(body) / 2, len(body) - 60, len(body) - 10} {
		if res := r.form(csvPath, r.token, body[:n], kind); res.StatusCode != 400 {
			t.Errorf("%d bytes of %d: status %d", n, len(body), res.StatusCode)
		}
	}
	r.wantBatches(0)
}

// TestCSVThatStallsIsCutOff sends the beginning of a file and no more.
func TestCSVThatStallsIsCutOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.instance("a")
		connected(t, r.h, func(c net.Conn) {
			body, kind := formBody(t, part{name: "batch", text: csvBatch}, part{"file", "a.csv", "number\n4915100000001\n4915100000002\n"})
			_, _ = fmt.Fprintf(c, "POST %s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n%s", csvPath, r.token, kind, len(body), body[:len(body)-70])
			cutOff(t, c, rest.UploadTimeout)
			c.Close()
		})
		r.wantBatches(0)
	})
}

func TestCSVIsCreatedOncePerKey(t *testing.T) {
	r := newRig(t)
	r.instance("a")
	const file = "number,name\n4915100000001,Ana\n"
	first := read(t, r.csv(r.token, "k", csvBatch, "", file)) // each form has a boundary of its own
	again := read(t, r.csv(r.token, "k", csvBatch, "", file))
	if first.status != 201 || !again.replayed || again.body != first.body {
		t.Errorf("first %v, again %v", first, again)
	}
	for _, other := range []*http.Response{r.csv(r.token, "k", csvBatch, "", file+"\n"), r.csv(r.token, "k", csvBatch, "{}", file)} {
		if got := read(t, other); got.code() != rest.CodeKeyReused {
			t.Error(got)
		}
	}
	r.wantBatches(1)
}

func TestScopedKeyBoundsACSV(t *testing.T) {
	r := newRig(t)
	r.instance("a")
	r.instance("b")
	key := func(more string) string {
		return r.newKey(`{"name":"k","instances":["a"],"scopes":["batch"],"userId":"` + r.user.String() + `"` + more + `}`).Key
	}
	decoded[batch.View](t, r.csv(key(""), "", csvBatch, "", "number\n4915100000001\n"))
	wantError(t, r.csv(key(""), "", strings.Replace(csvBatch, `"a"`, `"b"`, 1), "", "number\n4915100000001\n"), 403, rest.CodeScope)
	wantError(t, r.csv(key(`,"recipients":["4915100000001"]`), "", csvBatch, "", "number\n4915100000001\n4915100000002\n"), 403, rest.CodeRecipientNotAllowed)
	wantError(t, r.csv(r.newKey(`{"name":"k","instances":["a"],"scopes":["read"]}`).Key, "", csvBatch, "", "number\n4915100000001\n"), 403, rest.CodeScope)
}

// csvOf reads the items of a batch as CSV.
func (r *rig) csvOf(token string, v batch.View) (raw string, rows [][]string) {
	r.t.Helper()
	return r.fileOf(token, v, "/items.csv")
}

func (r *rig) reportOf(token string, v batch.View) (raw string, rows [][]string) {
	r.t.Helper()
	return r.fileOf(token, v, "/report.csv")
}

func (r *rig) fileOf(token string, v batch.View, name string) (raw string, rows [][]string) {
	r.t.Helper()
	res := r.as(token, "GET", "/message/batches/"+v.ID.String()+name, "")
	body, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != 200 || res.Header.Get("Content-Type") != "text/csv; charset=utf-8" {
		r.t.Fatal(res.StatusCode, res.Header, err)
	}
	text, marked := strings.CutPrefix(string(body), "\ufeff")
	if !marked {
		r.t.Error("it has no byte order mark")
	}
	rows, err = csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil {
		r.t.Fatal(err)
	}
	return text, rows
}

func TestItemsAreReadAsCSV(t *testing.T) {
	r := newRig(t)
	r.instance("a")
	hostile := "number,externalId,name,b,=c,d\n4915100000001,\"=HYPERLINK(\"\"x\"\")\",+1,-2,@x,\"\tx\"\n4915100000002,\" =1\",\"a\r\nb\",\"q\"\"\",\"\ry\",ok\n"
	v := decoded[batch.View](t, r.csv(r.token, "", csvBatch, `{"variables":{"z":"name","b":"b","c":"=c","d":"d"}}`, hostile))
	text, rows := r.csvOf(r.token, v)
	want := [][]string{
		{"position", "number", "externalId", "status", "errorCode", "instance", "whatsappMessageId", "processingStartedAt", "finishedAt", "b", "c", "d", "z"},
		{"0", "4915100000001", "'=HYPERLINK(\"x\")", "PENDING", "", "", "", "", "", "'-2", "'@x", "'\tx", "'+1"},
		{"1", "4915100000002", " =1", "PENDING", "", "", "", "", "", "q\"", "'y", "ok", "a\nb"},
	}
	if !reflect.DeepEqual(rows, want) {
		t.Errorf("\n got %q\nwant %q", rows, want)
	}
	if strings.Count(text, "\r\n") != strings.Count(text, "\n") {
		t.Errorf("a line ends without CRLF: %q", text)
	}
	// A program that separates cells by something else than commas finds no formula either.
	hostile = "number\tname\n4915100000001\tx;=1+1;;+2|@3\n4915100000002\t\"a\n=1\r\n-2\t+3\"\n4915100000003\t\"=1;=2; -3;'=4\"\n4915100000004\t＝1;＠2\n"
	_, rows = r.csvOf(r.token, decoded[batch.View](t, r.csv(r.token, "", csvBatch, "", hostile)))
	for i, want := range []string{"x;'=1+1;;'+2|'@3", "a\n'=1\n'-2\t'+3", "'=1;'=2; -3;'=4", "'＝1;'＠2"} {
		if got := rows[i+1][9]; got != want {
			t.Errorf("row %d has %q, want %q", i+1, got, want)
		}
	}
	_, rows = r.csvOf(r.token, r.drafted(1200)) // of a batch without variables
	if len(rows) != 1201 || len(rows[1200]) != 9 || rows[1200][0] != "1199" || rows[1200][1] != "4915100001199" {
		t.Errorf("%d rows, the last is %q", len(rows), rows[len(rows)-1])
	}
}

func TestSentItemsAreReadAsCSV(t *testing.T) {
	r := newRig(t)
	r.instance("a")
	v := decoded[batch.View](t, r.csv(r.token, "", strings.Replace(csvBatch, `,"autoStart":false`, "", 1), "", "number\n4915100000001\n"))
	r.process(v.ID)
	_, rows := r.csvOf(r.token, v)
	item := r.itemsOf(v)[0]
	want := []string{"0", "4915100000001", "", "SUCCESS", "", "a", *item.WhatsAppMessageID, item.ProcessingStartedAt.String(), item.FinishedAt.String()}
	if !reflect.DeepEqual(rows[1], want) {
		t.Errorf("\n got %q\nwant %q", rows[1], want)
	}
}

func TestItemsAsCSVHaveTheRightsOfItems(t *testing.T) {
	r := newRig(t)
	r.instance("a")
	r.instance("b")
	v := decoded[batch.View](t, r.csv(r.token, "", csvBatch, "", "number\n4915100000001\n"))
	path := "/message/batches/" + v.ID.String() + "/items.csv"
	_, other := r.newUser()
	wantError(t, r.as(other, "GET", path, ""), 404, "BATCH_NOT_FOUND")
	wantError(t, r.do("GET", "/message/batches/x/items.csv", ""), 404, "BATCH_NOT_FOUND")
	elsewhere := r.newKey(`{"name":"k","instances":["b"],"scopes":["batch"],"userId":"` + r.user.String() + `"}`).Key
	wantError(t, r.as(elsewhere, "GET", path, ""), 404, "BATCH_NOT_FOUND")
}

// TestItemsAsCSVAreBrokenOffNotEnded closes the file after the first part.
func TestItemsAsCSVAreBrokenOffNotEnded(t *testing.T) {
	r := newRig(t)
	path := "/message/batches/" + r.drafted(1200).ID.String() + "/items.csv"
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		r.h.ServeHTTP(closingWriter{w, r.store}, req)
	}))
	defer srv.Close()
	res := r.fetch(http.MethodGet, srv.URL+path, nil)
	defer res.Body.Close()
	if raw, err := io.ReadAll(res.Body); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("%d bytes and then %v", len(raw), err)
	}
}

// TestReadItemsCanBeSentAgain uses the answer as the file of a new batch.
func TestReadItemsCanBeSentAgain(t *testing.T) {
	r := newRig(t)
	r.instance("a")
	v := decoded[batch.View](t, r.csv(r.token, "", csvBatch, "", "number,externalId,name\n4915100000001,c-1,Ana\n"))
	text, _ := r.csvOf(r.token, v)
	again := decoded[batch.View](t, r.csv(r.token, "", csvBatch, `{"variables":{"name":"name"}}`, "\ufeff"+text))
	if i := r.itemsOf(again)[0]; i.ExternalID != "c-1" || i.RenderedPreview != "Hi Ana, {{x}}" {
		t.Errorf("%+v", i)
	}
}
