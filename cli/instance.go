package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"

	"github.com/spf13/cobra"

	"postern/app"
	"postern/backup"
	"postern/config"
	"postern/httpapi/tokens"
	"postern/transfer"
)

// instanceCommand is `postern instance`: one account moves to another Postern.
func instanceCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "instance export|import [--config FILE]",
		Short: "move one account to another Postern, without pairing",
		Long: "export writes the account of an instance into a file, with its keys, webhook, options, settings and token, and with\n" +
			"--messages its contacts and stored messages. From then on the instance never connects here again, since both would use\n" +
			"the same keys; --undo takes that back when the file was never imported. import makes an instance of such a file.\n" +
			"Postern must be stopped for both.",
		Example: "postern instance export shop shop.account\npostern instance import shop.account\npostern instance export --undo shop",
		// The flags are those of a kind, which comes before them: it is missed, not they.
		FParseErrWhitelist: cobra.FParseErrWhitelist{UnknownFlags: true},
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return errors.New("what is to be done is missing: export or import")
			}
			return fmt.Errorf("unknown word %.100q; export and import are known", args[0])
		},
	}
	c.AddCommand(exportCommand(), importAccountCommand())
	return c
}

func exportCommand() *cobra.Command {
	var settings string
	var messages, undo bool
	var recipients []string
	c := &cobra.Command{
		Use:   "export [--messages] [--recipient KEY] [--undo] [--config FILE] NAME FILE",
		Short: "write the account of an instance into a file; it moves",
		Args: func(c *cobra.Command, args []string) error {
			want := 2
			if undo {
				want = 1
			}
			if len(args) < want {
				return errors.New("NAME of the instance and FILE to write are needed; with --undo NAME alone")
			}
			return operands(want)(c, args)
		},
		RunE: func(c *cobra.Command, args []string) error {
			cfg, err := prepare(settings)
			if err != nil {
				return err
			}
			log, _ := newLogger(cfg, os.Stderr)
			if undo {
				if err := app.UndoExport(c.Context(), cfg, log, args[0]); err != nil {
					return err
				}
				fmt.Fprintf(c.OutOrStdout(), "%s connects here again at the next start; the exported file must never be imported any more\n", args[0])
				return nil
			}
			to, err := backup.Recipients(recipients)
			if err != nil {
				return usageError{fmt.Errorf("--recipient: %w", err)}
			}
			var done app.Exported
			err = backup.WriteFile(args[1], func(w io.Writer) (err error) {
				done, err = app.ExportAccount(c.Context(), cfg, log, args[0], messages, w, to...)
				return err
			})
			if err != nil {
				return notExported(c.Context(), cfg, log, args[0], done, err)
			}
			fmt.Fprintf(c.OutOrStdout(), "%s: the account of %s with %d sessions, %d contacts and %d messages; it does not connect here any more\n", args[1], args[0], done.Sessions, done.Contacts, done.Messages)
			return nil
		},
	}
	configFlag(c, &settings)
	c.Flags().BoolVar(&messages, "messages", false, "with its contacts and stored messages")
	c.Flags().BoolVar(&undo, "undo", false, "let an exported instance connect here again")
	c.Flags().StringArrayVar(&recipients, "recipient", nil, "public `KEY` of age for which to encrypt; may be given again")
	noFiles(c, "recipient")
	return c
}

// notExported is the error of an export of which there is no file. The instance connects
// here again then, unless it had moved before.
func notExported(ctx context.Context, cfg *config.Config, log *slog.Logger, name string, done app.Exported, err error) error {
	if !done.Marked || errors.Is(err, backup.ErrLeft) {
		return err
	}
	if undo := app.UndoExport(context.WithoutCancel(ctx), cfg, log, name); undo != nil {
		return fmt.Errorf("%w; nothing was exported, but %s stays marked as moved (%w): take that back by postern instance export --undo %s", err, name, undo, name)
	}
	return fmt.Errorf("%w; nothing was exported, and %s has not moved", err, name)
}

func importAccountCommand() *cobra.Command {
	var settings, identity, name string
	c := &cobra.Command{
		Use:   "import [--name NAME] [--identity FILE] [--config FILE] FILE",
		Short: "make an instance of an exported account",
		Args:  fileNeeded("what export wrote"),
		RunE: func(c *cobra.Command, args []string) error {
			cfg, err := prepare(settings)
			if err != nil {
				return err
			}
			return importAccount(c.Context(), cfg, args[0], identity, name, c.OutOrStdout())
		},
	}
	configFlag(c, &settings)
	c.Flags().StringVar(&name, "name", "", "`NAME` of the instance, when it is to have another one")
	c.Flags().StringVar(&identity, "identity", "", "`FILE` with the private key of age, for a file that is encrypted")
	noFiles(c, "name")
	return c
}

func importAccount(ctx context.Context, cfg *config.Config, path, identity, name string, out io.Writer) error {
	identities, err := readIdentities(identity)
	if err != nil {
		return err
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	a, err := transfer.Read(ctx, f, identities...)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	fresh, err := retoken(cfg, a, name)
	if err != nil {
		return err
	}
	log, _ := newLogger(cfg, os.Stderr)
	rec, err := app.ImportAccount(ctx, cfg, log, a)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	fmt.Fprintf(out, "%s: the account %s, with %d contacts and %d messages; it connects at the next start\n", rec.Name, rec.OwnerJID, len(a.Instance.Contacts), len(a.Instance.Messages))
	if fresh {
		fmt.Fprintf(out, "its token is a new one, since the old one is not valid here: %s\n", rec.Token.Value)
	}
	return nil
}

// retoken gives an account another name, when there is one, and another token unless
// its own is valid here for that name.
func retoken(cfg *config.Config, a *transfer.Account, name string) (fresh bool, err error) {
	in := &a.Instance
	had, token, err := a.Credential()
	if err != nil {
		return false, err
	}
	if in.Name = name; name == "" {
		in.Name = had
	}
	secret, err := config.JWTSecret(cfg)
	if err != nil {
		return false, err
	}
	claims, err := tokens.NewReader([]byte(secret)).Read(token)
	if err == nil {
		if of, err := claims.Instance(); err == nil && of == in.Name {
			return false, nil
		}
	}
	ttl := time.Duration(cfg.Authentication.JWTExpiresIn) * time.Second
	in.Token, err = tokens.ForInstance([]byte(secret), in.Name, ttl, time.Now())
	return true, err
}
