package httpapi

import (
	"testing"

	"postern/event"
	"postern/httpapi/instances"
	"postern/httpapi/rest"
)

func TestImpossibleChangeIsAConflict(t *testing.T) {
	r, token, d := doing(t)
	d.err = event.ErrStateConflict
	for _, c := range [][3]string{
		{"POST", "/label/assign", `{"labelId":"2","chat":"4915112345678"}`},
		{"POST", "/label/unassign", `{"labelId":"2","chat":"4915112345678"}`},
		{"POST", "/label", `{"name":"x"}`},
		{"POST", "/chat/archive", `{"chat":"4915112345678","archive":true}`},
		{"POST", "/chat/pin", `{"chat":"4915112345678","pinned":true}`},
		{"POST", "/chat/mute", `{"chat":"4915112345678","muted":true}`},
	} {
		wantError(t, r.as(token, c[0], "/instance/a"+c[1], c[2]), 409, "APP_STATE_CONFLICT")
	}
}

func TestResetAsksThePhoneWithoutABody(t *testing.T) {
	r, token, d := doing(t)
	const path = "/instance/a/app-state/reset"
	r.refuses(t, token, d, []refusedCall{{"POST", path, `{"all":true}`, 400, rest.CodeUnknownField, "all"}})
	answer := decoded[instances.ResetAnswer](t, r.as(token, "POST", path, ""))
	if len(d.asked) != 1 || d.asked[0] != "reset the app state" || answer.InstanceName != "a" {
		t.Errorf("asked %v, answered %+v", d.asked, answer)
	}
	d.err = event.ErrNotConnected
	wantError(t, r.as(token, "POST", path, ""), 503, "INSTANCE_NOT_CONNECTED")
}
