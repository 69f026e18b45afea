package faults

import (
	"io"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"

	"postern/e2e/rig"
)

// TestMetricsTellWhatAnOperatorAsks scrapes a program that has paired an
// instance and sent a batch.
func TestMetricsTellWhatAnOperatorAsks(t *testing.T) {
	if testing.Short() {
		t.Skip("starts the program")
	}
	w := rig.NewWorld(t)
	addr := rig.FreeAddress(t)
	w.Env = []string{"METRICS_PER_INSTANCE=true", "BACKUP_EVERY=24h", "BACKUP_DIR=" + t.TempDir(), "METRICS_LISTEN=" + addr}
	w.Start()
	w.Pair("red")
	keyed, err := http.NewRequestWithContext(t.Context(), http.MethodPost, w.API.Base+"/message/batches",
		strings.NewReader(`{"name":"draft","autoStart":false,"instances":["red"],"recipients":["4917400000001"],"message":{"type":"text","payload":{"text":"x"}}}`))
	if err != nil {
		t.Fatal(err)
	}
	keyed.Header.Set("Authorization", "Bearer "+w.User)
	keyed.Header.Set("Idempotency-Key", "metered")
	if res, err := http.DefaultClient.Do(keyed); err != nil || res.StatusCode != http.StatusCreated {
		t.Fatal(res, err)
	} else {
		_ = res.Body.Close()
	}
	b := w.CreateBatch("metered", []string{"red"}, []string{"4917400000001", "4917400000002"})
	w.Await("the end of the batch", func() bool { return w.Batch(b.ID).Status == "COMPLETED" })
	w.AwaitOutbox()
	for name, get := range map[string]func() *http.Response{
		"with the key":       func() *http.Response { return scrape(t, w.API.Base, w.Sec.GlobalAuthToken) },
		"at its own address": func() *http.Response { return scrape(t, "http://"+addr, "") },
	} {
		res := get()
		raw, err := io.ReadAll(res.Body)
		if err != nil || res.StatusCode != http.StatusOK {
			t.Fatalf("%s: %s %v", name, res.Status, err)
		}
		for _, want := range []string{
			`postern_build_info{`, `postern_instances{state="online"} 1`, "postern_outbox_pending 0", "postern_outbox_oldest_age_seconds 0",
			`postern_webhook_dropped_total{reason="queue_full"} 0`, `postern_webhook_delivery_duration_seconds_count{flow="batch",outcome="accepted"}`,
			`postern_webhook_delivery_duration_seconds_count{flow="instance",outcome="accepted"}`, "postern_store_commit_duration_seconds_bucket",
			"postern_store_commit_group_size_sum", "postern_store_file_bytes", "postern_store_disk_free_bytes", "postern_websocket_clients 0", "postern_instances_restricted 0", "postern_asynchronous_sends 0",
			"postern_webhook_queue_waiting 0", "postern_store_write_seconds_total ", "postern_store_damaged_records_total 0", "postern_store_damaged_records 0", "postern_store_file_free_bytes ",
			"postern_store_commits_total ", "postern_outbox_breaker_open 0", "postern_outbox_in_flight 0", `postern_batches{status="DRAFT"} 1`, "postern_websocket_slow_total 0",
			"postern_uploads 0", "postern_uploads_bytes 0", "postern_idempotency_keys 1", `postern_webhook_dropped_total{reason="stopping"} 0`, "postern_store_pages_written_total ", "postern_store_writes_total ", "postern_store_writer_wakeups_total ", "postern_store_page_bytes ",
			`postern_relay_wakeups_total{loop="outbox"} `, `postern_relay_wakeups_total{loop="settle"} `, "process_resident_memory_bytes", "go_goroutines",
		} {
			if !strings.Contains(string(raw), "\n"+want) {
				t.Errorf("%s: no %s", name, want)
			}
		}
		documented(t, string(raw))
	}
	if res := scrape(t, w.API.Base, ""); res.StatusCode != http.StatusUnauthorized {
		t.Errorf("without the key: %s", res.Status)
	}
	w.Stop()
}

// documented compares the names of the page with those of an answer. Some
// metrics are there only once something happened, and those of a cell only with store.url.
func documented(t *testing.T, answer string) {
	t.Helper()
	page, err := os.ReadFile("docs/api.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, help := range regexp.MustCompile(`# HELP (postern_\w+)`).FindAllStringSubmatch(answer, -1) {
		if !strings.Contains(string(page), "`"+help[1]+"`") {
			t.Errorf("docs/api.md does not tell of %s", help[1])
		}
	}
	for _, name := range regexp.MustCompile("`(postern_\\w+)`").FindAllStringSubmatch(string(page), -1) {
		if !strings.Contains(answer, "# HELP "+name[1]+" ") && name[1] != "postern_whatsapp_unknown_events_total" && !strings.HasPrefix(name[1], "postern_cluster_") {
			t.Errorf("docs/api.md tells of %s, which is not there", name[1])
		}
	}
}

func scrape(t *testing.T, base, key string) *http.Response {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, base+"/metrics", nil)
	if err != nil {
		t.Fatal(err)
	}
	if key != "" {
		req.Header.Set("apikey", key)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = res.Body.Close() })
	return res
}
