package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"postern/cluster/postgres"
)

// signalWindow is how long a further signal counts as the first one, which arrives twice
// through a program such as timeout: to the process, and to its group.
const signalWindow = 100 * time.Millisecond

// Main executes the command that args name. The first SIGINT or SIGTERM asks it
// to end; the second ends the process. It returns the exit status: 0 done, or that of
// status.go.
func Main(args []string) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, func() { time.AfterFunc(signalWindow, stop) })
	return run(ctx, args, os.Stdout, os.Stderr)
}

// run is Main without its signals.
func run(ctx context.Context, args []string, out, errOut io.Writer) int {
	root, written := tree(), &output{Writer: out}
	root.SetOut(written)
	root.SetErr(errOut)
	if completing(args) {
		root.SetArgs(args)
		if err := root.ExecuteContext(ctx); err != nil {
			return statusFailed
		}
		return 0
	}
	c, rest := find(root, inFull(args))
	if c == root && len(rest) > 0 && !isHelp(rest[0]) {
		fmt.Fprintf(errOut, "postern: unknown command %.100q;%s postern --help lists all\n", withoutPasswords(rest, rest[0]), suggestion(rest[0], names(commands())))
		return statusUsage
	}
	err := execute(ctx, c, rest)
	if err == nil {
		err = written.failed()
	}
	top := topCommand(c)
	switch {
	case err == nil:
		return 0
	case errors.As(err, new(usageError)):
		fmt.Fprintf(errOut, "postern %s: %s\nusage: %s\nrun %s --help for details\n", top.Name(), withoutPasswords(args, err.Error()), strings.Join(usages(c), "\n       "), nameOf(c))
		return statusUsage
	case errors.As(err, new(faultyInput)):
		fmt.Fprintln(errOut, err)
		return statusUsage
	default:
		fmt.Fprintf(errOut, "postern %s: %s\n", top.Name(), withoutPasswords(args, err.Error()))
		return statusOf(err)
	}
}

// withoutPasswords hides passwords of URLs of databases in the command line.
func withoutPasswords(args []string, text string) string {
	for _, arg := range args {
		if at := strings.Index(arg, "postgres"); at >= 0 && strings.Contains(arg, "://") {
			text = postgres.Redact(arg[at:], text)
		}
	}
	return text
}

// output is standard output. A failed write fails a command that otherwise succeeded.
type output struct {
	io.Writer

	mu  sync.Mutex
	err error // the first
}

// Write implements [io.Writer].
func (o *output) Write(p []byte) (int, error) {
	n, err := o.Writer.Write(p)
	if err != nil {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.err = cmp.Or(o.err, err)
	}
	return n, err
}

func (o *output) failed() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.err
}

// asFile returns w if that is a file, such as standard output.
func asFile(w any) (f *os.File, is bool) {
	if o, ok := w.(*output); ok {
		w = o.Writer
	}
	f, is = w.(*os.File)
	return f, is
}

// completing reports whether a shell's completion script calls the program.
func completing(args []string) bool {
	return len(args) > 0 && (args[0] == cobra.ShellCompRequestCmd || args[0] == cobra.ShellCompNoDescRequestCmd)
}

// inFull rewrites a command line that names no command, or asks for help or the
// version in another form, with the name of a command first and --help behind it.
func inFull(args []string) []string {
	switch {
	case len(args) == 0:
		return []string{"serve"}
	case isHelp(args[0]), slices.Equal(args, []string{"help"}):
		return []string{"--help"}
	case args[0] == "help":
		return []string{args[1], "--help"}
	case slices.Contains([]string{"-v", "-version", "--version"}, args[0]):
		return []string{"version"}
	case strings.HasPrefix(args[0], "-"):
		return append([]string{"serve"}, args...)
	}
	return args
}

func isHelp(arg string) bool { return arg == "-h" || arg == "-help" || arg == "--help" }

// find follows args down from root while they are names of commands, and
// returns the rest of them.
func find(root *cobra.Command, args []string) (*cobra.Command, []string) {
	c := root
	for len(args) > 0 {
		below := c.Commands()
		i := slices.IndexFunc(below, func(sub *cobra.Command) bool { return sub.Name() == args[0] })
		if i < 0 {
			break
		}
		c, args = below[i], args[1:]
	}
	return c, args
}

// execute runs the command with its flags and operands, or prints its help when they
// request it. The library's own way would look for names of commands
// after flags, too, and does not support long flags with one dash.
func execute(ctx context.Context, c *cobra.Command, args []string) error {
	err := c.ParseFlags(twoDashes(args, c.Flags()))
	if errors.Is(err, pflag.ErrHelp) {
		return c.Help()
	}
	if err != nil {
		return flagError(err, c)
	}
	operands := c.Flags().Args()
	if err := c.ValidateArgs(operands); err != nil {
		return usageError{err}
	}
	c.SetContext(ctx)
	return c.RunE(c, operands)
}

// usageError is an error in the command line.
type usageError struct{ error }

// faultyInput is the error of a file that was checked and has faults.
type faultyInput struct{ error }

func listenTCP(ctx context.Context, addr string) (net.Listener, error) {
	return (&net.ListenConfig{}).Listen(ctx, "tcp", addr)
}
