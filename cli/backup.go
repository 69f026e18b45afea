package cli

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
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
	"postern/internal/plural"
	"postern/store"
)

// backupOptions are the flags of `postern backup`.
type backupOptions struct {
	settings, url, key string
	withoutSecrets     bool
	noVerify           bool
	recipients         []string
}

// backupCommand is `postern backup`: data file and secrets in one archive.
func backupCommand() *cobra.Command {
	var o backupOptions
	c := &cobra.Command{
		Use:   "backup [--without-secrets] [--recipient KEY] [--no-verify] [--url URL --key KEY] [--config FILE] FILE|-",
		Short: "back up the data file and secrets into one archive",
		Long: "Writes a tar file with a consistent snapshot of the data file, the secrets, and a manifest of digests. A running program\n" +
			"makes it online; it is found by the configuration or --url. Otherwise the data file is read directly. FILE is\n" +
			"written atomically and never overwritten; - is standard output. The archive is verified before success is reported:\n" +
			"manifest, digests, secrets, and every page and record; --no-verify skips that. The archive gives full access to every\n" +
			"account in it: encrypt it with --recipient for an age key, or protect it like a private key.",
		Example: "postern backup postern.tar\npostern backup --recipient age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p postern.tar.age\n" +
			"postern backup - | ssh other 'cat > postern.tar'",
		Args: fileNeeded("the path of the backup to write"),
		RunE: func(c *cobra.Command, args []string) error {
			return o.run(c.Context(), args[0], c.OutOrStdout(), c.ErrOrStderr())
		},
	}
	configFlag(c, &o.settings)
	f := c.Flags()
	f.BoolVar(&o.withoutSecrets, "without-secrets", false, "leave out the API key and the secret of tokens")
	f.StringArrayVar(&o.recipients, "recipient", nil, "age public `KEY` to encrypt for; may be repeated")
	f.BoolVar(&o.noVerify, "no-verify", false, "do not read back and verify the archive")
	f.StringVar(&o.url, "url", "", "`URL` of a program on another machine")
	f.StringVar(&o.key, "key", "", "its API `KEY` (default: from the configuration)")
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
	from, release, err := o.source(ctx, cfg, recipients)
	if err != nil {
		return err
	}
	defer release()
	if path == "-" {
		if isTerminal(out) {
			return errors.New("standard output is a terminal: name a FILE, or redirect the archive")
		}
		if lost(out) {
			return errors.New("standard output is closed or the null device: name a FILE, or redirect the archive")
		}
		err, out = from.write(ctx, out), errOut
	} else {
		err = from.save(ctx, path)
	}
	if err != nil {
		return err
	}
	what := "written"
	if m, known := from.manifest(); known {
		what = contents(m)
	}
	if len(recipients) > 0 {
		what += ", encrypted"
	}
	if o.noVerify {
		what += ", not verified"
	} else {
		what += ", verified"
	}
	fmt.Fprintf(out, "%s: %s\n", path, what)
	if o.url == "" && cfg.Sandbox.Enabled && cfg.Sandbox.Path != "" {
		fmt.Fprintf(out, "the sandbox is not in the backup: copy %s and the folder %[1]s.media while the program is stopped when its simulated phones and their chats matter\n", config.Absolute(cfg.Sandbox.Path))
	}
	return nil
}

// contents describes the contents of a backup.
func contents(m backup.Manifest) string {
	var size int64
	without := ", without secrets"
	for _, f := range m.Members {
		size += f.Size
		if f.Name == backup.SecretsMember {
			without = ""
		}
	}
	return fmt.Sprintf("%s, %s, %s to be delivered, %s, of %s%s",
		plural.Of(m.Counts.Instances, "instance"), plural.Of(m.Counts.Batches, "batch"), plural.Of(m.Counts.PendingEvents, "event"), inUnits(size), m.At.Time.UTC().Format("2006-01-02 15:04:05Z"), without)
}

// archiveSource is the source of an archive.
type archiveSource interface {
	// write writes the archive, verified as far as a stream can be.
	write(ctx context.Context, w io.Writer) error
	// save writes it into a file and reads that back, unless verification is off.
	save(ctx context.Context, path string) error
	// manifest is the manifest of the archive; unknown if it is encrypted elsewhere.
	manifest() (m backup.Manifest, known bool)
}

// source returns the file if no program runs on it, else the program.
func (o *backupOptions) source(ctx context.Context, cfg *config.Config, recipients []age.Recipient) (archiveSource, func(), error) {
	none := func() {}
	if o.url != "" {
		if err := checkBase(o.url); err != nil {
			return nil, none, usageError{fmt.Errorf("--url %w", err)}
		}
		p, err := elsewhere(cfg, o.url, o.key)
		return &remoteArchive{o: o, p: p}, none, err
	}
	snapshot, err := store.SnapshotFile(cfg.Store.Path, everyBucket())
	if errors.Is(err, store.ErrLocked) {
		p, err := running(cfg, o.key)
		return &remoteArchive{o: o, p: p}, none, err
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
	archive, err := app.Archive(ctx, snapshot, secrets, !o.noVerify)
	if err != nil {
		release()
		return nil, none, err
	}
	return &localArchive{archive, recipients}, release, nil
}

// localArchive is an archive of the file of a stopped program.
type localArchive struct {
	archive    *backup.Archive
	recipients []age.Recipient
}

func (l *localArchive) write(ctx context.Context, w io.Writer) error {
	return l.archive.Write(ctx, w, l.recipients...)
}

func (l *localArchive) save(ctx context.Context, path string) error {
	return l.archive.Save(ctx, path, l.recipients...)
}

func (l *localArchive) manifest() (backup.Manifest, bool) { return l.archive.Manifest(), true }

// remoteArchive is an archive from a running program, which verifies what it sends.
type remoteArchive struct {
	o    *backupOptions
	p    program
	made backup.Manifest
}

func (r *remoteArchive) write(ctx context.Context, w io.Writer) error {
	resp, err := r.p.ask(ctx, http.MethodPost, "/admin/backup", map[string]any{"withoutSecrets": r.o.withoutSecrets, "recipients": r.o.recipients})
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	if len(r.o.recipients) == 0 {
		if r.made, err = app.BackupChecks().Stream(ctx, io.TeeReader(resp.Body, w)); err != nil {
			return fmt.Errorf("the backup from %s: %w", r.p.base, err)
		}
		return nil
	}
	sum := sha256.New()
	if _, err := io.Copy(io.MultiWriter(w, sum), resp.Body); err != nil {
		return fmt.Errorf("the backup was cut off: %w", err)
	}
	// Only its recipients can read it. The program verified it before the encryption and
	// sends the digest of the archive; earlier releases do not.
	want := resp.Trailer.Get(backup.DigestTrailer)
	switch {
	case r.o.noVerify || want == hex.EncodeToString(sum.Sum(nil)):
		return nil
	case want == "":
		return fmt.Errorf("%s did not send the digest of the backup, so that it cannot be verified: it is an earlier release, or a proxy before it drops trailers; --no-verify accepts the backup without it", r.p.base)
	}
	return fmt.Errorf("the backup from %s: %w: its digest does not match", r.p.base, backup.ErrDamaged)
}

func (r *remoteArchive) save(ctx context.Context, path string) error {
	write := func(w io.Writer) error { return r.write(ctx, w) }
	switch {
	case r.o.noVerify:
		return backup.WriteFile(path, write)
	case len(r.o.recipients) > 0:
		return backup.WriteDigested(ctx, path, write)
	}
	return backup.WriteInspected(ctx, path, write, app.BackupChecks())
}

func (r *remoteArchive) manifest() (backup.Manifest, bool) { return r.made, r.made.Format != 0 }

// isTerminal reports whether w is a terminal.
func isTerminal(w any) bool {
	f, ok := asFile(w)
	return ok && term.IsTerminal(int(f.Fd()))
}

// lost reports whether writes to w are discarded. The runtime replaces a closed
// standard output by the null device.
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
