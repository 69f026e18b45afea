package faults

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"postern/e2e/rig"
)

// prometheus is a real one that scrapes the program.
type prometheus struct {
	t    *testing.T
	base string
}

// watching starts it, with the alerts of docs/, or skips the test.
func watching(t *testing.T, target string) *prometheus {
	t.Helper()
	for _, tool := range []string{"prometheus", "promtool"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("%s is not here; Debian has it in the package prometheus", tool)
		}
	}
	folder := t.TempDir()
	rules, err := filepath.Abs("docs/alerts.yml")
	if err != nil {
		t.Fatal(err)
	}
	settings := fmt.Sprintf("global: {scrape_interval: 250ms, evaluation_interval: 250ms}\nrule_files: [%q]\nscrape_configs: [{job_name: postern, static_configs: [{targets: [%q]}]}]\n", rules, target)
	path := filepath.Join(folder, "prometheus.yml")
	if err := os.WriteFile(path, []byte(settings), 0o600); err != nil {
		t.Fatal(err)
	}
	address := rig.FreeAddress(t)
	cmd := exec.CommandContext(t.Context(), "prometheus", "--config.file="+path, "--storage.tsdb.path="+filepath.Join(folder, "data"), "--web.listen-address="+address)
	var said bytes.Buffer
	cmd.Stderr = &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("prometheus says %s", said.String())
		}
	})
	return &prometheus{t, "http://" + address}
}

// ask reads an answer of its API. It fails for an invalid expression.
func (p *prometheus) ask(path string, query url.Values, into any) error {
	res, err := http.Get(p.base + path + "?" + query.Encode())
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }()
	var answer struct {
		Status, Error string
		Data          json.RawMessage
	}
	if err := json.NewDecoder(res.Body).Decode(&answer); err != nil {
		return err
	}
	if answer.Status != "success" {
		return fmt.Errorf("%s: %s", query.Get("query"), answer.Error)
	}
	return json.Unmarshal(answer.Data, into)
}

// rule is an alert as Prometheus has read it.
type rule struct {
	Name, Query         string
	Duration            float64 // seconds
	Labels, Annotations map[string]string
	Health, LastError   string
}

// TestDashboardAndAlertsUseExistingMetrics: a real Prometheus scrapes the real
// program with the sandbox, after messages both ways, evaluates every expression, and
// has every metric that one names. Each alert fires for what it is about, and not for
// what is well.
func TestDashboardAndAlertsUseExistingMetrics(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts the program and a Prometheus")
	}
	w := rig.NewWorld(t)
	scraped := rig.FreeAddress(t)
	p := watching(t, scraped)
	w.Env = []string{"METRICS_PER_INSTANCE=true", "METRICS_LISTEN=" + scraped, "BACKUP_EVERY=24h", "BACKUP_DIR=" + t.TempDir()}
	w.Start()
	w.Pair("red")
	w.Pair("blue")
	b := w.CreateBatch("watched", []string{"red", "blue"}, []string{"4917400000001", "4917400000002"})
	w.Await("the end of the batch", func() bool { return w.Batch(b.ID).Status == "COMPLETED" })

	w.CreateBatchOf(map[string]any{
		"name": "draft", "autoStart": false, "instances": []string{"red"}, "recipients": []string{"4917400000001"},
		"message": map[string]any{"type": "text", "payload": map[string]string{"text": "x"}},
	})
	var names []string
	w.Await("a scrape of all", func() bool {
		err := p.ask("/api/v1/label/__name__/values", nil, &names)
		return err == nil && slices.Contains(names, "postern_instance_sent_total") && slices.Contains(names, "postern_webhook_attempts_total") && slices.Contains(names, "process_resident_memory_bytes")
	})
	var sent struct{ Result []struct{ Value []any } }
	if err := p.ask("/api/v1/query", url.Values{"query": {`sum(postern_instance_sent_total)`}}, &sent); err != nil || len(sent.Result) != 1 {
		t.Fatalf("%v %v", sent, err)
	}
	// One of the two may have sent both.
	w.Await("the count of what was sent", func() bool {
		err := p.ask("/api/v1/query", url.Values{"query": {`sum(postern_instance_sent_total) == 2 and sum(postern_instance_up) == 2 and max(postern_instance_last_sent_timestamp_seconds) > time() - 600`}}, &sent)
		return err == nil && len(sent.Result) == 1
	})

	expressions := boardExpressions(t)
	if len(expressions) < 20 {
		t.Errorf("the board has %d expressions", len(expressions))
	}
	var groups struct{ Groups []struct{ Rules []rule } }
	w.Await("the rules", func() bool {
		err := p.ask("/api/v1/rules", nil, &groups)
		return err == nil && len(groups.Groups) == 1 && !slices.ContainsFunc(groups.Groups[0].Rules, func(r rule) bool { return r.Health == "unknown" })
	})
	rules := groups.Groups[0].Rules
	for _, r := range rules {
		if r.Health != "ok" || r.Annotations["summary"] == "" || r.Annotations["action"] == "" || r.Labels["severity"] == "" {
			t.Errorf("%s: %s %s, or it says nothing", r.Name, r.Health, r.LastError)
		}
		expressions = append(expressions, r.Query)
	}
	page, err := os.ReadFile("docs/api.md")
	if err != nil {
		t.Fatal(err)
	}
	metric := regexp.MustCompile(`\b(?:postern|process|go)_\w+`)
	for _, e := range expressions {
		e = strings.ReplaceAll(e, "$job", "postern")
		var ignored any
		if err := p.ask("/api/v1/query", url.Values{"query": {e}}, &ignored); err != nil {
			t.Error(err)
		}
		for _, name := range metric.FindAllString(e, -1) {
			if strings.HasPrefix(name, "postern_cluster_") { // with store.url only; e2e/cluster compares the page with a node
				if !strings.Contains(string(page), "`"+strings.TrimSuffix(name, "_bucket")+"`") {
					t.Errorf("%s: docs/api.md has no %s", e, name)
				}
			} else if !slices.Contains(names, name) {
				t.Errorf("%s: there is no %s", e, name)
			}
		}
	}
	alertsFire(t, rules)
	w.Stop()
}

// boardExpressions returns those of docs/grafana.json.
func boardExpressions(t *testing.T) (all []string) {
	t.Helper()
	raw, err := os.ReadFile("docs/grafana.json")
	if err != nil {
		t.Fatal(err)
	}
	var board struct {
		Panels []struct{ Targets []struct{ Expr string } }
	}
	if err := json.Unmarshal(raw, &board); err != nil {
		t.Fatal(err)
	}
	for _, panel := range board.Panels {
		for _, target := range panel.Targets {
			all = append(all, target.Expr)
		}
	}
	return all
}

// series is what a metric was at each interval, in promtool's notation.
type series struct {
	Series string `json:"series"`
	Values string `json:"values"`
}

// alertsFire tests each alert with promtool: with the fault it fires after its
// time, and with what is well it does not.
func alertsFire(t *testing.T, rules []rule) {
	t.Helper()
	const job = `{job="postern"}`
	one := func(metric, bad, good string) [2][]series {
		return [2][]series{{{metric, bad}}, {{metric, good}}}
	}
	node := func(name, metric string) string {
		return `postern_cluster_` + metric + `{job="postern",instance="` + name + `"}`
	}
	cases := map[string][2][]series{
		"PosternDown":                 one(`up`+job, "0x3000", "1x3000"),
		"PosternDiskLow":              one(`postern_store_disk_free_bytes`+job, "9e8x3000", "2e9x3000"),
		"PosternDamagedRecords":       one(`postern_store_damaged_records`+job, "1x3000", "0x3000"),
		"PosternBackupOld":            one(`postern_backup_last_success_timestamp_seconds`+job, "0x300", "0+600x300"),
		"PosternOutboxOld":            one(`postern_outbox_oldest_age_seconds`+job, "601x3000", "599x3000"),
		"PosternDeliveriesOld":        one(`postern_webhook_oldest_pending_age_seconds`+job, "3601x3000", "3599x3000"),
		"PosternTrouble":              one(`postern_troubles{job="postern",kind="INSTANCE_LOGGED_OUT",severity="broken"}`, "1x3000", "0x3000"),
		"PosternWebhookDown":          one(`postern_webhook_breakers_open`+job, "1x3000", "0x3000"),
		"PosternWebhookDropped":       one(`postern_webhook_dropped_total{job="postern",reason="queue_full"}`, "0+1x3000", "7x3000"),
		"PosternUndecryptable":        one(`postern_whatsapp_undecryptable_total{job="postern",outcome="told"}`, "0+1x3000", "90x3000"),
		"PosternGuessing":             one(`postern_wrong_credentials_total`+job, "0+120x3000", "0+30x3000"),
		"PosternInstanceDown":         one(`postern_instance_up`+job, "0x3000", "1x3000"),
		"PosternInstanceRestricted":   one(`postern_instance_restricted_until_timestamp_seconds`+job, "9e9x3000", "60x3000"),
		"PosternInstanceWebhookFails": one(`postern_instance_webhook_failures_total`+job, "0+2x3000", "4x3000"),
		"PosternCellNoOwner":          one(`postern_cluster_owner`+job, "0x3000", "1x3000"),
		"PosternCellBehind":           one(`postern_cluster_behind_seconds`+job, "11x3000", "10x3000"),
		"PosternCellLeaseShort":       one(`postern_cluster_lease_seconds`+job, "10x89 2x3000", "10x89 4x3000"),
		"PosternCellNoStandby": {
			{{node("a", "owner"), "1x3000"}, {node("a", "engine_up"), "1x3000"}, {node("b", "owner"), "0x3000"}, {node("b", "engine_up"), "0x3000"}},
			{{node("a", "owner"), "1x3000"}, {node("a", "engine_up"), "1x3000"}, {node("b", "owner"), "0x3000"}, {node("b", "engine_up"), "1x3000"}},
		},
		"PosternCellNotSynchronous": {
			{{`postern_cluster_engine_synchronous` + job, "0x3000"}, {`postern_cluster_owner` + job, "1x3000"}},
			{{`postern_cluster_engine_synchronous` + job, "0x3000"}, {`postern_cluster_owner` + job, "0x3000"}}, // a standby does not look again
		},
		"PosternConnectionsFull": {
			{{`postern_connections` + job, "95x3000"}, {`postern_connections_limit` + job, "100x3000"}},
			{{`postern_connections` + job, "80x3000"}, {`postern_connections_limit` + job, "100x3000"}},
		},
		"PosternFileMostlyEmpty": {
			{{`postern_store_file_free_bytes` + job, "2e9x300"}, {`postern_store_file_bytes` + job, "3e9x300"}},
			{{`postern_store_file_free_bytes` + job, "6e8x300"}, {`postern_store_file_bytes` + job, "9e8x300"}},
		},
		"PosternSlowCommits": {
			{{`postern_store_commit_duration_seconds_bucket{job="postern",le="0.25"}`, "0x3000"}, {`postern_store_commit_duration_seconds_bucket{job="postern",le="1"}`, "0+9x3000"}, {`postern_store_commit_duration_seconds_bucket{job="postern",le="+Inf"}`, "0+9x3000"}},
			{{`postern_store_commit_duration_seconds_bucket{job="postern",le="0.25"}`, "0+9x3000"}, {`postern_store_commit_duration_seconds_bucket{job="postern",le="1"}`, "0+9x3000"}, {`postern_store_commit_duration_seconds_bucket{job="postern",le="+Inf"}`, "0+9x3000"}},
		},
	}
	tests := map[string][]any{} // by interval
	for _, r := range rules {
		c, known := cases[r.Name]
		if !known {
			t.Errorf("no test covers the alert %s", r.Name)
			continue
		}
		labels := map[string]string{"job": "postern", "severity": r.Labels["severity"]}
		if strings.Contains(r.Name, "Dropped") {
			labels["reason"] = "queue_full"
		}
		if r.Name == "PosternTrouble" {
			labels["kind"] = "INSTANCE_LOGGED_OUT"
		}
		if strings.Contains(r.Name, "Undecryptable") {
			labels["outcome"] = "told"
		}
		fires := []any{map[string]any{"exp_labels": labels, "exp_annotations": r.Annotations}}
		late, interval := 90*time.Minute, "1m"
		if long, is := map[string]time.Duration{"PosternBackupOld": 49 * time.Hour, "PosternFileMostlyEmpty": 25 * time.Hour}[r.Name]; is {
			late, interval = long, "10m" // at each minute, promtool would work for seconds
		}
		for i, expected := range []any{fires, []any{}} {
			tests[interval] = append(tests[interval], map[string]any{
				"interval": interval, "input_series": c[i],
				"alert_rule_test": []any{map[string]any{"eval_time": late.String(), "alertname": r.Name, "exp_alerts": expected}},
			})
		}
		if r.Duration > 0 { // not before its time
			early := time.Duration(r.Duration/2) * time.Second
			tests[interval] = append(tests[interval], map[string]any{
				"interval": interval, "input_series": c[0],
				"alert_rule_test": []any{map[string]any{"eval_time": early.String(), "alertname": r.Name, "exp_alerts": []any{}}},
			})
		}
	}
	rulesFile, err := filepath.Abs("docs/alerts.yml")
	if err != nil {
		t.Fatal(err)
	}
	args := []string{"test", "rules"}
	for interval, of := range tests {
		raw, err := json.Marshal(map[string]any{"rule_files": []string{rulesFile}, "evaluation_interval": interval, "tests": of})
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(t.TempDir(), interval+".test.yml") // JSON is YAML
		if err := os.WriteFile(path, raw, 0o600); err != nil {
			t.Fatal(err)
		}
		args = append(args, path)
	}
	if out, err := exec.CommandContext(t.Context(), "promtool", args...).CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}
