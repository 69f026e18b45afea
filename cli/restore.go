package cli

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"filippo.io/age"
	"github.com/spf13/cobra"

	"postern/app"
	"postern/backup"
	"postern/config"
	"postern/internal/plural"
	"postern/store"
	"postern/store/files"
)

// restoreOptions are the flags of `postern restore`.
type restoreOptions struct {
	settings, identity         string
	force, resumeBatches, sure bool
}

// restoreCommand is `postern restore`: it replaces the data file by a backup.
func restoreCommand() *cobra.Command {
	var o restoreOptions
	c := &cobra.Command{
		Use:   "restore [--identity FILE] [--force] [--resume-batches] [--yes] [--config FILE] FILE|-",
		Short: "restore the data file from a backup",
		Long: "The backup is fully verified, every digest and every record, before anything changes. Stop the program first. An existing\n" +
			"data file is only replaced with --force, and is kept beside the new one. No account has to be paired again: messages\n" +
			"received since the backup can be read, and keys that may have been used since are skipped. Running batches become\n" +
			"INTERRUPTED until they are started, since what they sent after the backup is unknown; --resume-batches continues them,\n" +
			"and repeats what they sent since. Browsers are signed out and portal links expire. Instance tokens that were replaced\n" +
			"and scoped keys that were deleted since the backup are valid again: issue new tokens by PUT /instance/NAME/token, and\n" +
			"delete the keys again.",
		Example: "postern restore postern.tar\npostern restore --identity key.txt --force postern.tar.age",
		Args:    fileNeeded("the backup to restore"),
		RunE: func(c *cobra.Command, args []string) error {
			return o.run(c, args[0])
		},
	}
	configFlag(c, &o.settings)
	f := c.Flags()
	f.StringVar(&o.identity, "identity", "", "`FILE` with the age private key of an encrypted backup")
	f.BoolVar(&o.force, "force", false, "move an existing data file aside")
	f.BoolVar(&o.resumeBatches, "resume-batches", false, "continue running batches")
	f.BoolVar(&o.sure, "yes", false, "do not ask")
	return c
}

func (o *restoreOptions) run(c *cobra.Command, from string) (err error) {
	ctx, out := c.Context(), c.OutOrStdout()
	cfg, err := prepare(ctx, o.settings)
	if err != nil {
		return err
	}
	if err := inCell(cfg, "restore"); err != nil {
		return err
	}
	identities, err := readIdentities(ctx, o.identity)
	if err != nil {
		return err
	}
	path := cfg.Store.Path
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real // the file is replaced, not what points to it
	}
	held, there, err := o.mayReplace(path)
	if err != nil {
		return err
	}
	defer func() { _ = held.Close() }()
	if there && !o.sure {
		if err := confirmed(ctx, c.InOrStdin(), c.ErrOrStderr(), fmt.Sprintf("%s will be moved aside and replaced by the backup. Continue?", path)); err != nil {
			return err
		}
	}
	in, err := openBackup(ctx, from, c.InOrStdin())
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }()
	if err := files.MakeFolder(filepath.Dir(path)); err != nil {
		return err
	}
	folder, remove, err := backup.Folder(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, remove()) }()
	m, err := backup.Extract(ctx, in, folder, identities...)
	if err != nil {
		return fmt.Errorf("%s: %w", from, err)
	}
	file := filepath.Join(folder, backup.DataMember)
	log := commandLog(cfg, c.ErrOrStderr())
	done, err := app.Restore(ctx, file, m.At.Time, o.resumeBatches, log)
	if err != nil {
		return fmt.Errorf("%s: %w", from, err)
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	stamp := stampOf(time.Now())
	kept, err := o.place(cfg, held, path, folder, stamp)
	for _, f := range kept {
		fmt.Fprintf(out, "the old file is now %s\n", f)
	}
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "%s: %s; %s on with %s\n", path, contents(m), plural.Of(done.Devices, "paired account goes", "paired accounts go"), plural.Of(done.Sessions, "session"))
	if raw, err := os.ReadFile(filepath.Join(folder, backup.SecretsMember)); err == nil && config.OtherSecrets(cfg, raw) {
		fmt.Fprintf(out, "the configured secrets differ from those of the backup and take precedence: its API key and tokens are invalid until authentication has those of %s\n", config.SecretsPath(cfg))
	}
	warnOfReturned(out, m, done, kept, config.SecretsPath(cfg))
	return nil
}

// warnOfReturned warns of credentials that were revoked after the backup and are valid
// again. The file does not record which these are.
func warnOfReturned(out io.Writer, m backup.Manifest, done app.Restoration, kept []string, secrets string) {
	at := m.At.Time.UTC().Format("2006-01-02 15:04:05Z")
	if m.Counts.Instances > 0 {
		fmt.Fprintf(out, "warning: instance tokens that were replaced after %s are valid again, and their replacements are not: issue new ones by PUT /instance/NAME/token (GlobalApiKey) for each instance whose token was replaced since, and distribute them\n", at)
	}
	if slices.ContainsFunc(kept, func(file string) bool { return strings.HasPrefix(file, secrets+replacedSuffix) }) {
		fmt.Fprintf(out, "warning: the API key and the secret of tokens are those of the backup again, and so are the tokens that they signed: if they were changed because they had leaked, stop the program, delete %s and start it, which creates new ones\n", secrets)
	}
	if done.Keys > 0 {
		fmt.Fprintf(out, "warning: keys that were deleted since the backup exist again, and those that were restricted have their former rights: review the %d of GET /keys, and delete them again by DELETE /keys/ID\n", done.Keys)
	}
}

// mayReplace refuses a data file in use, and an existing one without --force. No program
// can open the file until held is closed.
func (o *restoreOptions) mayReplace(path string) (held *store.Held, there bool, err error) {
	held, err = store.Hold(path)
	_, missing := os.Lstat(path)
	there = !errors.Is(missing, fs.ErrNotExist)
	switch {
	case errors.Is(err, store.ErrLocked):
		return nil, there, fmt.Errorf("a program is running on %s, or another restore to %[1]s is running: stop it, or wait until it ends", path)
	case there && !o.force:
		if held != nil {
			_ = held.Close()
		}
		return nil, there, fmt.Errorf("%s already exists: --force moves it aside", path)
	}
	return held, there, err
}

// place moves the files of a backup to their places, the data file to path, the secrets
// first: secrets without a data file are harmless.
func (o *restoreOptions) place(cfg *config.Config, held *store.Held, path, folder, stamp string) (kept []string, err error) {
	file := filepath.Join(folder, backup.DataMember)
	like := path // of which the program's user is the owner
	if _, err := os.Lstat(path); err != nil {
		like = filepath.Dir(path)
	}
	if err := errors.Join(files.OwnAs(file, like), config.SettleSecrets(cfg)); err != nil {
		return nil, err
	}
	aside := ""
	if o.force {
		aside = path + replacedSuffix + stamp
	}
	put := func() error { return held.Put(file, aside) }
	raw, err := os.ReadFile(filepath.Join(folder, backup.SecretsMember))
	switch {
	case err == nil:
		var former string
		if former, err = config.SwapSecrets(cfg, raw, o.force, stamp, file, put); former != "" {
			kept = append(kept, former)
		}
	case errors.Is(err, fs.ErrNotExist):
		err = put()
	}
	if _, gone := os.Lstat(aside); gone == nil {
		kept = append(kept, aside)
	}
	return kept, err
}

// replacedSuffix and a timestamp are the end of the name of a replaced
// file.
const replacedSuffix = ".replaced-"

func stampOf(at time.Time) string { return at.UTC().Format("20060102T150405.000Z") }

// openBackup opens the file, or a named pipe or standard input until ctx ends: data from there may
// arrive late.
func openBackup(ctx context.Context, path string, in io.Reader) (io.ReadCloser, error) {
	if path != "-" {
		if info, err := os.Stat(path); err != nil || info.Mode()&os.ModeNamedPipe == 0 {
			return os.Open(path)
		}
	}
	r, w := io.Pipe()
	go func() { // ends with what it reads, or with the command
		from := in
		if path != "-" { // a named pipe, which opens only when something writes into it
			f, err := os.Open(path)
			if err != nil {
				_ = w.CloseWithError(err)
				return
			}
			defer f.Close()
			from = f
		}
		_, err := io.Copy(w, from)
		_ = w.CloseWithError(err)
	}()
	context.AfterFunc(ctx, func() { _ = w.CloseWithError(context.Cause(ctx)) })
	return r, nil
}

// maxIdentities is the maximum size of a file with age private keys, in bytes: thousands
// of keys.
const maxIdentities = 1 << 20

func readIdentities(ctx context.Context, path string) ([]age.Identity, error) {
	if path == "" {
		return nil, nil
	}
	raw, err := readSmall(ctx, path, maxIdentities)
	if err != nil {
		return nil, fmt.Errorf("--identity: %w", err)
	}
	all, err := age.ParseIdentities(bytes.NewReader(raw))
	if err != nil {
		return nil, fmt.Errorf("--identity: %s has no private key of age, which begins with AGE-SECRET-KEY-", path)
	}
	return all, nil
}

// confirmed asks on a terminal until ctx ends, and requires --yes without one.
func confirmed(ctx context.Context, in io.Reader, out io.Writer, question string) error {
	if !isTerminal(in) {
		return usageError{errors.New("this replaces a file and needs confirmation on a terminal: add --yes")}
	}
	return answered(ctx, in, out, question)
}

func answered(ctx context.Context, in io.Reader, out io.Writer, question string) error {
	fmt.Fprintf(out, "%s [y/N] ", question)
	answers := make(chan string, 1)
	go func() { // ends with an answer, or with the command
		answer, _ := bufio.NewReader(in).ReadString('\n')
		answers <- strings.ToLower(strings.TrimSpace(answer))
	}()
	select {
	case <-ctx.Done():
		fmt.Fprintln(out)
	case answer := <-answers:
		if answer == "y" || answer == "yes" {
			return nil
		}
	}
	return errors.New("nothing was done")
}
