package cli

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

// asProgram makes the test's own binary the program, for the scripts of shells.
const asProgram = "POSTERN_CLI_TEST_AS_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		os.Exit(Main(os.Args[1:]))
	}
	os.Exit(m.Run())
}

// completed returns the words that the program answers to the script of a shell, and
// whether the shell completes files when there is none.
func completed(t *testing.T, args ...string) (words []string, files bool) {
	t.Helper()
	var out bytes.Buffer
	if status := run(t.Context(), append([]string{"__complete"}, args...), &out, io.Discard); status != 0 {
		t.Errorf("%q: status %d", args, status)
	}
	for line := range strings.Lines(out.String()) {
		word, _, _ := strings.Cut(strings.TrimSpace(line), "\t")
		if directive, ok := strings.CutPrefix(word, ":"); ok {
			return words, directive == "0"
		}
		words = append(words, word)
	}
	t.Errorf("%q: no directive in %q", args, out.String())
	return words, false
}

func TestEveryCommandAndFlagIsCompleted(t *testing.T) {
	words, _ := completed(t, "")
	for _, c := range commands() {
		if begun, _ := completed(t, c.Name()[:2]); !slices.Contains(words, c.Name()) || !slices.Contains(begun, c.Name()) {
			t.Errorf("%s is not among %q, nor %q", c.Name(), words, begun)
		}
		for _, kind := range append(c.Commands(), c) {
			line := []string{c.Name()}
			if kind != c {
				line = append(line, kind.Name())
			}
			flags, _ := completed(t, append(line, "--")...)
			kind.Flags().VisitAll(func(f *pflag.Flag) {
				if !slices.Contains(flags, "--"+f.Name) {
					t.Errorf("%v: --%s is not among %q", line, f.Name, flags)
				}
			})
		}
	}
	const files = "a file"
	for line, want := range map[string][]string{
		"token ": {"user"}, "import ": {"baileys", "whatsmeow"}, "config ": {"check"}, "completion ": {"bash", "zsh", "fish", "powershell"}, "help lis": {"listen"}, "version --l": {"--licences"},
		"serve ": nil, "token user ": nil, "schema ": nil, "listen --addr ": nil, "listen --verify ": nil, "listen --slow ": nil, "token user --id ": nil, "import whatsmeow --name ": nil,
		"check ": {files}, "config check ": {files}, "sandbox --path ": {files}, "import whatsmeow --from ": {files}, "serve --config ": {files},
	} {
		got, orFile := completed(t, strings.Split(line, " ")...)
		if orFile {
			got = append(got, files)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", line, got, want)
		}
	}
}

func TestThereIsACompletionForEachShell(t *testing.T) {
	for shell, want := range map[string]string{
		"bash": "complete -o default -F __start_postern postern", "zsh": "#compdef postern", "fish": "complete -c postern", "powershell": "Register-ArgumentCompleter -CommandName 'postern'",
	} {
		var out bytes.Buffer
		if status := run(t.Context(), []string{"completion", shell}, &out, io.Discard); status != 0 || !strings.Contains(out.String(), want) || !strings.Contains(out.String(), "__complete") {
			t.Errorf("%s: status %d, no %q in %.200s", shell, status, want, out.String())
		}
		// Shells that are here say whether they understand it.
		if _, err := exec.LookPath(shell); err != nil {
			continue
		}
		if shell == "powershell" {
			continue // it has no way to read a script without running it
		}
		cmd := exec.CommandContext(t.Context(), shell, "-n")
		cmd.Stdin = &out
		if said, err := cmd.CombinedOutput(); err != nil || len(said) != 0 {
			t.Errorf("%s: %v: %s", shell, err, said)
		}
	}
}

// TestBashCompletesACommandAndAFlag loads the script into a bash that has nothing
// else, as on a small server.
func TestBashCompletesACommandAndAFlag(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("there is no bash")
	}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	const script = `
postern() { "$PROGRAM" "$@"; }
compopt() { :; } # it works during a completion only
source <(postern completion bash)
complete -p postern >/dev/null || exit 1
tab() {
	COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMP_LINE="$*" COMP_TYPE=9
	COMP_POINT=${#COMP_LINE} COMPREPLY=()
	__start_postern
	echo "${COMPREPLY[*]}"
}
tab postern ser
tab postern serve --co
tab postern token user --t
tab postern completion pow
tab postern config chec
`
	cmd := exec.CommandContext(t.Context(), bash, "--norc", "--noprofile", "-c", script)
	cmd.Env = append(os.Environ(), "PROGRAM="+program, asProgram+"=1")
	out, err := cmd.CombinedOutput()
	if want := "serve\n--config\n--ttl\npowershell\ncheck\n"; err != nil || string(out) != want {
		t.Errorf("bash completes %q, want %q; %v", out, want, err)
	}
}
