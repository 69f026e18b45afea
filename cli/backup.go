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
	"golang.org/x/term"

	"postern/app"
	"postern/backup"
	"postern/config"
	"postern/store"
)

// backupOptions are the flags of `postern backup`.
type backupOptions struct {
	settings, url, key string
	withoutSecrets     bool
	recipients         []string
}

// backupCommand is `postern backup`: all that must not be lost, in one archive.
func backupCommand() *cobra.Command {
	var o backupOptions
	c := &cobra.Command{
		Use:   "backup [--without-secrets] [--recipient KEY] [--url URL --key KEY] [--config FILE] FILE|-",
		Short: "write all that must not be lost into one archive",
		Long: "A tar file with the data file as it is at one moment, the secrets, and a manifest with their digests. A running\n" +
			"program makes it while it works on, found by the configuration or by --url; otherwise it is made of the file. FILE is\n" +
			"there when it is whole, and replaces none; - is standard output. Who has the archive can act as every account in it:\n" +
			"encrypt it with --recipient for a key of age, or keep it as you keep keys.",
		Example: "postern backup postern.tar\npostern backup --recipient age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p postern.tar.age\n" +
			"postern backup - | ssh other 'cat > postern.tar'",
		Args: fileNeeded("where is the backup to be written?"),
		RunE: func(c *cobra.Command, args []string) error {
			return o.run(c.Context(), args[0], c.OutOrStdout(), c.ErrOrStderr())
		},
	}
	configFlag(c, &o.settings)
	f := c.Flags()
	f.BoolVar(&o.withoutSecrets, "without-secrets", false, "leave out the API key and the secret of tokens")
	f.StringArrayVar(&o.recipients, "recipient", nil, "public `KEY` of age for which to encrypt; may be given again")
	f.StringVar(&o.url, "url", "", "`URL` of a program on another machine")
	f.StringVar(&o.key, "key", "", "its API `KEY`; else the one of the configuration")
	noFiles(c, "recipient", "url", "key")
	return c
}

func (o *backupOptions) run(ctx context.Context, path string, out, errOut io.Writer) error {
	recipients, err := backup.Recipients(o.recipients)
	if err != nil {
		return usageError{fmt.Errorf("--recipient: %w", err)}
	}
	cfg, err := prepare(ctx, o.settings)
	if err != nil {
		return err
	}
	write, release, err := o.source(ctx, cfg, recipients)
	if err != nil {
		return err
	}
	defer release()
	var m backup.Manifest
	target := func(w io.Writer) (err error) {
		m, err = write(w)
		return err
	}
	if path == "-" {
		if isTerminal(out) {
			return errors.New("standard output is a terminal, which is no place for an archive: name a FILE, or send it on with |")
		}
		if lost(out) {
			return errors.New("standard output is closed, or leads nowhere: name a FILE, or send it on with |")
		}
		err, out = target(out), errOut
	} else {
		err = backup.WriteFile(path, target)
	}
	if err != nil {
		return err
	}
	if m.Format == 0 {
		fmt.Fprintf(out, "%s: written, encrypted\n", path)
		return nil
	}
	how := ""
	if len(recipients) > 0 {
		how = ", encrypted"
	}
	fmt.Fprintf(out, "%s: %s%s\n", path, contents(m), how)
	return nil
}

// contents says in words what a backup holds.
func contents(m backup.Manifest) string {
	var size int64
	without := ", without secrets"
	for _, f := range m.Members {
		size += f.Size
		if f.Name == backup.SecretsMember {
			without = ""
		}
	}
	return fmt.Sprintf("%d instances, %d batches, %d events to be delivered, %s, of %s%s",
		m.Counts.Instances, m.Counts.Batches, m.Counts.PendingEvents, inUnits(size), m.At.Time.UTC().Format("2006-01-02 15:04:05Z"), without)
}

// writeArchive writes an archive and returns its manifest, unless it cannot be read.
type writeArchive func(io.Writer) (backup.Manifest, error)

// source is the file when nothing runs on it, else the program that does.
func (o *backupOptions) source(ctx context.Context, cfg *config.Config, recipients []age.Recipient) (writeArchive, func(), error) {
	none := func() {}
	if o.url != "" {
		if err := checkBase(o.url); err != nil {
			return nil, none, usageError{fmt.Errorf("--url %w", err)}
		}
		p, err := elsewhere(cfg, o.url, o.key)
		return o.remote(ctx, p), none, err
	}
	snapshot, err := store.SnapshotFile(cfg.Store.Path, everyBucket())
	if errors.Is(err, store.ErrLocked) {
		p, err := running(cfg, o.key)
		return o.remote(ctx, p), none, err
	}
	if err != nil {
		return nil, none, err
	}
	release := func() { _ = snapshot.Close() }
	var secrets []byte
	if !o.withoutSecrets {
		s, err := config.ReadSecrets(cfg)
		if err == nil {
			secrets, err = s.File()
		}
		if err != nil {
			release()
			return nil, none, fmt.Errorf("%w; --without-secrets leaves them out", err)
		}
	}
	archive, err := app.Archive(ctx, snapshot, secrets)
	if err != nil {
		release()
		return nil, none, err
	}
	return func(w io.Writer) (backup.Manifest, error) {
		return archive.Manifest(), archive.Write(ctx, w, recipients...)
	}, release, nil
}

// remote has a running program make the archive.
func (o *backupOptions) remote(ctx context.Context, p program) writeArchive {
	return func(w io.Writer) (m backup.Manifest, err error) {
		resp, err := p.ask(ctx, http.MethodPost, "/admin/backup", map[string]any{"withoutSecrets": o.withoutSecrets, "recipients": o.recipients})
		if err != nil {
			return m, err
		}
		defer func() { _ = resp.Body.Close() }()
		if len(o.recipients) > 0 {
			if _, err := io.Copy(w, resp.Body); err != nil {
				return m, fmt.Errorf("the backup was cut off: %w", err)
			}
			return m, nil
		}
		if m, err = backup.Inspect(ctx, io.TeeReader(resp.Body, w)); err != nil {
			return m, fmt.Errorf("what %s sent: %w", p.base, err)
		}
		return m, nil
	}
}

// isTerminal reports whether somebody looks at what is written there.
func isTerminal(w any) bool {
	f, ok := asFile(w)
	return ok && term.IsTerminal(int(f.Fd()))
}

// lost reports whether nobody gets what is written there. The runtime opens the null
// device in place of a standard output that is closed.
func lost(w any) bool {
	f, ok := asFile(w)
	if !ok {
		return false
	}
	is, err := f.Stat()
	if err != nil {
		return true
	}
	null, err := os.Stat(os.DevNull)
	return err == nil && os.SameFile(is, null)
}
