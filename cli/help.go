package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// help is `postern COMMAND --help`, or `postern --help` for the root. A kind of a
// command, such as `postern config check`, has the help of the whole.
func help(w io.Writer, c *cobra.Command) {
	if !c.HasParent() {
		usage(w, c)
		return
	}
	c = topCommand(c)
	fmt.Fprintf(w, "%s\n\nUsage: postern %s\n", sentence(c.Short), c.Use)
	if c.Long != "" {
		fmt.Fprintf(w, "\n%s\n", c.Long)
	}
	title := "\nFlags:\n"
	for _, f := range flagsOf(c) {
		kind, doc := describe(f)
		fmt.Fprintf(w, "%s  %-20s %s\n", title, strings.TrimSpace("--"+f.Name+" "+kind), doc)
		title = ""
	}
	fmt.Fprint(w, "\nExamples:\n")
	for line := range strings.Lines(c.Example) {
		fmt.Fprintf(w, "  %s\n", strings.TrimSpace(line))
	}
}

// usage is `postern --help`.
func usage(w io.Writer, root *cobra.Command) {
	fmt.Fprintf(w, "%s\n\nUsage: postern [command] [flags]\n\nCommands:\n", root.Short)
	for _, c := range commands() {
		fmt.Fprintf(w, "  %-11s %s\n", c.Name(), c.Short)
	}
	fmt.Fprint(w, `
Examples:
  postern                        serve with ./config.toml, or with the defaults
  postern demo                   see it work, without a phone
  SANDBOX_ENABLED=true postern   serve, with simulated phones in place of WhatsApp

postern COMMAND --help shows the flags of a command, postern config prints all settings.
`)
}

// flagsOf are the flags of the command and of its kinds, by name.
func flagsOf(c *cobra.Command) (all []*pflag.Flag) {
	for _, c := range append([]*cobra.Command{c}, c.Commands()...) {
		c.LocalFlags().VisitAll(func(f *pflag.Flag) { all = append(all, f) })
	}
	slices.SortFunc(all, func(a, b *pflag.Flag) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// describe returns what the flag's value is called, nothing for one that has none,
// and what the flag does.
func describe(f *pflag.Flag) (kind, doc string) {
	kind, doc = pflag.UnquoteUsage(f)
	if !slices.Contains(nothings, f.DefValue) && !strings.Contains(doc, "(default ") {
		doc += fmt.Sprintf(" (default %s)", f.DefValue)
	}
	return kind, doc
}

// nothings are defaults that need no words.
var nothings = []string{"", "false", "0", "0s", "[]"}

// sentence makes one of the short text of a command.
func sentence(short string) string { return strings.ToUpper(short[:1]) + short[1:] + "." }
