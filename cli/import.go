package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"postern/app"
	"postern/config"
	"postern/httpapi/tokens"
	"postern/internal/plural"
	"postern/migrate"
)

// importCommand is `postern import`: it imports accounts from another gateway.
func importCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "import whatsmeow|baileys --from PATH [--dry-run] [--config FILE]",
		Short: "import accounts from another gateway, without pairing",
		Long: "Reads the data of the other program, reports what is imported, and stores each account in one transaction. No account\n" +
			"has to be paired again. The source is not changed. Stop the other program first, and never start it again with these\n" +
			"sessions. Stop Postern, too. docs/operation.md lists where each program keeps its files.\n\n" +
			"  whatsmeow   programs on the whatsmeow library: the SQLite file, the URL of a PostgreSQL database, or the text\n" +
			"              of sqlite3 FILE .dump or pg_dump --data-only. The tables of codechat-go, wuzapi, gowa and\n" +
			"              evolution-go are detected.\n" +
			"  baileys     a folder of Baileys' multi-file auth state, or creds.json alone; --experimental",
		Example: "postern import whatsmeow --from dbdata --dry-run\npostern import whatsmeow --from old.sql --name 4915112345678@s.whatsapp.net=shop\n" +
			"postern import baileys --from auth_info_baileys --name shop --experimental",
		// The flags belong to a subcommand: report the missing subcommand, not the flags.
		FParseErrWhitelist: cobra.FParseErrWhitelist{UnknownFlags: true},
		Args:               otherSource,
	}
	c.AddCommand(importWhatsmeowCommand(), importBaileysCommand())
	return c
}

// otherSource returns the error of a line that does not begin with a kind of source.
func otherSource(_ *cobra.Command, args []string) error {
	if len(args) == 0 || args[0] == "whatsmeow" || args[0] == "baileys" {
		return errors.New("the kind of the source is missing: whatsmeow or baileys")
	}
	return fmt.Errorf("unknown kind of source %.100q; use whatsmeow or baileys", args[0])
}

func importWhatsmeowCommand() *cobra.Command {
	var settings, program string
	var from, names []string
	var messages, dry bool
	c := &cobra.Command{
		Use:   "whatsmeow --from PATH|URL [--from PATH|URL]... [--app APP] [--name JID=NAME]... [--messages] [--dry-run] [--config FILE]",
		Short: "import accounts from a program on the whatsmeow library",
		RunE: func(c *cobra.Command, _ []string) error {
			if len(from) == 0 {
				return usageError{errors.New("--from is missing: the file, dump, folder or database URL of the other program")}
			}
			plan := func(ctx context.Context, o migrate.Options) (*migrate.Plan, error) {
				o.From, o.App, o.Messages = from, program, messages
				for _, text := range names {
					n, err := migrate.ParseNaming(text)
					if err != nil {
						return nil, usageError{fmt.Errorf("--name %w, not %.100q", err, text)}
					}
					o.Names = append(o.Names, n)
				}
				return migrate.Whatsmeow(ctx, o)
			}
			if program != "" && !slices.Contains(migrate.Apps, program) {
				return usageError{fmt.Errorf("--app must be one of %s, not %.100q", strings.Join(migrate.Apps, ", "), program)}
			}
			return takeOver(c.Context(), settings, plan, dry, c.OutOrStdout())
		},
	}
	c.Flags().StringArrayVar(&from, "from", nil, "`PATH` of the SQLite file, of a dump, or of a folder with SQLite files, or the postgres:// URL of a database; may be repeated")
	c.Flags().StringVar(&program, "app", "", "`APP` around the library: "+strings.Join(migrate.Apps, ", ")+" (default: detected by its tables)")
	c.Flags().StringArrayVar(&names, "name", nil, "`JID=NAME`: the instance of that device or account gets the name")
	c.Flags().BoolVar(&messages, "messages", false, "import stored messages and contacts, too")
	dryRunFlag(c, &dry)
	configFlag(c, &settings)
	noFiles(c, "app", "name")
	return c
}

func dryRunFlag(c *cobra.Command, dry *bool) {
	c.Flags().BoolVar(dry, "dry-run", false, "print the report and write nothing")
}

func importBaileysCommand() *cobra.Command {
	var settings, from, name string
	var experimental, dry bool
	c := &cobra.Command{
		Use:   "baileys --from DIR|creds.json --name NAME --experimental [--dry-run] [--config FILE]",
		Short: "import an account from Baileys",
		RunE: func(c *cobra.Command, _ []string) error {
			switch {
			case from == "":
				return usageError{errors.New("--from is missing: the folder of the auth state, or its creds.json")}
			case name == "":
				return usageError{errors.New("--name is missing: the name of the instance")}
			case !experimental:
				return usageError{errors.New("--experimental is required: it confirms that Baileys' sessions are left out, so that the first messages of each contact have to be requested again")}
			}
			plan := func(ctx context.Context, o migrate.Options) (*migrate.Plan, error) {
				return migrate.Baileys(ctx, from, name, o)
			}
			return takeOver(c.Context(), settings, plan, dry, c.OutOrStdout())
		},
	}
	c.Flags().StringVar(&from, "from", "", "`PATH` of the folder of the auth state, or of creds.json alone")
	c.Flags().StringVar(&name, "name", "", "`NAME` of the instance")
	c.Flags().BoolVar(&experimental, "experimental", false, "confirm that sessions are left out")
	dryRunFlag(c, &dry)
	configFlag(c, &settings)
	noFiles(c, "name")
	return c
}

// takeOver makes a plan, reports it, and executes it unless it is a dry run.
func takeOver(ctx context.Context, settings string, plan func(context.Context, migrate.Options) (*migrate.Plan, error), dry bool, out io.Writer) error {
	cfg, err := prepare(ctx, settings)
	if err != nil {
		return err
	}
	if !dry {
		if err := inCell(cfg, "import"); err != nil {
			return err
		}
	}
	o, err := app.ImportOptions(cfg)
	if err != nil {
		return err
	}
	if err := addTokens(cfg, &o); err != nil {
		return err
	}
	p, err := plan(ctx, o)
	if err != nil {
		return interruption(ctx, err, "nothing was written")
	}
	defer func() { _ = p.Close() }() // it was only read
	// All accounts are read before the first one is stored, so that an error in any
	// changes nothing.
	report := migrate.NewReport(out, p)
	if err := p.Each(ctx, func(a *migrate.Account) error {
		report.Account(a)
		return nil
	}); err != nil {
		return interruption(ctx, err, "nothing was written")
	}
	if err := p.Unchanged(ctx); err != nil {
		return err
	}
	if !dry {
		log := commandLog(cfg, os.Stderr)
		done := 0
		if err := app.Import(ctx, cfg, p, log, func(*migrate.Account) { done++ }); err != nil {
			return interruption(ctx, err, takenOver(done, p.Len()))
		}
	}
	report.End(p, dry)
	return nil
}

// takenOver reports progress, and the consequence for the old program.
func takenOver(done, of int) string {
	if done == 0 {
		return "no account was imported; run the same command again"
	}
	return fmt.Sprintf("%d of %s imported; never start the old program again with these; the same command imports the others", done, plural.Of(of, "account is", "accounts are"))
}

// interruption adds the progress to an error.
func interruption(ctx context.Context, err error, state string) error {
	if ctx.Err() != nil {
		return fmt.Errorf("interrupted; %s", state)
	}
	return fmt.Errorf("%w; %s", err, state)
}

// addTokens reports which tokens are valid here, and replaces those that are not.
func addTokens(cfg *config.Config, o *migrate.Options) error {
	secret, err := config.JWTSecret(cfg)
	if err != nil {
		return err
	}
	o.Now = time.Now()
	reader := tokens.NewReader([]byte(secret), time.Now)
	o.Keeps = func(name, token string) bool {
		claims, err := reader.Read(token)
		if err != nil {
			return false
		}
		of, err := claims.Instance()
		return err == nil && of == name
	}
	ttl := time.Duration(cfg.Authentication.JWTExpiresIn) * time.Second
	o.Mint = func(name string) (string, error) { return tokens.ForInstance([]byte(secret), name, ttl, time.Now()) }
	return nil
}
