package httpapi

import (
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"postern/httpapi/operator"
)

// TestAuditLogFilters
func TestAuditLogFilters(t *testing.T) {
	r := newRig(t)
	token := r.instance("a")
	k := r.newKey(`{"name":"k","instances":["*"],"scopes":["webhook","manage"]}`)
	for _, res := range []int{
		r.with(token, "PUT", "/instance/a/webhook/options", `{"durable":true}`).StatusCode,
		r.with(k.Key, "PUT", "/instance/a/webhook", `{"enabled":true,"url":"https://example.org/hook","events":{}}`).StatusCode,
		r.with(k.Key, "PUT", "/instance/a/limits", `{"perMinute":5}`).StatusCode,
		r.admin("POST", "/instance", `{"instanceName":"b"}`).StatusCode,
	} {
		if res >= 300 {
			t.Fatal(res)
		}
	}
	at := func(d time.Duration) string { return url.QueryEscape(time.Now().Add(d).Format(time.RFC3339)) }
	id := k.ID.String()
	for query, want := range map[string]string{
		"actor=" + id: "limits.change webhook.change", "actor=instance:a": "webhook.options.change",
		"action=webhook": "webhook.change webhook.options.change", "action=webhook.change": "webhook.change", "action=web": "",
		"subject=b": "instance.create", "subject=a&actor=" + id + "&action=limits": "limits.change",
		"action=limits&since=" + at(-time.Hour): "limits.change", "since=" + at(time.Hour): "",
		"action=limits&until=" + at(time.Hour): "limits.change", "until=" + at(-time.Hour): "",
	} {
		res := r.admin("GET", "/audit?"+query, "")
		if res.StatusCode != 200 {
			t.Fatalf("%s: %s", query, res.Status)
		}
		list := decoded[operator.AuditList](t, res)
		var got []string
		for _, rec := range list.Records {
			got = append(got, rec.Action)
		}
		if strings.Join(got, " ") != want || list.TotalRecords != nil || list.NextCursor != nil {
			t.Errorf("%s: %q with total %v, next %v; want %q", query, got, list.TotalRecords, list.NextCursor, want)
		}
	}
	if all := decoded[operator.AuditList](t, r.admin("GET", "/audit", "")); all.TotalRecords == nil || *all.TotalRecords != len(all.Records) || len(all.Records) < 5 {
		t.Errorf("without a filter: %+v", all)
	}
	for query, names := range map[string]string{
		"actor=": "actor", "action=" + strings.Repeat("x", 256): "action", "subject=a&subject=b": "subject",
		"since=yesterday": "since", "until=2026": "until", "instance=a": "instance",
	} {
		if e := wantError(t, r.admin("GET", "/audit?"+query, ""), 400, "INVALID_QUERY"); !strings.Contains(fmt.Sprint(e.Messages), names) {
			t.Errorf("%s: %q", query, e.Messages)
		}
	}
}
