package httpapi

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"postern/batch"
	"postern/httpapi/instances"
	"postern/httpapi/operator"
)

// bring posts a form to the import.
func (r *rig) bring(t *testing.T, parts ...part) *http.Response {
	t.Helper()
	body, contentType := formBody(t, parts...)
	return r.form("/admin/import", "", body, contentType)
}

// TestExportMarksTheInstanceUntilUndone: if the undo names a request, it removes only the
// mark of that request.
func TestExportMarksTheInstanceUntilUndone(t *testing.T) {
	r := newRig(t)
	token := r.instance("a")
	req := httptest.NewRequest("POST", "/instance/a/export", strings.NewReader(`{"messages":true}`))
	req.Header.Set("apikey", testKey)
	req.Header.Set("X-Request-Id", "export-1")
	res := do(r.h, req)
	if said := text(t, res); res.StatusCode != 200 || said != "the account" || res.Header.Get("Content-Length") != "11" || !strings.Contains(res.Header.Get("Content-Disposition"), `"a.account"`) {
		t.Fatalf("%s %v %q", res.Status, res.Header, said)
	}
	status := decoded[instances.StatusAnswer](t, r.with(token, "GET", "/instance/a/connection/status", ""))
	if status.ConnectionStatus != "OFFLINE" || status.LastError == nil || !strings.Contains(*status.LastError, "moved") {
		t.Errorf("%+v", status)
	}
	wantError(t, r.with(token, "GET", "/instance/a/connect", ""), 409, "INSTANCE_MOVED")
	wantError(t, r.with(token, "POST", "/instance/a/send/text", `{"number":"4915112345678","textMessage":{"text":"x"}}`), 409, "INSTANCE_MOVED")
	wantError(t, r.admin("DELETE", "/instance/a/export?requestId=another", ""), 409, "INSTANCE_NOT_MOVED")
	wantError(t, r.admin("DELETE", "/instance/a/export?requestId=", ""), 400, "INVALID_QUERY")
	wantError(t, r.admin("DELETE", "/instance/nobody/export", ""), 404, "INSTANCE_NOT_FOUND")
	wantError(t, r.admin("POST", "/instance/nobody/export", ""), 404, "INSTANCE_NOT_FOUND")
	wantError(t, r.admin("POST", "/instance/a/export", `{"recipients":["me"]}`), 422, "INVALID_BACKUP_RECIPIENT")
	if res := r.admin("DELETE", "/instance/a/export?requestId=export-1", ""); res.StatusCode != 204 {
		t.Errorf("%s", res.Status)
	}
	wantError(t, r.admin("DELETE", "/instance/a/export", ""), 409, "INSTANCE_NOT_MOVED")
}

// TestAbortedExportIsUndone: the account remains here.
func TestAbortedExportIsUndone(t *testing.T) {
	r := newRig(t)
	r.instance("a")
	req := httptest.NewRequest("POST", "/instance/a/export", nil)
	req.Header.Set("apikey", testKey)
	func() {
		defer func() {
			if cause, _ := recover().(error); !errors.Is(cause, http.ErrAbortHandler) {
				t.Errorf("the answer ended with %v", cause)
			}
		}()
		r.api.ServeHTTP(broken{httptest.NewRecorder()}, req)
	}()
	rec, err := r.registry.ByName("a")
	if err != nil || rec.HasMoved() {
		t.Errorf("%+v, %v", rec, err)
	}
}

// TestSentExportStaysWithoutItsReader: the client has received all of it, disconnects, and has
// the account.
func TestSentExportStaysWithoutItsReader(t *testing.T) {
	r := newRig(t)
	r.instance("a")
	ctx, gone := context.WithCancel(t.Context())
	req := httptest.NewRequestWithContext(ctx, "POST", "/instance/a/export", nil)
	req.Header.Set("apikey", testKey)
	r.api.ServeHTTP(hangingUp{httptest.NewRecorder(), gone}, req)
	rec, err := r.registry.ByName("a")
	if err != nil || !rec.HasMoved() {
		t.Errorf("%+v, %v", rec, err)
	}
}

// hangingUp is a client that reads the answer and disconnects at once.
type hangingUp struct {
	*httptest.ResponseRecorder
	gone func()
}

func (h hangingUp) Write(p []byte) (int, error) {
	h.gone()
	return h.ResponseRecorder.Write(p)
}

// broken is a client that has disconnected.
type broken struct{ *httptest.ResponseRecorder }

func (broken) Write([]byte) (int, error) { return 0, http.ErrHandlerTimeout }

// TestAnImportIsWholeOrNothing: a file without an account, or a name that is taken or invalid, creates no
// instance and leaves no file.
func TestAnImportIsWholeOrNothing(t *testing.T) {
	r := newRig(t)
	r.instance("taken")
	before := len(r.registry.List())
	account := part{"attachment", "shop.account", "the account"}
	wantError(t, r.bring(t, part{"attachment", "shop.account", "the acc"}), 422, "INVALID_ARCHIVE")
	wantError(t, r.bring(t, part{"attachment", "shop.account", ""}), 422, "INVALID_ARCHIVE")
	wantError(t, r.bring(t, account, part{name: "name", text: "taken"}), 409, "INSTANCE_EXISTS")
	wantError(t, r.bring(t, account, part{name: "name", text: ""}), 422, "INVALID_INSTANCE")
	wantError(t, r.bring(t, account, part{name: "name", text: "../x"}), 422, "INVALID_INSTANCE")
	wantError(t, r.bring(t, account, part{name: "other", text: "x"}), 400, "UNKNOWN_FIELD")
	if after := len(r.registry.List()); after != before || len(r.spooled()) > 0 {
		t.Errorf("%d instances, %d before; files %v", after, before, r.spooled())
	}
	made := decoded[instances.ImportedInstance](t, r.bring(t, account, part{name: "name", text: "shop"}))
	if made.InstanceName != "shop" || made.Auth == nil || made.Auth.Token == "" || len(r.spooled()) > 0 {
		t.Errorf("%+v; files %v", made, r.spooled())
	}
	last := decoded[batch.List[operator.AuditRecord]](t, r.admin("GET", "/audit?limit=1", "")).Records[0]
	if last.Action != "instance.import" || last.Subject != "shop" || last.Actor != "global" {
		t.Errorf("the audit log has %+v", last)
	}
}
