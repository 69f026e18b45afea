package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"postern/app"
	"postern/cluster"
	"postern/cluster/move"
	"postern/cluster/postgres"
	"postern/config"
	"postern/internal/plural"
)

// migrateOptions are the flags of `postern migrate`.
type migrateOptions struct {
	settings, to, from, cell string
	force, printSQL          bool
}

// migrateCommand is `postern migrate`: it moves the data between the data file and
// PostgreSQL.
func migrateCommand() *cobra.Command {
	var o migrateOptions
	c := &cobra.Command{
		Use:   "migrate --to URL|--from URL FILE|--print-sql [--force] [--cell NAME] [--config FILE]",
		Short: "move the data into PostgreSQL, or out of it",
		Long: "--to makes a cell of the configured data file and its secrets, which the nodes with that store.url then share. Stop the\n" +
			"program first. The file becomes a copy of the cell, on which a node can start. The cell must not exist; --force replaces\n" +
			"one whose nodes are stopped. --from makes FILE, and secrets.json beside it, of a cell whose nodes are stopped; --force\n" +
			"takes it from a node that works, which ends. FILE goes on alone, and no node starts on the cell until --to --force.\n" +
			"Numbers and checksums of all records are compared. An interruption leaves the data where they were.\n\n" +
			"--print-sql prints the statements that make the tables, for a user who may. A password is better not given in the URL but\n" +
			"in PGPASSWORD or PGPASSFILE.",
		Example: "postern migrate --to postgres://postern@db.example/postern\n" +
			"postern migrate --from postgres://postern@db.example/postern out/postern.db\npostern migrate --print-sql | psql",
		Args: o.operands,
		RunE: func(c *cobra.Command, args []string) error { return o.run(c.Context(), args, c.OutOrStdout()) },
	}
	configFlag(c, &o.settings)
	f := c.Flags()
	f.StringVar(&o.to, "to", "", "`URL` of the database that the data are moved into")
	f.StringVar(&o.from, "from", "", "`URL` of the database that the data are moved out of")
	f.StringVar(&o.cell, "cell", "", "`NAME` of the cell (default: cluster.cell)")
	f.BoolVar(&o.force, "force", false, "replace a cell that exists, or take one that has an owner or was left")
	f.BoolVar(&o.printSQL, "print-sql", false, "print the statements that make the tables")
	noFiles(c, "to", "from", "cell")
	return c
}

// operands checks the command line.
func (o *migrateOptions) operands(_ *cobra.Command, args []string) error {
	ways := 0
	for _, given := range []bool{o.to != "", o.from != "", o.printSQL} {
		if given {
			ways++
		}
	}
	want := 0
	if o.from != "" {
		want = 1
	}
	switch {
	case ways != 1:
		return errors.New("one of --to, --from and --print-sql is needed")
	case o.printSQL && (o.force || o.cell != ""):
		return errors.New("--print-sql takes neither --force nor --cell")
	case !o.printSQL && config.CheckDatabaseURL(o.to+o.from) != nil:
		return fmt.Errorf("--%s %w", map[bool]string{true: "to", false: "from"}[o.to != ""], config.CheckDatabaseURL(o.to+o.from))
	case o.cell != "" && config.CheckCell(o.cell) != nil:
		return fmt.Errorf("--cell %w, not %.100q", config.CheckCell(o.cell), o.cell)
	case len(args) < want:
		return errors.New("FILE is missing: the data file to make")
	case len(args) > want:
		return fmt.Errorf("unexpected argument %.100q", args[want])
	case want == 1 && (args[0] == "" || strings.Contains(args[0], "://")):
		return errors.New("FILE must be the name of a file: the URL belongs to --from")
	}
	return nil
}

func (o *migrateOptions) run(ctx context.Context, args []string, out io.Writer) error {
	if o.printSQL {
		_, err := io.WriteString(out, postgres.PrintSQL())
		return err
	}
	cfg, err := prepare(ctx, o.settings)
	if err != nil {
		return err
	}
	m := app.Moving{URL: o.to + o.from, Cell: o.cell, Path: cfg.Store.Path, Force: o.force}
	if m.Cell == "" {
		m.Cell = cfg.Cluster.Cell
	}
	if o.to != "" {
		return o.moveIn(ctx, cfg, m, out)
	}
	m.Path = args[0]
	r, err := app.MoveOut(ctx, cfg, m)
	if err != nil {
		return interruption(ctx, err, fmt.Sprintf("%s was not made", m.Path))
	}
	fmt.Fprintf(out, "%s: %s\n", m.Path, moved(r))
	fmt.Fprintf(out, "no node starts on the cell %s now; start the program on the file without store.url, or move it in again by `postern migrate --to URL --force`\n", m.Cell)
	return nil
}

func (o *migrateOptions) moveIn(ctx context.Context, cfg *config.Config, m app.Moving, out io.Writer) error {
	r, err := app.MoveIn(ctx, cfg, m)
	if errors.Is(err, cluster.ErrInDoubt) {
		return err
	}
	if err != nil {
		return interruption(ctx, err, fmt.Sprintf("%s is as it was", m.Path))
	}
	fmt.Fprintf(out, "cell %s: %s\n", m.Cell, moved(r))
	fmt.Fprintf(out, "%s is a copy of the cell now: set store.url, and start nodes\n", m.Path)
	if len(r.Server.Synchronous) == 0 && !cfg.Store.AcceptLoss {
		fmt.Fprintln(out, "warning: the server waits for no second copy, so that a node waits until synchronous_standby_names names a standby, or store.accept_loss is set")
	}
	return nil
}

// moved says how much was moved.
func moved(r move.Result) string {
	return fmt.Sprintf("%s in %s in %.1f s, version %d; numbers and checksums agree", plural.Of(r.Rows, "row"), plural.Of(r.Buckets, "bucket"), r.Took.Seconds(), r.Version)
}

// inCell refuses a command that changes the data file while a cell holds the data.
func inCell(cfg *config.Config, command string) error {
	if cfg.Store.URL == "" {
		return nil
	}
	return fmt.Errorf("store.url is set, so the data are in the database and %s is a copy: stop all nodes, take the data out by `postern migrate --from URL FILE`, run `postern %s` without store.url and with store.path FILE, and move them in by `postern migrate --to URL --force`", cfg.Store.Path, command)
}

// notCopy is inCell for a command on the named or configured file.
func notCopy(ctx context.Context, settings string, args []string, command string) error {
	if !isOwn(ctx, settings, args) {
		return nil
	}
	cfg, err := load(ctx, settings) // its warnings were logged
	if err != nil {
		return err
	}
	return inCell(cfg, command)
}
