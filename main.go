// Postern turns WhatsApp accounts into an HTTP API: one program, one data
// file, no other service.
//
// The commands are in this file; app.go wires the packages together and is the
// place to begin reading; config.go and settings.go say what can be set.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"postern/event"
)

// version is set by the linker, see the Makefile.
var version = "dev"

// command is one of the program's commands.
type command struct {
	name string
	args string // what follows the name, for the usage text
	doc  string
	run  func(ctx context.Context, args []string, out io.Writer) error
}

func commands() []command {
	return []command{
		{"serve", "[--config FILE]", "run the program; what happens without a command", serve},
		{"demo", "[--keep]", "show the main job: sandbox, two paired instances, a batch, the webhooks as they arrive", demo},
		{"sandbox", "[--listen ADDR] [--path FILE]", "run only the local WhatsApp server", runSandbox},
		{"token", "user --id UUID --ttl 24h [--config FILE]", "issue a user token", issueToken},
		{"config", "[--config FILE] | check FILE", "print the configuration with where each value came from, or check a file", showConfig},
		{"listen", "[--addr ADDR] [--status CODE]", "receive webhooks and print them as they come", listen},
		{"schema", "", "print the buckets of the data file", schema},
		{"version", "", "print the version", printVersion},
	}
}

func main() {
	// The first signal asks the command to end, the second one ends the process.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// run executes the command that args name and returns the exit status: 0 done,
// 1 failed, 2 wrong usage.
func run(ctx context.Context, args []string, out, errOut io.Writer) int {
	name := "serve"
	if len(args) > 0 && !strings.HasPrefix(args[0], "-") {
		name, args = args[0], args[1:]
	}
	if name == "help" || len(args) > 0 && name == "serve" && isHelp(args[0]) {
		usage(out)
		return 0
	}
	all := commands()
	i := slices.IndexFunc(all, func(c command) bool { return c.name == name })
	if i < 0 {
		fmt.Fprintf(errOut, "postern: unknown command %q; did you mean %s?\n\n", name, event.Nearest(name, commandNames(all)))
		usage(errOut)
		return 2
	}
	err := all[i].run(ctx, args, out)
	switch {
	case err == nil, errors.Is(err, flag.ErrHelp):
		return 0
	case errors.As(err, new(usageError)):
		fmt.Fprintf(errOut, "postern %s: %v\nusage: postern %s %s\n", name, err, name, all[i].args)
		return 2
	default:
		fmt.Fprintf(errOut, "postern %s: %v\n", name, err)
		return 1
	}
}

func commandNames(all []command) []string {
	names := make([]string, len(all))
	for i, c := range all {
		names[i] = c.name
	}
	return names
}

func isHelp(arg string) bool { return arg == "-h" || arg == "-help" || arg == "--help" }

func usage(w io.Writer) {
	fmt.Fprint(w, "Postern turns WhatsApp accounts into an HTTP API.\n\nUsage: postern [command] [flags]\n\n")
	for _, c := range commands() {
		fmt.Fprintf(w, "  %-8s %s\n           %s\n", c.name, c.args, c.doc)
	}
	fmt.Fprint(w, "\nThe settings are described in config.toml.example.\n")
}

// usageError is a mistake in the command line.
type usageError struct{ error }

// parseFlags parses args, which must be flags only.
func parseFlags(name string, args []string, out io.Writer, define func(*flag.FlagSet)) error {
	fs := flag.NewFlagSet("postern "+name, flag.ContinueOnError)
	fs.SetOutput(out)
	define(fs)
	err := fs.Parse(args)
	if errors.Is(err, flag.ErrHelp) {
		return err
	}
	if err != nil {
		return usageError{err}
	}
	if fs.NArg() > 0 {
		return usageError{fmt.Errorf("unexpected argument %q", fs.Arg(0))}
	}
	return nil
}

func printVersion(_ context.Context, args []string, out io.Writer) error {
	if err := parseFlags("version", args, out, func(*flag.FlagSet) {}); err != nil {
		return err
	}
	fmt.Fprintln(out, "postern", version)
	return nil
}
