package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// help is `postern COMMAND --help`, or `postern --help` for the root. A subcommand such
// as `postern config check` has its own usage and flags, the parent's text, and those
// examples that name it.
func help(w io.Writer, c *cobra.Command) {
	if !c.HasParent() {
		usage(w, c)
		return
	}
	fmt.Fprintf(w, "%s\n\nUsage: %s\n", sentence(c.Short), strings.Join(usages(c), "\n       "))
	top := topCommand(c)
	if top.Long != "" {
		fmt.Fprintf(w, "\n%s\n", top.Long)
	}
	title := "\nFlags:\n"
	for _, f := range flagsOf(c) {
		kind, doc := describe(f)
		fmt.Fprintf(w, "%s  %-20s %s\n", title, strings.TrimSpace("--"+f.Name+" "+kind), doc)
		title = ""
	}
	fmt.Fprint(w, "\nExamples:\n")
	for line := range strings.Lines(top.Example) {
		if c == top || strings.Contains(line, nameOf(c)) {
			fmt.Fprintf(w, "  %s\n", strings.TrimSpace(line))
		}
	}
}

// nameOf returns the full name of a command, with the program and its parent.
func nameOf(c *cobra.Command) string {
	if top := topCommand(c); top != c {
		return "postern " + top.Name() + " " + c.Name()
	}
	return "postern " + c.Name()
}

// usages returns the usage lines of a command: of one with subcommands the
// command's own and theirs.
func usages(c *cobra.Command) []string {
	all := []string{strings.TrimSuffix(nameOf(c), c.Name()) + c.Use}
	if kinds := c.Commands(); len(kinds) > 1 {
		for _, kind := range kinds {
			all = append(all, usages(kind)...)
		}
	}
	return all
}

// usage prints `postern --help`.
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

Exit status:
`)
	for _, s := range statuses() {
		fmt.Fprintf(w, "  %-2d  %s\n", s.is, s.says)
	}
	fmt.Fprint(w, `
postern COMMAND --help shows the flags of a command, postern config prints all settings.
`)
}

// flagsOf returns the flags of the command and of its subcommands, by name; a flag with the same meaning
// in several subcommands is listed once.
func flagsOf(c *cobra.Command) (all []*pflag.Flag) {
	for _, c := range append([]*cobra.Command{c}, c.Commands()...) {
		c.LocalFlags().VisitAll(func(f *pflag.Flag) { all = append(all, f) })
	}
	slices.SortStableFunc(all, func(a, b *pflag.Flag) int { return strings.Compare(a.Name, b.Name) })
	return slices.CompactFunc(all, func(a, b *pflag.Flag) bool { return a.Name == b.Name && a.Usage == b.Usage })
}

// describe returns the name of the flag's value, empty for none,
// and its description.
func describe(f *pflag.Flag) (kind, doc string) {
	kind, doc = pflag.UnquoteUsage(f)
	if !slices.Contains(nothings, f.DefValue) && !strings.Contains(doc, "(default ") {
		doc += fmt.Sprintf(" (default %s)", f.DefValue)
	}
	return kind, doc
}

// nothings are defaults that are not printed.
var nothings = []string{"", "false", "0", "0s", "[]"}

// sentence turns the short text of a command into a sentence.
func sentence(short string) string { return strings.ToUpper(short[:1]) + short[1:] + "." }
