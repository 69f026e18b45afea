package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"

	"filippo.io/age"
	"github.com/spf13/cobra"

	"postern/app"
	"postern/backup"
	"postern/backup/transfer"
	"postern/config"
	"postern/internal/plural"
	"postern/store"
)

// instanceCommand is `postern instance`: it moves one account to another Postern.
func instanceCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "instance export|import [--config FILE]",
		Short: "move one account to another Postern, without pairing",
		Long: "export writes the account of an instance into a file: its keys, webhook, options, settings and token, with --messages\n" +
			"also its contacts and stored messages. The instance no longer connects here, since both would use the same keys; --undo\n" +
			"reverts that if the file was never imported. import creates an instance from such a file. A running program does it\n" +
			"online; it is found by the configuration or --url. Otherwise the command works on the data file.",
		Example: "postern instance export shop shop.account\npostern instance import shop.account\npostern instance export --undo shop",
		// The flags belong to a subcommand: report the missing subcommand, not the flags.
		FParseErrWhitelist: cobra.FParseErrWhitelist{UnknownFlags: true},
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return errors.New("the subcommand is missing: export or import")
			}
			return fmt.Errorf("unknown subcommand %.100q: use export or import", args[0])
		},
	}
	c.AddCommand(exportCommand(), importAccountCommand())
	return c
}

// place has the flags by which a command finds the program.
type place struct{ settings, url, key, command string }

func (p *place) flags(c *cobra.Command) {
	p.command = "instance " + c.Name()
	configFlag(c, &p.settings)
	c.Flags().StringVar(&p.url, "url", "", "`URL` of a program on another machine")
	c.Flags().StringVar(&p.key, "key", "", "its API `KEY` (default: from the configuration)")
	noFiles(c, "url", "key")
}

// either calls here with the data file if no program has it open, else there with the
// program that has it open, or with that of --url. The data of a cell are changed by a
// program only.
func (p *place) either(ctx context.Context, here func(*config.Config) error, there func(program) error) error {
	cfg, err := prepare(ctx, p.settings)
	if err != nil {
		return err
	}
	if p.url != "" {
		at, err := p.program(cfg)
		if err != nil {
			return err
		}
		return there(at)
	}
	if cfg.Store.URL == "" {
		if err = here(cfg); !errors.Is(err, store.ErrLocked) {
			return err
		}
	} else if askRunning(cfg)(ctx, http.MethodGet, "/health", &struct{}{}) != nil {
		return inCell(cfg, p.command)
	}
	at, err := p.program(cfg)
	if err != nil {
		return err
	}
	return there(at)
}

// program returns the program of --url, or else the one with this configuration.
func (p *place) program(cfg *config.Config) (program, error) {
	if p.url == "" {
		return running(cfg, p.key)
	}
	if err := checkBase(p.url); err != nil {
		return program{}, usageError{fmt.Errorf("--url %w", err)}
	}
	return elsewhere(cfg, p.url, p.key)
}

// exportOptions are the flags of `postern instance export`.
type exportOptions struct {
	place
	messages, undo bool
	recipients     []string
}

func exportCommand() *cobra.Command {
	var o exportOptions
	c := &cobra.Command{
		Use:   "export [--messages] [--recipient KEY] [--undo] [--url URL --key KEY] [--config FILE] NAME FILE",
		Short: "export the account of an instance into a file",
		Args: func(c *cobra.Command, args []string) error {
			want := 2
			if o.undo {
				want = 1
			}
			if len(args) < want {
				return errors.New("the NAME of the instance and the FILE to write are required; with --undo only NAME")
			}
			return operands(want)(c, args)
		},
		RunE: func(c *cobra.Command, args []string) error {
			if o.undo {
				return o.takeBack(c.Context(), args[0], c.OutOrStdout())
			}
			to, err := backup.Recipients(o.recipients)
			if err != nil {
				return usageError{fmt.Errorf("--recipient: %w", err)}
			}
			return o.run(c.Context(), args[0], args[1], to, c.OutOrStdout())
		},
	}
	o.flags(c)
	c.Flags().BoolVar(&o.messages, "messages", false, "include its contacts and stored messages")
	c.Flags().BoolVar(&o.undo, "undo", false, "let an exported instance connect here again")
	c.Flags().StringArrayVar(&o.recipients, "recipient", nil, "age public `KEY` to encrypt for; may be repeated")
	noFiles(c, "recipient")
	return c
}

func (o *exportOptions) takeBack(ctx context.Context, name string, out io.Writer) error {
	when := " at the next start"
	err := o.either(ctx, func(cfg *config.Config) error {
		log := commandLog(cfg, os.Stderr)
		return app.UndoExport(ctx, cfg, log, name)
	}, func(p program) error {
		when = ""
		return p.undoExport(ctx, name, "")
	})
	if err == nil {
		fmt.Fprintf(out, "%s connects here again%s; never import the exported file\n", name, when)
	}
	return err
}

func (o *exportOptions) run(ctx context.Context, name, path string, to []age.Recipient, out io.Writer) error {
	return o.either(ctx, func(cfg *config.Config) error {
		log := commandLog(cfg, os.Stderr)
		var done app.Exported
		err := backup.WriteFile(path, func(w io.Writer) (err error) {
			done, err = app.ExportAccount(ctx, cfg, log, name, o.messages, w, to...)
			return err
		})
		if err != nil {
			return notExported(ctx, cfg, log, name, done, err)
		}
		fmt.Fprintf(out, "%s: the account of %s with %s, %s and %s; it no longer connects here\n", path, name,
			plural.Of(done.Sessions, "session"), plural.Of(done.Contacts, "contact"), plural.Of(done.Messages, "message"))
		return nil
	}, func(p program) error {
		size, err := p.export(ctx, name, path, o.messages, o.recipients)
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "%s: the account of %s, %s; it no longer connects here\n", path, name, inUnits(size))
		return nil
	})
}

// importAccountOptions are the flags of `postern instance import`.
type importAccountOptions struct {
	place
	identity, name string
}

func importAccountCommand() *cobra.Command {
	var o importAccountOptions
	c := &cobra.Command{
		Use:   "import [--name NAME] [--identity FILE] [--url URL --key KEY] [--config FILE] FILE",
		Short: "create an instance from an exported account",
		Args:  fileNeeded("an exported account"),
		RunE: func(c *cobra.Command, args []string) error {
			return o.run(c.Context(), args[0], c.OutOrStdout())
		},
	}
	o.flags(c)
	c.Flags().StringVar(&o.name, "name", "", "another `NAME` for the instance")
	c.Flags().StringVar(&o.identity, "identity", "", "`FILE` with the age private key of an encrypted account")
	noFiles(c, "name")
	return c
}

func (o *importAccountOptions) run(ctx context.Context, path string, out io.Writer) error {
	identities, err := readIdentities(ctx, o.identity)
	if err != nil {
		return err
	}
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return fmt.Errorf("%s cannot be read twice; write it to a regular file first", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	var done imported
	when := " at the next start"
	err = o.either(ctx, func(cfg *config.Config) error {
		done, err = importHere(ctx, cfg, f, identities, o.name)
		return err
	}, func(p program) error {
		when = ""
		if _, err := f.Seek(0, io.SeekStart); err != nil {
			return err
		}
		done, err = p.importAccount(ctx, f, identities, o.name)
		return err
	})
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	fmt.Fprintf(out, "%s: the account %s, with %s and %s; it connects%s\n", done.InstanceName, done.OwnerJID, plural.Of(done.Contacts, "contact"), plural.Of(done.Messages, "message"), when)
	if done.TokenReplaced {
		fmt.Fprintf(out, "its old token is not valid here; the new token is: %s\n", done.Auth.Token)
	}
	return nil
}

// importHere stores an account in the data file of a stopped program.
func importHere(ctx context.Context, cfg *config.Config, f io.Reader, identities []age.Identity, name string) (done imported, err error) {
	a, err := transfer.Read(ctx, f, 0, identities...)
	if err != nil {
		return done, err
	}
	log := commandLog(cfg, os.Stderr)
	rec, fresh, err := app.ImportAccount(ctx, cfg, log, a, name)
	if err != nil {
		return done, err
	}
	done = imported{InstanceName: rec.Name, OwnerJID: rec.OwnerJID, Contacts: len(a.Instance.Contacts), Messages: len(a.Instance.Messages), TokenReplaced: fresh}
	done.Auth.Token = rec.Token.Value
	return done, nil
}
