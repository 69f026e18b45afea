package doctor

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"postern/config"
)

// TestLeftoverSecretsAreReported, and nothing that someone else named.
func TestLeftoverSecretsAreReported(t *testing.T) {
	cfg := config.Default()
	cfg.Store.Path = filepath.Join(t.TempDir(), "postern.db")
	for _, name := range []string{"secrets.json", "secrets.json.new-mine", "secrets.json.new-17"} {
		if err := os.WriteFile(filepath.Join(filepath.Dir(cfg.Store.Path), name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	all := (&examination{Patient: Patient{Config: cfg}}).left()
	if len(all) != 1 || all[0].Level != Warning || !strings.Contains(all[0].Message, "secrets.json.new-17") || strings.Contains(all[0].Message, "mine") {
		t.Errorf("%+v", all)
	}
}
