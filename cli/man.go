package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"postern/app"
)

// manCommand is `postern man`: the manual page, generated from the same table as the help.
func manCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "man",
		Short:   "print the manual page",
		Example: "postern man | man -l -\npostern man > /usr/local/share/man/man1/postern.1",
		RunE:    func(c *cobra.Command, _ []string) error { return manualPage(c.OutOrStdout()) },
	}
}

// manualPage writes the page in the man macros of roff.
func manualPage(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, `.TH POSTERN 1 "" "Postern %s" "User Commands"
.SH NAME
postern \- WhatsApp accounts as an HTTP API
.SH SYNOPSIS
.B postern
[\fIcommand\fR] [\fIflags\fR]
.SH DESCRIPTION
Postern connects WhatsApp accounts, tells by webhook and by WebSocket what happens on them, and sends batches of
messages that survive a crash. Without a command it serves.
.SH COMMANDS
`, roff(app.Version()))
	for _, c := range commands() {
		fmt.Fprintf(&b, ".SS \"postern %s\"\n%s\n", roff(c.Use), roff(sentence(c.Short)))
		for _, usage := range usages(c)[1:] {
			fmt.Fprintf(&b, ".PP\n%s\n", roff(usage))
		}
		if c.Long != "" {
			fmt.Fprintf(&b, ".PP\n%s\n", roff(c.Long))
		}
		for _, f := range flagsOf(c) {
			kind, doc := describe(f)
			name := `\fB` + roff("--"+f.Name) + `\fR`
			if kind != "" {
				name += ` \fI` + roff(kind) + `\fR`
			}
			fmt.Fprintf(&b, ".TP\n%s\n%s\n", name, roff(doc))
		}
		fmt.Fprintf(&b, ".PP\nExamples:\n.PP\n.nf\n.RS\n%s\n.RE\n.fi\n", roff(c.Example))
	}
	b.WriteString(`.SH EXIT STATUS
`)
	for _, s := range statuses() {
		fmt.Fprintf(&b, ".TP\n%d\n%s.\n", s.is, roff(strings.ToUpper(s.says[:1])+s.says[1:]))
	}
	b.WriteString(`.SH ENVIRONMENT
Every setting has a variable, which wins over the configuration file: its path in upper case with _ for every dot, as
SERVER_LISTEN for server.listen.
.B postern config
prints all settings with where their values came from.
.SH FILES
.TP
.I config.toml
The configuration, when it is in the folder that the program was started in and no other was named.
.TP
.I data/postern.db
The data file, by default.
.TP
.I data/secrets.json
The API key and the secret of all tokens, when they are not configured.
`)
	_, err := io.WriteString(w, b.String())
	return err
}

// roff escapes text for roff.
func roff(text string) string {
	text = strings.NewReplacer(`\`, `\e`, `-`, `\-`, `"`, `\(dq`).Replace(text)
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
			lines[i] = `\&` + line
		}
	}
	return strings.Join(lines, "\n")
}
