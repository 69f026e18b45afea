// Postern turns WhatsApp accounts into an HTTP API: one program, one data
// file, no other service.
//
// The commands are listed in help.go; app.go wires the packages together and is the
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

func main() {
	// The first signal asks the command to end, the second one ends the process.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// run executes the command that args name and returns the exit status: 0 done,
// 1 failed, 2 wrong usage or a faulty file given to be checked.
func run(ctx context.Context, args []string, out, errOut io.Writer) int {
	name := "serve"
	switch {
	case len(args) == 0:
	case isHelp(args[0]) || args[0] == "help" && len(args) == 1:
		usage(out)
		return 0
	case args[0] == "help":
		name, args = args[1], []string{"--help"}
	case slices.Contains([]string{"-v", "-version", "--version"}, args[0]):
		name, args = "version", nil
	case !strings.HasPrefix(args[0], "-"):
		name, args = args[0], args[1:]
	}
	all := commands()
	i := slices.IndexFunc(all, func(c command) bool { return c.name == name })
	if i < 0 {
		fmt.Fprintf(errOut, "postern: unknown command %.100q;%s postern --help lists all\n", name, suggestion(name, commandNames(all)))
		return 2
	}
	err := all[i].run(ctx, args, out)
	switch {
	case err == nil, errors.Is(err, flag.ErrHelp):
		return 0
	case errors.As(err, new(usageError)):
		usage := strings.TrimSpace("postern " + name + " " + all[i].args)
		fmt.Fprintf(errOut, "postern %s: %v\nusage: %s\npostern %s --help tells more\n", name, err, usage, name)
		return 2
	case errors.As(err, new(faultyInput)):
		fmt.Fprintln(errOut, err)
		return 2
	default:
		fmt.Fprintf(errOut, "postern %s: %v\n", name, err)
		return 1
	}
}

// suggestion asks whether the user meant the nearest command, when it is near.
func suggestion(word string, names []string) string {
	if near, ok := event.Near(word, names); ok {
		return " did you mean " + near + "?"
	}
	return ""
}

func commandNames(all []command) []string {
	names := make([]string, len(all))
	for i, c := range all {
		names[i] = c.name
	}
	return names
}

func isHelp(arg string) bool { return arg == "-h" || arg == "-help" || arg == "--help" }

// usageError is a mistake in the command line.
type usageError struct{ error }

// faultyInput tells that what the user gave to be checked has faults.
type faultyInput struct{ error }

// parseFlags parses args, which are flags and then at most as many words as
// there are operands. When they ask for help, it is printed to out and the
// error is flag.ErrHelp.
func parseFlags(name string, args []string, out io.Writer, define func(*flag.FlagSet), operands ...*string) error {
	fs := flag.NewFlagSet("postern "+name, flag.ContinueOnError)
	fs.SetOutput(io.Discard) // run reports what is wrong
	define(fs)
	err := fs.Parse(args)
	if errors.Is(err, flag.ErrHelp) {
		commandHelp(out, name, fs)
		return err
	}
	if err != nil {
		return usageError{errors.New(event.Cut(twoDashes(err.Error())))}
	}
	if fs.NArg() > len(operands) {
		return usageError{fmt.Errorf("unexpected argument %.100q", fs.Arg(len(operands)))}
	}
	for i, operand := range operands {
		*operand = fs.Arg(i)
	}
	return nil
}

// twoDashes writes the flag that a message of package flag names as the help
// does.
func twoDashes(message string) string {
	for _, before := range []string{"provided but not defined: -", "flag needs an argument: -", "for flag -", "for -"} {
		message = strings.Replace(message, before+"-", before, 1)
		message = strings.Replace(message, before, before+"-", 1)
	}
	return message
}

func printVersion(_ context.Context, args []string, out io.Writer) error {
	var texts bool
	err := parseFlags("version", args, out, func(fs *flag.FlagSet) {
		fs.BoolVar(&texts, "licences", false, "print the licences of what the program is made of")
	})
	if err != nil {
		return err
	}
	fmt.Fprintln(out, "postern", version)
	if texts {
		_, err = io.WriteString(out, "\n"+licences)
	}
	return err
}
