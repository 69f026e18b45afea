package httpapi

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"postern/batch"
	"postern/httpapi/rest"
)

// batchBody returns a valid creation with one field replaced, or added.
func batchBody(field, value string) string {
	fields := map[string]json.RawMessage{
		"name":       json.RawMessage(`"b"`),
		"instances":  json.RawMessage(`["a"]`),
		"recipients": json.RawMessage(`["4915112345678"]`),
		"message":    json.RawMessage(`{"type":"text","payload":{"text":"hi"}}`),
		"autoStart":  json.RawMessage(`false`),
	}
	if field != "" {
		fields[field] = json.RawMessage(value)
	}
	b, err := json.Marshal(fields)
	if err != nil {
		panic(err)
	}
	return string(b)
}

func TestABatchIsCreatedAsAskedFor(t *testing.T) {
	r := newRig(t)
	r.instance("a")
	body := `{"name":"b","instances":["a","a"],"recipients":["+49 151 12345678","4915112345678","4915112345679"],
		"message":{"type":"text","payload":{"text":"<hi> é"}},"options":{"delay":{"minMs":1,"maxMs":2},"skipUnregistered":true},
		"schedule":null,"externalAttributes":{"k":[1]}}`
	res := r.do("POST", "/message/batches", body)
	if res.StatusCode != 201 {
		t.Fatalf("status %d", res.StatusCode)
	}
	got := decoded[batch.View](t, res)
	if got.OwnerUserID != r.user || got.Status != "QUEUED" || len(got.Instances) != 1 || got.Counts.Total != 2 {
		t.Errorf("got %+v", got)
	}
	if got.Counts.Received == nil || *got.Counts.Received != 3 || *got.Counts.DuplicatesIgnored != 1 {
		t.Errorf("counts %+v", got.Counts)
	}
	if string(got.Message[0].Payload) != `{"text":"<hi> é"}` || string(got.ExternalAttributes) != `{"k":[1]}` || got.Options.Delay.MaxMs != 2 {
		t.Errorf("got %+v", got)
	}
}

func TestMalformedBatchIs400AndBrokenRule422(t *testing.T) {
	r := newRig(t)
	r.instance("a")
	cases := []struct {
		field, value string
		status       int
		code         string
	}{
		{"unknown", `1`, 400, "UNKNOWN_FIELD"},
		{"name", `null`, 400, "INVALID_TYPE"},
		{"name", `""`, 422, "INVALID_NAME"},
		{"instances", `"a"`, 400, "INVALID_TYPE"},
		{"instances", `[]`, 422, "INVALID_INSTANCES"},
		{"instances", `["a","x"]`, 422, "INVALID_INSTANCES"},
		{"recipients", `[1]`, 400, "INVALID_TYPE"},
		{"recipients", `[]`, 422, "INVALID_RECIPIENT"},
		{"recipients", `["4915112345678","12"]`, 422, "INVALID_RECIPIENT"},
		{"recipients", `["1-2@g.us"]`, 422, "INVALID_RECIPIENT"},
		{"message", `{"type":"text"}`, 400, "MISSING_FIELD"},
		{"message", `{"type":"text","payload":"hi"}`, 400, "INVALID_TYPE"},
		{"message", `{"type":"text","payload":{"text":"hi","x":1}}`, 400, "UNKNOWN_FIELD"},
		{"message", `{"type":"text","payload":{"text":""}}`, 422, "INVALID_MESSAGE"},
		{"message", `{"type":"smoke","payload":{}}`, 422, "INVALID_MESSAGE"},
		{"options", `{"delay":{"minMs":5,"maxMs":1}}`, 422, "INVALID_OPTIONS"},
		{"options", `{"whenRestricted":"never"}`, 422, "INVALID_OPTIONS"},
		{"options", `{"whenRestricted":1}`, 400, "INVALID_TYPE"},
		{"options", `{"delay":{"min":5}}`, 400, "UNKNOWN_FIELD"},
		{"autoStart", `"yes"`, 400, "INVALID_TYPE"},
		{"schedule", `{"windowStartAt":"2026-01-01T00:00:00Z"}`, 400, "MISSING_FIELD"},
		{"schedule", `{"windowStartAt":"x","windowEndAt":"y","recurrence":"NONE"}`, 422, "INVALID_SCHEDULE"},
		{"schedule", `{"from":"x"}`, 400, "UNKNOWN_FIELD"},
		{"externalAttributes", `[]`, 400, "INVALID_TYPE"},
	}
	for _, c := range cases {
		t.Run(c.field+" "+c.value, func(t *testing.T) {
			wantError(t, r.do("POST", "/message/batches", batchBody(c.field, c.value)), c.status, c.code)
		})
	}
	b := wantError(t, r.do("POST", "/message/batches", batchBody("message", `{"type":"text","payload":{"text":"a","text":"b"}}`)), 400, "DUPLICATE_FIELD")
	if !strings.Contains(b.Messages[0], "message.payload.text") {
		t.Errorf("the field is not named: %q", b.Messages)
	}
}

func TestEachBadRecipientIsNamedByItsIndex(t *testing.T) {
	r := newRig(t)
	r.instance("a")
	b := wantError(t, r.do("POST", "/message/batches", batchBody("recipients", `["x","4915112345678",""]`)), 422, "INVALID_RECIPIENT")
	if len(b.Messages) != 2 || !strings.Contains(b.Messages[0], "recipients[0]") || !strings.Contains(b.Messages[1], "recipients[2]") {
		t.Errorf("got %q", b.Messages)
	}
}

func TestABatchMayBeLargerThanOtherBodies(t *testing.T) {
	r := newRig(t)
	r.instance("a")
	var list strings.Builder
	for n := range 60_000 {
		fmt.Fprintf(&list, `,"+49 (151) %08d"`, n)
	}
	recipients := "[" + list.String()[1:] + "]"
	if len(recipients) <= rest.MaxBody {
		t.Fatalf("the list has %d bytes, which proves nothing", len(recipients))
	}
	got := decoded[batch.View](t, r.do("POST", "/message/batches", batchBody("recipients", recipients)))
	if got.Counts.Total != 60_000 {
		t.Errorf("total %d", got.Counts.Total)
	}
}

func TestUpToFiveMessagesAreAnArray(t *testing.T) {
	r := newRig(t)
	r.instance("a")
	text := `{"type":"text","payload":{"text":"hi"}}`
	res := r.do("POST", "/message/batches", batchBody("message", `[`+text+`,{"type":"poll","payload":{"name":"When?","options":["a","b"]}}]`))
	got := decoded[batch.View](t, res)
	if res.StatusCode != 201 || len(got.Message) != 2 || got.Message[1].Type != "poll" {
		t.Errorf("%d %+v", res.StatusCode, got.Message)
	}
	for value, want := range map[string]struct {
		status int
		code   string
		names  string
	}{
		`[]`: {422, "INVALID_MESSAGE", "message must have 1 to 5 messages"},
		`[` + text + strings.Repeat(`,`+text, 5) + `]`:         {422, "INVALID_MESSAGE", "at most 5"},
		`[` + text + `,{"type":"text"}]`:                       {400, "MISSING_FIELD", "message[1].payload"},
		`[` + text + `,{"type":"text","payload":{"text":1}}]`:  {400, "INVALID_TYPE", "message[1].payload.text"},
		`[` + text + `,{"type":"text","payload":{"text":""}}]`: {422, "INVALID_MESSAGE", "message[1]"},
		`[` + text + `,7]`: {400, "INVALID_TYPE", "message[1]"},
		`"hi"`:             {400, "INVALID_TYPE", "message"},
		`{"type":"forward","payload":{"messageId":12345}}`: {422, "INVALID_MESSAGE", "message.payload.messageId names no stored message"},
		`{"type":"forward","payload":{"messageId":true}}`:  {400, "INVALID_TYPE", "message.payload.messageId"},
		`{"type":"forward","payload":{}}`:                  {400, "MISSING_FIELD", "message.payload.messageId"},
	} {
		b := wantError(t, r.do("POST", "/message/batches", batchBody("message", value)), want.status, want.code)
		if !strings.Contains(strings.Join(b.Messages, " "), want.names) {
			t.Errorf("%s: %v", value, b.Messages)
		}
	}
}
