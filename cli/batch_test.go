package cli

import (
	"bytes"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"postern/app"
	"postern/cli/consumer"
	"postern/config"
)

const batchFile = "Phone;name\n4915155500003;Ana\n4915155500004;\n4915155500003;Eva\n"

// inFolderWith makes a private folder the current one, with a file of recipients in it.
func inFolderWith(t *testing.T, file string) {
	t.Helper()
	inPrivateFolder(t)
	if err := os.WriteFile("people.csv", []byte(file), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestBatchCommandsCallARunningProgram(t *testing.T) {
	inFolderWith(t, batchFile)
	cfg, sec := demoConfig(t.TempDir(), ""), config.NewSecrets()
	cfg.Webhook.GlobalEnabled = false
	a, err := app.Start(t.Context(), cfg, sec, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := a.Stop(t.Context()); err != nil {
			t.Error(err)
		}
	}()
	if err := consumer.NewClient(a.URL()).Call(t.Context(), consumer.Key(sec.GlobalAuthToken), http.MethodPost, "/instance", map[string]any{"instanceName": "shop"}, nil); err != nil {
		t.Fatal(err)
	}
	at := []string{"--url", a.URL(), "--key", sec.GlobalAuthToken}
	var id, said bytes.Buffer
	create := append([]string{"batch", "create", "people.csv", "--instance", "shop", "--template", "Hi {{name|there}}", "--mapping", `{"number":"Phone"}`, "--delay", "1s-5s"}, at...)
	if status := run(t.Context(), create, &id, &said); status != 0 || !strings.Contains(said.String(), "2 recipients, 1 duplicate ignored") {
		t.Fatalf("status %d: %s", status, said.String())
	}
	var tried bytes.Buffer
	if status := run(t.Context(), append(create, "--dry-run"), &tried, &said); status != 0 || !strings.Contains(tried.String(), `"Hi Ana"`) || !strings.Contains(tried.String(), `"duplicates":1`) || !strings.HasSuffix(tried.String(), "}\n") {
		t.Errorf("status %d: %s %s", status, tried.String(), said.String())
	}
	report := append([]string{"batch", "report", strings.TrimSpace(id.String())}, at...)
	var printed bytes.Buffer
	if status := run(t.Context(), report, &printed, &said); status != 0 || !strings.Contains(printed.String(), "0,4915155500003,,PENDING,,,,,,,,,Ana\r\n1,4915155500004,,PENDING,,,,,,,,,\r\n") {
		t.Errorf("status %d: %q %s", status, printed.String(), said.String())
	}
	if status := run(t.Context(), append(report, "-o", "report.csv"), &said, &said); status != 0 {
		t.Errorf("status %d: %s", status, said.String())
	}
	if written, err := os.ReadFile("report.csv"); err != nil || !bytes.Equal(written, printed.Bytes()) {
		t.Errorf("%q, %v", written, err)
	}
	for want, line := range map[string][]string{
		"BATCH_NOT_FOUND: there is no such batch or item; --user names the user whose batch it is": append(report, "--user", "00000000-0000-7000-8000-000000000002"),
		`row 1 has no column "number"`: append([]string{"batch", "create", "people.csv", "--instance", "shop", "--template", "Hi"}, at...),
	} {
		said.Reset()
		if status := run(t.Context(), line, &said, &said); status != 1 || !strings.Contains(said.String(), want) {
			t.Errorf("status %d, want %s: %s", status, want, said.String())
		}
	}
}

func TestBatchCommandsRefuseBadLines(t *testing.T) {
	inFolderWith(t, batchFile)
	for line, want := range map[string]string{
		"batch":                        "the subcommand is missing: create or report",
		"batch start x":                `unknown subcommand "start"`,
		"batch create --template x":    "FILE is missing",
		"batch create people.csv":      "--template is required",
		"batch create -template x a":   "--instance is required",
		"batch report":                 "ID is missing",
		"batch report x y":             `unexpected argument "y"`,
		"batch report --user x y":      "--user must be a UUID",
		"batch report --url ftp://x y": "--url must be an http or https URL",
		"batch create --template x --instance a --delay 5s-1s people.csv": "--delay must be a duration such as 2s",
		"batch create --template x --instance a --delay soon people.csv":  `not "soon"`,
	} {
		var out bytes.Buffer
		if status := run(t.Context(), strings.Fields(line), &out, &out); status != 2 || !strings.Contains(out.String(), want) {
			t.Errorf("%s: status %d, want %s: %s", line, status, want, out.String())
		}
	}
}

// TestTruncatedReportIsNoFile has a program that breaks its answer off.
func TestTruncatedReportIsNoFile(t *testing.T) {
	inPrivateFolder(t)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			_, _ = w.Write([]byte(`{"token":"t"}`))
			return
		}
		_, _ = w.Write([]byte("position,number\r\n"))
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}))
	defer srv.Close()
	var out bytes.Buffer
	path := filepath.Join(t.TempDir(), "report.csv")
	status := run(t.Context(), []string{"batch", "report", "x", "-o", path, "--url", srv.URL, "--key", "k"}, &out, &out)
	if _, err := os.Stat(path); status != 1 || err == nil || !strings.Contains(out.String(), "was truncated") {
		t.Errorf("status %d, %v: %s", status, err, out.String())
	}
}
