package sandbox

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"go.mau.fi/whatsmeow/types/events"
)

func TestPhoneScansAndActsOverHTTP(t *testing.T) {
	s := openServer(t, Config{})
	var added phoneView
	if got := call(t, s, "POST", "/sandbox/phones", `{"phone":"+5511911111111","pushName":"Ana","lid":"77"}`, &added); got != http.StatusCreated {
		t.Fatalf("adding a phone: %d", got)
	}
	if added.Phone != "5511911111111" || added.PushName != "Ana" || added.LID != "77@lid" {
		t.Errorf("added %+v", added)
	}
	c := newClient(t, s, nil)
	c.connect()
	code, _ := json.Marshal(map[string]string{"phone": added.Phone, "code": wait(c, 1, every[*events.QR]).Codes[0]})
	if got := call(t, s, "POST", "/sandbox/scan", string(code), &added); got != http.StatusOK || len(added.Devices) != 1 {
		t.Fatalf("scanning: %d, %+v", got, added)
	}
	wait(c, 1, every[*events.Connected])

	var sent map[string]string
	call(t, s, "POST", "/sandbox/phones/5511922222222/act", `{"do":"text","to":"5511911111111","text":"by hand"}`, &sent)
	if m := wait(c, 1, isText("by hand")); m.Info.ID != sent["id"] {
		t.Errorf("sent %s, received %s", sent["id"], m.Info.ID)
	}
	call(t, s, "POST", "/sandbox/phones/5511922222222/act", `{"do":"receipt","to":"5511911111111","ids":["A1"],"type":"read"}`, &sent)
	wait(c, 1, func(r *events.Receipt) bool { return r.Type == "read" && r.MessageIDs[0] == "A1" })
	call(t, s, "POST", "/sandbox/phones/5511911111111/act", `{"do":"drop"}`, &sent)
	wait(c, 2, every[*events.Connected])
	c.settle()
	call(t, s, "POST", "/sandbox/phones/5511911111111/act", `{"do":"logout"}`, &sent)
	wait(c, 1, every[*events.LoggedOut])
	var phones []phoneView
	call(t, s, "GET", "/sandbox/phones", "", &phones)
	if len(phones) != 1 || len(phones[0].Devices) != 0 {
		t.Errorf("listed %+v, want the added phone without devices", phones)
	}
}

func TestControlRefusesWithOneErrorBody(t *testing.T) {
	s := openServer(t, Config{})
	addPhone(t, s, "5511911111111")
	for _, test := range []struct {
		method, path, body string
		status             int
		code               string
	}{
		{"GET", "/sandbox/nothing", "", 404, "NOT_FOUND"},
		{"PUT", "/sandbox/phones", "", 405, "METHOD_NOT_ALLOWED"},
		{"POST", "/sandbox/phones", "{", 400, "MALFORMED_JSON"},
		{"POST", "/sandbox/phones", "{} {}", 400, "MALFORMED_JSON"},
		{"POST", "/sandbox/phones", `{"number":` + strings.Repeat("[", 64) + strings.Repeat("]", 64) + `}`, 400, "TOO_DEEP"},
		{"POST", "/sandbox/phones/5511911111111/act", `{"do":` + strings.Repeat("[", 20_000), 400, "TOO_DEEP"},
		{"POST", "/sandbox/phones", `{"number":"1"}`, 400, "UNKNOWN_FIELD"},
		{"POST", "/sandbox/phones", `{"phone":1}`, 400, "INVALID_TYPE"},
		{"POST", "/sandbox/phones", `{"phone":"5511911110000"}`, 422, "INVALID_PHONE"},
		{"POST", "/sandbox/phones", `{"phone":"5511911111111"}`, 409, "PHONE_EXISTS"},
		{"POST", "/sandbox/scan", `{"phone":"5511911111111"}`, 422, "INVALID_CODE"},
		{"POST", "/sandbox/scan", `{"code":"https://example.com/#a,b"}`, 422, "INVALID_CODE"},
		{"POST", "/sandbox/scan", `{"phone":"5511911111111","code":"ABCD-EFGH"}`, 404, "PAIRING_NOT_FOUND"},
		{"POST", "/sandbox/phones/5511900000000/act", `{"do":"drop"}`, 404, "PHONE_NOT_FOUND"},
		{"POST", "/sandbox/phones/5511911111111/act", `{}`, 422, "UNKNOWN_ACT"},
		{"POST", "/sandbox/phones/5511911111111/act", `{"do":"dance"}`, 422, "UNKNOWN_ACT"},
		{"POST", "/sandbox/phones/5511911111111/act", `{"do":"text","to":"5511922222222"}`, 422, "INVALID_VALUE"},
		{"POST", "/sandbox/phones/5511911111111/act", `{"do":"text","to":"5511922220000","text":"x"}`, 422, "INVALID_PHONE"},
		{"POST", "/sandbox/phones/5511911111111/act", `{"do":"text","two":"x"}`, 400, "UNKNOWN_FIELD"},
		{"POST", "/sandbox/phones/5511911111111/act", `{"do":"receipt","to":"5511922222222","ids":["a"],"type":"smelled"}`, 422, "INVALID_VALUE"},
		{"POST", "/sandbox/faults", `{"sendError":-1}`, 422, "INVALID_VALUE"},
	} {
		var answer controlError
		status := call(t, s, test.method, test.path, test.body, &answer)
		if status != test.status || answer.StatusCode != test.status || answer.Code != test.code {
			t.Errorf("%s %s %s: %d %+v, want %d %s", test.method, test.path, test.body, status, answer, test.status, test.code)
		}
		if answer.RequestID != "request-1" || len(answer.Messages) != 1 || len(answer.Message) != 1 || answer.Error == "" {
			t.Errorf("%s %s: incomplete error body %+v", test.method, test.path, answer)
		}
	}
}

func TestHelpDescribesEveryActAndItsFields(t *testing.T) {
	s := openServer(t, Config{})
	var help struct{ Acts []actHelp }
	call(t, s, "GET", "/sandbox/help", "", &help)
	if len(help.Acts) != len(acts()) {
		t.Errorf("%d acts are described, there are %d", len(help.Acts), len(acts()))
	}
	for _, a := range help.Acts {
		for field, text := range a.Fields {
			if a.Does == "" || field == "" || text == "" {
				t.Errorf("act %s: field %q is described by %q", a.Do, field, text)
			}
		}
	}
}
