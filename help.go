package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"
)

// command is one of the program's commands.
type command struct {
	name     string
	args     string // what follows the name, for the usage text
	doc      string // one line
	run      func(ctx context.Context, args []string, out io.Writer) error
	more     string   // what the one line leaves out; may be empty
	examples []string // command lines, ready to be copied
}

func commands() []command {
	return []command{
		{
			"serve", "[--config FILE]", "run the program; what happens without a command", serve,
			"It ends at Ctrl-C or SIGTERM, in order: what was accepted is finished or kept. A second signal ends it\n" +
				"at once. The first start needs no configuration; it makes the API key and prints it once.",
			[]string{"postern", "postern serve --config /etc/postern.toml", "SANDBOX_ENABLED=true postern serve"},
		},
		{
			"demo", "[--keep]", "show the main job: sandbox, two paired instances, a batch, the webhooks as they arrive", demo,
			"It works in a temporary folder and leaves nothing behind.",
			[]string{"postern demo", "postern demo --keep"},
		},
		{
			"sandbox", "[--listen ADDR] [--control ADDR] [--path FILE]", "run only the local WhatsApp server", runSandbox,
			"It prints the three variables that make another Postern connect to it.",
			[]string{"postern sandbox", "postern sandbox --listen 127.0.0.1:9443 --path ''"},
		},
		{
			"token", "user [--id UUID] [--ttl 24h] [--config FILE]", "issue a user token", issueToken,
			"The token is printed alone, for use in a shell. It is signed with authentication.jwt_secret, so it needs\n" +
				"the configuration of the server that shall accept it.",
			[]string{"postern token user", "TOKEN=$(postern token user --id 0196f0a0-0000-7000-8000-000000000001 --ttl 1h)"},
		},
		{
			"config", "[--config FILE] | check FILE", "print the configuration with where each value came from, or check a file", showConfig,
			"Secrets are not shown, and nothing is made or changed. check reads the file alone, without the environment,\n" +
				"and prints all that is wrong with it: exit status 0 means that it is right, 2 that it is not.",
			[]string{"postern config", "postern config --config /etc/postern.toml", "postern config check /etc/postern.toml"},
		},
		{
			"listen", "[--addr ADDR] [--status CODE]", "receive webhooks and print them as they come", listen,
			"It answers each with the status, so that retries can be watched.",
			[]string{"postern listen", "postern listen --addr :9090 --status 503"},
		},
		{
			"check", "[--config FILE] [FILE]", "look for damage in a data file", checkFile,
			"It reads the pages and the checksum of every record, holds them against what was written, and prints each\n" +
				"fault with what it costs; exit status 1 when there is one. Nothing is changed. Without FILE it is the data\n" +
				"file of the configuration. No program may run on it: check a copy, or stop it first.",
			[]string{"postern check", "postern check backup/postern.db"},
		},
		{name: "schema", doc: "print the buckets of the data file", run: schema, examples: []string{"postern schema"}},
		{
			"version", "[--licences]", "print the version", printVersion,
			"Postern is free software under the GPL, version 3 or later. --licences prints the texts of everything that\n" +
				"is linked into it; whoever passes the program on passes them on too.",
			[]string{"postern version", "postern version --licences"},
		},
	}
}

// usage is `postern --help`.
func usage(w io.Writer) {
	fmt.Fprint(w, "Postern turns WhatsApp accounts into an HTTP API.\n\nUsage: postern [command] [flags]\n\nCommands:\n")
	for _, c := range commands() {
		fmt.Fprintf(w, "  %-8s %s\n", c.name, c.doc)
	}
	fmt.Fprint(w, `
Examples:
  postern                        serve with ./config.toml, or with the defaults
  postern demo                   see it work, without a phone
  SANDBOX_ENABLED=true postern   serve, with simulated phones in place of WhatsApp

postern COMMAND --help shows the flags of a command, postern config prints all settings.
`)
}

// commandHelp is `postern COMMAND --help`. The name may have a second word.
func commandHelp(w io.Writer, name string, fs *flag.FlagSet) {
	first, _, _ := strings.Cut(name, " ")
	all := commands()
	i := slices.IndexFunc(all, func(c command) bool { return c.name == first })
	if i < 0 {
		return
	}
	c := all[i]
	doc := strings.ToUpper(c.doc[:1]) + c.doc[1:]
	fmt.Fprintf(w, "%s.\n\nUsage: %s\n", doc, strings.TrimSpace("postern "+c.name+" "+c.args))
	if c.more != "" {
		fmt.Fprintf(w, "\n%s\n", c.more)
	}
	flagHelp(w, fs)
	fmt.Fprint(w, "\nExamples:\n")
	for _, line := range c.examples {
		fmt.Fprintf(w, "  %s\n", line)
	}
}

// flagHelp lists the flags with two dashes, as the rest of the help has them.
func flagHelp(w io.Writer, fs *flag.FlagSet) {
	title := "\nFlags:\n"
	fs.VisitAll(func(f *flag.Flag) {
		kind, doc := flag.UnquoteUsage(f)
		if f.DefValue != "" && f.DefValue != "false" && !strings.Contains(doc, "(default ") {
			doc += fmt.Sprintf(" (default %s)", f.DefValue)
		}
		fmt.Fprintf(w, "%s  %-20s %s\n", title, strings.TrimSpace("--"+f.Name+" "+kind), doc)
		title = ""
	})
}
