package page

import (
	"bytes"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestConsoleIsTypedAndFormatted has TypeScript check the modules of the console, ESLint look
// for names that are unused or unknown, and Prettier look at their form. They come from npm,
// in the versions of the folder lint.
func TestConsoleIsTypedAndFormatted(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes some seconds")
	}
	if _, err := exec.LookPath("npm"); err != nil {
		t.Skip("npm is not there: TypeScript, ESLint and Prettier come from it")
	}
	folder := t.TempDir()
	if err := os.CopyFS(folder, os.DirFS("lint")); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(filepath.Join(folder, "console"), os.DirFS("console")); err != nil {
		t.Fatal(err)
	}
	// The program makes these modules of the files in their folders.
	all, err := fs.Glob(os.DirFS("console"), "words/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, language := range all {
		err := os.WriteFile(filepath.Join(folder, "console", language+".js"), []byte("export const keys = \"\";\n/** @type {any} */\nconst texts = [];\nexport default texts;\n"), 0o600)
		if err != nil {
			t.Fatal(err)
		}
	}
	run := func(name string, args ...string) (said []byte, err error) {
		cmd := exec.CommandContext(t.Context(), name, args...)
		cmd.Dir = folder
		said, err = cmd.CombinedOutput()
		return bytes.TrimSpace(said), err
	}
	if said, err := run("npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--fetch-retries=0", "--fetch-timeout=30000"); err != nil {
		t.Skipf("TypeScript, ESLint and Prettier cannot be had from the registry of npm: %v\n%s", err, said)
	}
	for _, tool := range [][]string{{"tsc", "-p", "."}, {"eslint", "console"}, {"prettier", "--check", "console/**/*.js", "!console/words"}} {
		if said, err := run(filepath.Join(folder, "node_modules", ".bin", tool[0]), tool[1:]...); err != nil {
			t.Errorf("%s: %v\n%s", tool[0], err, said)
		}
	}
}
