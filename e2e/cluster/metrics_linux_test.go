package cluster

import (
	"io"
	"net/http"
	"os"
	"regexp"
	"slices"
	"testing"

	"postern/cluster/postgres/pgtest"
	"postern/e2e/rig"
)

// The metrics of a cell in docs/api.md are those that a node with store.url has.
func TestMetricsOfTheCellAreDocumented(t *testing.T) {
	t.Parallel()
	n := &network{t: t, primary: pgtest.Start(t)}
	n.url = pgtest.URL("postgres", n.primary)
	a := n.node("a", "STORE_ACCEPT_LOSS=true")
	a.launch()
	a.awaitOwner()

	page, err := os.ReadFile("docs/api.md")
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+a.address+"/metrics", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("apikey", a.Sec.GlobalAuthToken)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	scraped, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK {
		t.Fatal(res.Status, err)
	}
	told, there := names("`(postern_cluster_\\w+)`", page), names(`(?m)^# HELP (postern_cluster_\w+)`, scraped)
	if len(there) < 10 || !slices.Equal(told, there) {
		t.Errorf("docs/api.md has\n%q, and a scrape has\n%q", told, there)
	}
}

// The doctor of a standby says that it is one, and finds no fault in it.
func TestDoctorKnowsAStandby(t *testing.T) {
	t.Parallel()
	n := newNetwork(t)
	a, b := n.node("a"), n.node("b", "BACKUP_EVERY=24h", "BACKUP_DIR="+t.TempDir())
	a.launch()
	a.awaitOwner()
	b.launch()
	b.awaitStandby()
	rig.Beside(t, b.World).Says(0, "it runs as a standby of a", "doctor")
	rig.Beside(t, b.World).Says(0, "the owner of the cell makes the backups", "doctor")
	rig.Beside(t, a.World).Says(0, "it runs and is ready", "doctor")
}

// names returns what the group of an expression matches, sorted.
func names(expression string, in []byte) (all []string) {
	for _, found := range regexp.MustCompile(expression).FindAllSubmatch(in, -1) {
		all = append(all, string(found[1]))
	}
	slices.Sort(all)
	return slices.Compact(all)
}
