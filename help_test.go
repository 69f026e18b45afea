package main

import (
	"bytes"
	"context"
	"flag"
	"io"
	"slices"
	"strings"
	"testing"
)

func TestHelpListsEveryCommandAndExits0(t *testing.T) {
	for _, args := range [][]string{{"--help"}, {"-h"}, {"-help"}, {"help"}} {
		var out, errOut bytes.Buffer
		if status := run(context.Background(), args, &out, &errOut); status != 0 || errOut.Len() != 0 {
			t.Errorf("%v: status %d, %q", args, status, errOut.String())
		}
		for _, c := range commands() {
			if !strings.Contains(out.String(), "\n  "+c.name+" ") || !strings.Contains(out.String(), c.doc) {
				t.Errorf("%v does not tell of %s:\n%s", args, c.name, out.String())
			}
		}
	}
}

func TestTheHelpOfACommandHasUsageFlagsAndExamplesAndExits0(t *testing.T) {
	flags := map[string][]string{
		"serve": {"--config"}, "demo": {"--keep"}, "sandbox": {"--listen", "--control", "--path"},
		"token": {"--id", "--ttl", "--config"}, "config": {"--config"}, "listen": {"--addr", "--status"},
	}
	for _, c := range commands() {
		for _, args := range [][]string{{c.name, "--help"}, {c.name, "-h"}, {"help", c.name}} {
			var out, errOut bytes.Buffer
			if status := run(context.Background(), args, &out, &errOut); status != 0 || errOut.Len() != 0 {
				t.Errorf("%v: status %d, %q", args, status, errOut.String())
			}
			for _, want := range append([]string{"Usage: postern " + c.name, "\nExamples:\n"}, flags[c.name]...) {
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

func TestEveryExampleOfTheHelpIsACommandLineThatIsAccepted(t *testing.T) {
	for _, c := range commands() {
		for _, example := range c.examples {
			_, after, found := strings.Cut(strings.TrimSuffix(example, ")"), "postern")
			if !found {
				t.Errorf("%s: %q", c.name, example)
				continue
			}
			// With --help at its end a command reads its flags and does no more.
			args := append(strings.Fields(after), "--help")
			if slices.Contains(args, "check") {
				args = []string{"config", "check", "--help"} // flags come before the file
			}
			var errOut bytes.Buffer
			if status := run(context.Background(), args, io.Discard, &errOut); status != 0 {
				t.Errorf("%s: status %d: %s", example, status, errOut.String())
			}
		}
	}
}

func TestAMistakeInTheCommandLineExits2AndNamesIt(t *testing.T) {
	for name, c := range map[string]struct {
		args []string
		want []string
	}{
		"unknown command":         {[]string{"sevre"}, []string{`"sevre"`, "did you mean serve?", "--help"}},
		"help of an unknown one":  {[]string{"help", "tokn"}, []string{"did you mean token?"}},
		"unknown flag":            {[]string{"serve", "--confg", "x"}, []string{" --confg\n", "usage: postern serve [--config FILE]"}},
		"flag without value":      {[]string{"serve", "--config"}, []string{" --config\n"}},
		"a value that is none":    {[]string{"token", "user", "--ttl", "soon"}, []string{`"soon" for flag --ttl`}},
		"a flag that is no flag":  {[]string{"demo", "--keep=maybe"}, []string{`"maybe" for --keep`}},
		"another kind of token":   {[]string{"token", "instance"}, []string{`unknown kind of token "instance"`, "PUT /instance/{i}/token"}},
		"a flag before the kind":  {[]string{"token", "--ttl", "1h", "user"}, []string{"the kind of token is missing"}},
		"an id in another form":   {[]string{"token", "user", "--id", "{0196f0a0-0000-7000-8000-000000000001}"}, []string{"--id must be a UUID"}},
		"a life that is too long": {[]string{"token", "user", "--ttl", "8761h"}, []string{"--ttl must be from 1s to 8760h"}},
		"a status that is none":   {[]string{"listen", "--status", "99"}, []string{"--status must be from 200 to 599"}},
		"no file to check":        {[]string{"config", "check"}, []string{"check needs one file"}},
		"surplus word":            {[]string{"version", "now"}, []string{`unexpected argument "now"`}},
		"misspelt check":          {[]string{"config", "chek", "x"}, []string{`unexpected argument "chek"`, "check FILE"}},
		"two files":               {[]string{"config", "check", "a", "b"}, []string{`unexpected argument "b"`}},
		"no kind of token":        {[]string{"token"}, []string{"only user is known"}},
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
		if status := run(context.Background(), []string{arg}, &out, io.Discard); status != 0 || out.String() != "postern "+version+"\n" {
			t.Errorf("%s: status %d, %q", arg, status, out.String())
		}
	}
}

func TestAWordThatIsNearNoCommandGetsNoSuggestion(t *testing.T) {
	var errOut bytes.Buffer
	if status := run(context.Background(), []string{"frobnicate"}, io.Discard, &errOut); status != 2 || strings.Contains(errOut.String(), "did you mean") ||
		!strings.Contains(errOut.String(), `unknown command "frobnicate"`) || !strings.Contains(errOut.String(), "postern --help lists all") {
		t.Errorf("status %d, %q", status, errOut.String())
	}
}

func TestOperandsComeAfterTheFlags(t *testing.T) {
	var file, other string
	var loud bool
	err := parseFlags("config", []string{"--loud", "a"}, io.Discard, func(fs *flag.FlagSet) { fs.BoolVar(&loud, "loud", false, "") }, &file, &other)
	if err != nil || !loud || file != "a" || other != "" {
		t.Error(err, loud, file, other)
	}
}
