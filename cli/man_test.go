package cli

import (
	"bytes"
	"io"
	"os/exec"
	"strings"
	"testing"
)

func manText(t *testing.T) string {
	t.Helper()
	var out bytes.Buffer
	if status := run(t.Context(), []string{"man"}, &out, io.Discard); status != 0 {
		t.Fatalf("status %d", status)
	}
	return out.String()
}

func TestTheManualPageNamesEveryCommandAndFlag(t *testing.T) {
	page := manText(t)
	for i, c := range commands() {
		_, part, found := strings.Cut(page, `.SS "postern `+roff(c.Use)+"\"\n")
		if !found {
			t.Errorf("no part for %s", c.Name())
			continue
		}
		if all := commands(); i+1 < len(all) {
			part, _, _ = strings.Cut(part, `.SS "postern `+all[i+1].Name())
		}
		for _, f := range flagsOf(c) {
			if !strings.Contains(part, ".TP\n\\fB"+roff("--"+f.Name)+`\fR`) {
				t.Errorf("%s: no --%s", c.Name(), f.Name)
			}
		}
		for _, text := range []string{sentence(c.Short), c.Long, c.Example} {
			if !strings.Contains(part, roff(text)) {
				t.Errorf("%s: no %q", c.Name(), text)
			}
		}
	}
}

func TestRoffPrintsTextAsItIs(t *testing.T) {
	if got, want := roff("a-b \\n \"c\"\n.TH\n'x\n"), "a\\-b \\en \\(dqc\\(dq\n\\&.TH\n\\&'x\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestGroffUnderstandsTheManualPage(t *testing.T) {
	groff, err := exec.LookPath("groff")
	if err != nil {
		t.Skip("there is no groff")
	}
	cmd := exec.CommandContext(t.Context(), groff, "-man", "-Tascii", "-ww", "-rLL=100n")
	cmd.Stdin = strings.NewReader(manText(t))
	var complaints bytes.Buffer
	cmd.Stderr = &complaints
	out, err := cmd.Output()
	if err != nil || complaints.Len() != 0 || !strings.Contains(string(out), "postern config check /etc/postern.toml") {
		t.Errorf("%v: %s\n%.2000s", err, complaints.String(), out)
	}
}
