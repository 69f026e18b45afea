package controls

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"postern/internal/nightly"
)

// control is a fault that is put into the program on purpose, and a test that must find it.
type control struct {
	name     string
	file     string
	old, new string // of the only place in file

	folder, run string // of the test
	finds       string // what it says, alternatives separated by |
	slow        bool   // it starts servers or programs
}

var controls = []control{
	{
		"CommitWithoutTheEpoch", "cluster/postgres/commit.go", "where name = $1::text and epoch = $2::bigint and version = $3::bigint - 1", "where name = $1::text and version = $3::bigint - 1 and $2::bigint = $2::bigint",
		"cluster/postgres", "^TestServer$/^DatabaseKeepsTheRules$/^OldGrantIsFenced$", `error <nil>, want one that wraps "another process owns the cell"`, true,
	},
	{
		"CommitWithoutTheVersion", "cluster/postgres/commit.go", "where name = $1::text and epoch = $2::bigint and version = $3::bigint - 1", "where name = $1::text and epoch = $2::bigint",
		"cluster/postgres", "^TestServer$/^DatabaseKeepsTheRules$/^VersionsFollowEachOther$", `error <nil>, want one that wraps "the data file differs from the cell"`, true,
	},
	{
		"CommitWithoutTheRelease", "cluster/postgres/commit.go", "= $3::bigint - 1 and not released", "= $3::bigint - 1",
		"cluster/postgres", "^TestServer$/^DatabaseKeepsTheRules$/^ReleasedCellIsFreeAtOnce$", `error <nil>, want one that wraps "another process owns the cell"`, true,
	},
	{
		"LateCommitWithoutComparison", "cluster/memory/memory.go", "case in.state.Version != c.Version-1:", "case false:",
		"cluster", "^TestNothingAcceptedIsLostInRandomFailures$", "although the database lost nothing", false,
	},
	{
		"FormerOwnerIsNotFenced", "cluster/memory/memory.go", "if c.state.Epoch != g.Epoch || c.state.Released {", "if c.state.Epoch != g.Epoch && false {",
		"cluster", "^TestNothingAcceptedIsLostInRandomFailures$", "two nodes may act at once|although the database lost nothing", false,
	},
	{
		"LeaseIsAlwaysValid", "cluster/lease.go", "return o.n.cfg.Awake() < time.Duration(o.until.Load())-o.n.cfg.Lease/marginPart", "return true",
		"cluster", "^TestNothingAcceptedIsLostInRandomFailures$", "two nodes may act at once", false,
	},
	{
		"FormerOwnerAnswersReads", "cluster/lease.go", "return o.n.cfg.Awake() < time.Duration(o.until.Load())-o.n.cfg.Lease/marginPart", "return true",
		"e2e/cluster", "^TestPausedOwnerEndsWithoutAnAnswer$", "a former owner answered with success", true,
	},
	{
		"StandbyAppliesAtOnce", "cluster/follow.go", "\tif durable {\n", "\tif true {\n",
		"cluster", "^TestStandbyAppliesOnlyWhatHasASecondCopy$", "it is ", false,
	},
	{
		"StandbyIsAheadOfAPromotedCopy", "cluster/follow.go", "\tif durable {\n", "\tif true {\n",
		"e2e/cluster", "^TestStandbyOutlivesWhatAPromotionUndoes$", "the cell in the database is older than the data file", true,
	},
	{
		"CommitWaitsForNoCopy", "cluster/postgres/session.go", "when name = 'synchronous_commit' then case when %[1]s then", "when name = 'synchronous_commit' then case when %[1]s or true then",
		"cluster/postgres", "^TestSynchronousPair$/^CommitWaitsForTheSecondCopy$", "the commit ended with <nil>", true,
	},
	{
		"PromotedCopyLacksAnswers", "cluster/postgres/session.go", "when name = 'synchronous_commit' then case when %[1]s then", "when name = 'synchronous_commit' then case when %[1]s or true then",
		"e2e/cluster", "^TestPromotedCopyHasWhatWasAnswered$", "was created and is lost", true,
	},
	{
		"CancelledWaitIsAnAnswer", "cluster/postgres/session.go", "s.warned = s.warned || n.Code == warning || n.Code == adminShutdown", "_ = n",
		"cluster/postgres", "^TestSynchronousPair$/^CommitWaitsForTheSecondCopy$", "the commit ended with <nil>", true,
	},
}

// The tests of a cell must be able to fail: each of these faults is found by the test that is
// there for it. The fault is only in a copy of the file that the compiler is given.
func TestControlsAreFound(t *testing.T) {
	t.Chdir(filepath.Join("..", "..", ".."))
	if testing.Short() {
		t.Skip("builds programs")
	}
	for _, c := range controls {
		t.Run(c.name, func(t *testing.T) {
			if c.slow && nightly.Or("", "all") == "" {
				t.Skip("takes minutes; make nemesis and make nightly do it")
			}
			c.found(t)
		})
	}
}

func (c *control) found(t *testing.T) {
	t.Helper()
	source, err := os.ReadFile(c.file)
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(source), c.old); n != 1 {
		t.Fatalf("%s has %q %d times: the control must follow the code", c.file, c.old, n)
	}
	at, err := filepath.Abs(c.file)
	if err != nil {
		t.Fatal(err)
	}
	broken, overlay := filepath.Join(t.TempDir(), "broken.go"), filepath.Join(t.TempDir(), "overlay.json")
	replace, err := json.Marshal(map[string]map[string]string{"Replace": {at: broken}})
	if err != nil {
		t.Fatal(err)
	}
	for path, text := range map[string]string{broken: strings.Replace(string(source), c.old, c.new, 1), overlay: string(replace)} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	// A test of random failures may miss its fault once; it ends with the first time that it does not.
	cmd := exec.CommandContext(t.Context(), "go", "test", "-overlay", overlay, "-count", "20", "-failfast", "-vet", "off", "-run", c.run, "./"+c.folder)
	said, err := cmd.CombinedOutput()
	switch text := string(said); {
	case strings.Contains(text, "[build failed]"), strings.Contains(text, "no tests to run"):
		t.Fatalf("the control does not run:\n%s", text)
	case err == nil:
		t.Errorf("with this fault %s of %s passes:\n%s", c.run, c.folder, text)
	case !slices.ContainsFunc(strings.Split(c.finds, "|"), func(word string) bool { return strings.Contains(text, word) }):
		t.Errorf("it fails without a word of %q:\n%s", c.finds, text)
	}
}
