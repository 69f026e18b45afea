package cli

import (
	"bytes"
	"context"
	"io"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"postern/app"
)

func TestHelpListsEveryCommandAndExits0(t *testing.T) {
	for _, args := range [][]string{{"--help"}, {"-h"}, {"-help"}, {"help"}} {
		var out, errOut bytes.Buffer
		if status := run(context.Background(), args, &out, &errOut); status != 0 || errOut.Len() != 0 {
			t.Errorf("%v: status %d, %q", args, status, errOut.String())
		}
		for _, c := range commands() {
			if !strings.Contains(out.String(), "\n  "+c.Name()+" ") || !strings.Contains(out.String(), c.Short) {
				t.Errorf("%v does not tell of %s:\n%s", args, c.Name(), out.String())
			}
		}
	}
}

func TestCommandHelpHasUsageFlagsAndExamples(t *testing.T) {
	flags := map[string][]string{
		"serve": {"--config"}, "demo": {"--keep"}, "sandbox": {"--listen", "--control", "--path"},
		"token": {"--id", "--ttl", "--config"}, "config": {"--config"}, "listen": {"--addr", "--status", "--verify", "--tolerance", "--fail", "--slow"},
	}
	for _, c := range commands() {
		for _, args := range [][]string{{c.Name(), "--help"}, {c.Name(), "-h"}, {c.Name(), "-help"}, {"help", c.Name()}} {
			var out, errOut bytes.Buffer
			if status := run(context.Background(), args, &out, &errOut); status != 0 || errOut.Len() != 0 {
				t.Errorf("%v: status %d, %q", args, status, errOut.String())
			}
			for _, want := range append([]string{"Usage: postern " + c.Name(), "\nExamples:\n"}, flags[c.Name()]...) {
				if !strings.Contains(out.String(), want) {
					t.Errorf("%v does not tell %q:\n%s", args, want, out.String())
				}
			}
		}
	}
	for _, args := range [][]string{{"token", "user", "--help"}, {"config", "check", "--help"}} {
		var out bytes.Buffer
		if status := run(context.Background(), args, &out, io.Discard); status != 0 || !strings.Contains(out.String(), "\nExamples:\n") {
			t.Errorf("%v: status %d:\n%s", args, status, out.String())
		}
	}
}

// TestSubcommandHelpHasItsOwnFlags, and the command's help lists each subcommand.
func TestSubcommandHelpHasItsOwnFlags(t *testing.T) {
	said := func(args ...string) string {
		var out bytes.Buffer
		if status := run(context.Background(), args, &out, &out); status > 2 {
			t.Errorf("%v: status %d", args, status)
		}
		return out.String()
	}
	export := said("instance", "export", "--help")
	for what, want := range map[string]bool{
		"Usage: postern instance export [--messages]": true, "NAME FILE\n": true, "--undo": true, "--identity": false, "instance import shop": false,
	} {
		if strings.Contains(export, what) != want {
			t.Errorf("%q: %v\n%s", what, !want, export)
		}
	}
	for _, all := range []string{said("instance", "--help"), said("import", "--help")} {
		if strings.Count(all, "  --config FILE ") != 1 || strings.Count(all, "\n       postern i") != 2 {
			t.Error(all)
		}
	}
	if mistake := said("instance", "export", "shop"); !strings.Contains(mistake, "\nusage: postern instance export [--messages]") || !strings.HasSuffix(mistake, "\nrun postern instance export --help for details\n") {
		t.Error(mistake)
	}
}

func TestHelpExamplesAreValidCommandLines(t *testing.T) {
	for _, c := range commands() {
		for example := range strings.Lines(c.Example) {
			line, _, _ := strings.Cut(strings.TrimSuffix(strings.TrimSpace(example), ")"), " |")
			_, after, found := strings.Cut(line, "postern")
			if !found {
				t.Errorf("%s: %q", c.Name(), example)
				continue
			}
			// With --help at its end a command reads its flags and does no more.
			args := append(strings.Fields(after), "--help")
			var errOut bytes.Buffer
			if status := run(context.Background(), args, io.Discard, &errOut); status != 0 {
				t.Errorf("%s: status %d: %s", example, status, errOut.String())
			}
		}
	}
}

func TestInvalidCommandLineExitsWith2(t *testing.T) {
	for name, c := range map[string]struct {
		args []string
		want []string
	}{
		"unknown command":         {[]string{"sevre"}, []string{`"sevre"`, "did you mean serve?", "--help"}},
		"help of an unknown one":  {[]string{"help", "tokn"}, []string{"did you mean token?"}},
		"unknown short flag":      {[]string{"serve", "-c", "x"}, []string{"unknown flag: -c\n"}},
		"a flag like no other":    {[]string{"serve", "--frobnicate"}, []string{"unknown flag: --frobnicate\n"}},
		"one dash too many":       {[]string{"serve", "---config", "x"}, []string{"---config\n"}},
		"a number that is none":   {[]string{"listen", "--status", "ok"}, []string{`--status must be a whole number, not "ok"`}},
		"no shell":                {[]string{"completion"}, []string{"the shell is missing: bash, zsh, fish or powershell"}},
		"another shell":           {[]string{"completion", "tcsh"}, []string{`unknown shell "tcsh"`}},
		"unknown flag":            {[]string{"serve", "--confg", "x"}, []string{"unknown flag: --confg; did you mean --config?\n", "usage: postern serve [--config FILE]"}},
		"flag without value":      {[]string{"serve", "--config"}, []string{" --config\n"}},
		"a value that is none":    {[]string{"token", "user", "--ttl", "soon"}, []string{`--ttl must be a duration with its unit, such as 90m or 24h, not "soon"`}},
		"a flag that is no flag":  {[]string{"demo", "--keep=maybe"}, []string{`--keep must be true or false, not "maybe"`}},
		"another kind of token":   {[]string{"token", "instance"}, []string{`unknown kind of token "instance"`, "PUT /instance/{i}/token"}},
		"a flag before the kind":  {[]string{"token", "--ttl", "1h", "user"}, []string{"the kind of token is missing"}},
		"an id in another form":   {[]string{"token", "user", "--id", "{0196f0a0-0000-7000-8000-000000000001}"}, []string{"--id must be a UUID"}},
		"a life that is too long": {[]string{"token", "user", "--ttl", "8761h"}, []string{"--ttl must be from 1s to 8760h"}},
		"a status that is none":   {[]string{"listen", "--status", "99"}, []string{"--status must be from 200 to 599"}},
		"fewer than none":         {[]string{"listen", "--fail", "-1"}, []string{"--fail must be 0 or more"}},
		"a number of failures":    {[]string{"listen", "--fail", "some"}, []string{`--fail must be a whole number, not "some"`}},
		"a pause without a unit":  {[]string{"listen", "--slow", "3"}, []string{`--slow must be a duration with its unit, such as 90m or 24h, not "3"`}},
		"a pause that is long":    {[]string{"listen", "--slow", "2h"}, []string{"--slow must be from 0s to 1h"}},
		"no tolerance":            {[]string{"listen", "--tolerance", "0s"}, []string{"--tolerance must be from 1s to 24h"}},
		"a secret that is none":   {[]string{"listen", "--verify", "secret"}, []string{"--verify: a signing secret begins with whsec_"}},
		"half a secret":           {[]string{"listen", "--verify", "whsec_AAEC"}, []string{"--verify: a signing secret has 24 to 64 bytes, not 3"}},
		"no file to check":        {[]string{"config", "check"}, []string{"check needs one file"}},
		"surplus word":            {[]string{"version", "now"}, []string{`unexpected argument "now"`}},
		"misspelt check":          {[]string{"config", "chek", "x"}, []string{`unexpected argument "chek"`, "check FILE"}},
		"two files":               {[]string{"config", "check", "a", "b"}, []string{`unexpected argument "b"`}},
		"no kind of token":        {[]string{"token"}, []string{"the kind of token is missing: user"}},
		"flag before a command":   {[]string{"--config", "x", "serve"}, []string{`unexpected argument "serve"`}},
	} {
		var out, errOut bytes.Buffer
		if status := run(context.Background(), c.args, &out, &errOut); status != 2 || out.Len() != 0 {
			t.Errorf("%s: status %d, on the standard output %q", name, status, out.String())
		}
		for _, want := range c.want {
			if !strings.Contains(errOut.String(), want) {
				t.Errorf("%s: no %q in %s", name, want, errOut.String())
			}
		}
	}
}

func TestTheVersionIsACommandAndAFlag(t *testing.T) {
	for _, arg := range []string{"version", "--version", "-version", "-v"} {
		var out bytes.Buffer
		if status := run(context.Background(), []string{arg}, &out, io.Discard); status != 0 || out.String() != "postern "+app.Build()+"\n" {
			t.Errorf("%s: status %d, %q", arg, status, out.String())
		}
	}
}

func TestUnrelatedWordGetsNoSuggestion(t *testing.T) {
	var errOut bytes.Buffer
	if status := run(context.Background(), []string{"frobnicate"}, io.Discard, &errOut); status != 2 || strings.Contains(errOut.String(), "did you mean") ||
		!strings.Contains(errOut.String(), `unknown command "frobnicate"`) || !strings.Contains(errOut.String(), "postern --help lists all") {
		t.Errorf("status %d, %q", status, errOut.String())
	}
}

// TestFlagsMayStandAnywhereBehindTheCommand: with one dash or two, and their
// values are never taken for flags.
func TestFlagsMayStandAnywhereBehindTheCommand(t *testing.T) {
	for line, want := range map[string]string{
		"--config a b":    "a b",
		"-config a b":     "a b",
		"b --config a":    "a b",
		"b -config=a":     "a b",
		"--config= b":     " b",
		"-config -config": "-config ",
		"--config -- b":   "-- b",
		"-- -config":      " -config",
		"-":               " -",
	} {
		var got string
		c := checkCommand()
		c.RunE = func(c *cobra.Command, args []string) error {
			got = c.Flag("config").Value.String() + " " + strings.Join(args, " ")
			return nil
		}
		if err := execute(t.Context(), c, strings.Fields(line)); err != nil || got != want {
			t.Errorf("%s: %q, want %q; %v", line, got, want, err)
		}
	}
}
