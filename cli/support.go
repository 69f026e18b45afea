package cli

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"postern/app"
	"postern/backup"
	"postern/cli/doctor"
	"postern/cli/support"
	"postern/config"
	"postern/internal/plural"
	"postern/store"
)

// metricsApart is the time between the two samples of the metrics, whose difference
// shows activity.
const metricsApart = 10 * time.Second

// askFor limits an answer of the program.
const askFor = time.Minute

// supportCommand is `postern support`: it writes a redacted support bundle.
func supportCommand() *cobra.Command {
	var settings string
	c := &cobra.Command{
		Use:   "support [--config FILE] FILE",
		Short: "write a redacted support bundle",
		Long: "Writes a zip file of plain text: version, configuration, output of postern doctor, two samples of the metrics ten seconds\n" +
			"apart, memory and goroutine profiles, the last 2,000 lines of the log, and statistics of the data file. Secrets, tokens,\n" +
			"URLs except their host, phone numbers except two digits, and names of instances are redacted; review it before you\n" +
			"pass it on. It also works for a stopped program: README.txt in it then lists the missing files. FILE is written\n" +
			"atomically and never overwritten.",
		Example: "postern support support.zip\npostern support --config /etc/postern/config.toml support.zip",
		Args:    fileNeeded("the path of the bundle to write"),
		RunE: func(c *cobra.Command, args []string) error {
			var b bundle
			err := backup.WriteFile(args[0], func(w io.Writer) error {
				if err := b.gather(c.Context(), settings); err != nil {
					return err
				}
				return b.write(c.Context(), w)
			})
			if err != nil {
				return err
			}
			missing := ""
			if len(b.missing) > 0 {
				missing = fmt.Sprintf(", %s missing: README.txt in it says why", plural.Of(len(b.missing), "more is", "more are"))
			}
			fmt.Fprintf(c.OutOrStdout(), "%s: %s%s\n", args[0], plural.Of(len(b.members)+1, "text"), missing)
			return nil
		},
	}
	configFlag(c, &settings)
	return c
}

// bundle is the content of a support bundle.
type bundle struct {
	redact  *support.Redactor
	members []member
	missing []string
	ask     func(ctx context.Context, method, path string, out any) error // the running program; nil when none runs
}

// member is a redacted text of a bundle.
type member struct{ name, about, text string }

func (b *bundle) add(name, about, text string) {
	b.members = append(b.members, member{name, about, text})
}

// lacks records why a text is missing, unless err is nil.
func (b *bundle) lacks(name string, err error) bool {
	if err != nil {
		b.missing = append(b.missing, name+": "+b.redact.Text(config.OneLine(err.Error())))
	}
	return err != nil
}

var errNoFirst = errors.New("there is no first sample to compare with")

var errNotRunning = errors.New("only a running program has it, and none is running")

// subject is the program that a bundle describes.
type subject struct {
	cfg      *config.Config
	settings string   // all of them, as TOML
	secrets  []string // those of the configuration

	// ask calls the program that runs with the configuration, if one does; runs is set
	// when that is this process.
	ask  func(ctx context.Context, method, path string, out any) error
	runs bool
}

// gather collects everything about the program with these settings. Missing parts
// are listed; the error is that of an interruption.
func (b *bundle) gather(ctx context.Context, settings string) error {
	cfg, err := load(ctx, settings)
	b.redact = support.New(nil, nil)
	if b.lacks("configuration.toml", err) {
		b.same()
		b.findings(doctor.Unconfigured(err))
		return nil
	}
	s := subject{cfg: cfg, settings: config.TOML(config.Settings(cfg)), secrets: append([]string{cfg.Authentication.GlobalAuthToken, cfg.Authentication.JWTSecret}, keysOf(cfg)...), ask: askRunning(cfg)}
	if kept, err := config.ReadSecrets(cfg); err == nil {
		s.secrets = append(s.secrets, kept.GlobalAuthToken, kept.JWTSecret)
	}
	return b.gatherOf(ctx, s)
}

// gatherFor returns the gatherer for the program in this process.
func gatherFor(a *app.App, sec config.Secrets) func(context.Context, io.Writer) error {
	return func(ctx context.Context, to io.Writer) error {
		all, _ := a.Settings()
		var b bundle
		err := b.gatherOf(ctx, subject{
			cfg: a.Config(), settings: config.TOML(all), secrets: append([]string{sec.GlobalAuthToken, sec.JWTSecret}, keysOf(a.Config())...), ask: a.Ask, runs: true,
		})
		if err != nil {
			return err
		}
		return b.write(ctx, to)
	}
}

// keysOf returns the keys to other servers.
func keysOf(cfg *config.Config) []string {
	return []string{cfg.Media.Store.S3.AccessKey, cfg.Media.Store.S3.SecretKey}
}

// same adds the parts that do not depend on a running program.
func (b *bundle) same() {
	b.add("version.txt", "the version of postern support", "postern "+app.Build()+"\n")
	b.add("schema.txt", "the buckets of a data file", schemaText())
}

// gatherOf is gather for a given subject.
func (b *bundle) gatherOf(ctx context.Context, s subject) error {
	metrics, waited := b.meet(ctx, s)
	b.same()
	text := s.settings
	for _, w := range slices.Concat(config.Warnings(s.cfg), config.Exposures(s.cfg)) {
		text = "# warning: " + b.redact.Text(config.OneLine(w)) + "\n" + text
	}
	b.add("configuration.toml", "all settings with their sources; secrets are not shown", b.redact.Config(text))
	found, err := doctor.Run(ctx, doctor.Patient{Config: s.cfg, Warnings: config.Warnings(s.cfg), Buckets: everyBucket(), Ask: s.ask})
	if err != nil {
		return fmt.Errorf("interrupted: %w", err)
	}
	b.findings(found)
	b.stats(ctx, s.cfg)
	b.profiles(ctx)
	if !metrics {
		b.lacks("metrics-2.txt", errNoFirst)
	} else {
		select {
		case <-ctx.Done():
		case <-time.After(metricsApart - time.Since(waited)):
		}
		b.metrics(ctx, "metrics-2.txt")
	}
	if ctx.Err() != nil {
		return fmt.Errorf("interrupted: %w", context.Cause(ctx))
	}
	return nil
}

// meet determines whether a program runs, its secrets and the names of its
// instances, and reads the log and the metrics before it requests anything
// else.
func (b *bundle) meet(ctx context.Context, s subject) (metrics bool, at time.Time) {
	secrets, names := s.secrets, []string(nil)
	var err error
	if !s.runs {
		names, err = app.InstanceNames(s.cfg.Store.Path, everyBucket())
	}
	if s.runs || errors.Is(err, store.ErrLocked) {
		b.ask = s.ask
		var listed []struct {
			Name string
			Auth *struct{ Token string }
		}
		if err := b.call(ctx, "/instance", &listed); err != nil {
			b.lacks("names of instances, which are needed to redact them", err)
		}
		for _, in := range listed {
			names = append(names, in.Name)
			if in.Auth != nil {
				secrets = append(secrets, in.Auth.Token)
			}
		}
	}
	b.redact = support.New(secrets, names)
	log, err := b.plain(ctx, "/admin/log/lines")
	if !b.lacks("log.txt", err) {
		b.redact.Learn(log)
		b.add("log.txt", "the last lines of the log", b.redact.Text(log))
	}
	at = time.Now()
	return b.metrics(ctx, "metrics-1.txt"), at
}

// call requests JSON from the running program, or the raw answer if out is a *[]byte.
func (b *bundle) call(ctx context.Context, path string, out any) error {
	if b.ask == nil {
		return errNotRunning
	}
	ctx, cancel := context.WithTimeoutCause(ctx, askFor, fmt.Errorf("no answer within %v", askFor))
	defer cancel()
	return b.ask(ctx, http.MethodGet, path, out)
}

func (b *bundle) plain(ctx context.Context, path string) (string, error) {
	var text []byte
	err := b.call(ctx, path, &text)
	return string(text), err
}

func (b *bundle) metrics(ctx context.Context, name string) bool {
	text, err := b.plain(ctx, "/metrics")
	if b.lacks(name, err) {
		return false
	}
	b.add(name, "GET /metrics; there are two, ten seconds apart", b.redact.Metrics(text))
	return true
}

func (b *bundle) findings(found []doctor.Finding) {
	var lines bytes.Buffer
	_ = tellFindings(&lines, found, false) // into memory
	b.add("doctor.txt", "output of postern doctor", b.redact.Text(lines.String()))
}

// stats adds the statistics of the data file.
func (b *bundle) stats(ctx context.Context, cfg *config.Config) {
	const name = "stats.txt"
	var (
		is  app.Statistics
		err error
	)
	if b.ask != nil {
		err = b.call(ctx, "/admin/stats", &is)
	} else {
		is, err = app.InspectFile(cfg.Store.Path, everyBucket())
	}
	if b.lacks(name, err) {
		return
	}
	for i := range is.Kept {
		is.Kept[i].Instance = "" // the id identifies it
	}
	var text bytes.Buffer
	if !b.lacks(name, printStats(&text, is)) {
		b.add(name, "statistics of the data file by bucket", b.redact.Secrets(text.String()))
	}
}

func (b *bundle) profiles(ctx context.Context) {
	for kind, about := range map[string]string{"heap": "memory allocations", "goroutine": "stacks of all goroutines"} {
		text, err := b.plain(ctx, "/admin/profile/"+kind+"?debug=1")
		if !b.lacks(kind+".txt", err) {
			b.add(kind+".txt", about+", as pprof reads it", b.redact.Secrets(text))
		}
	}
}

// readme describes the contents of the bundle, and what is missing.
func (b *bundle) readme(at time.Time) string {
	var text strings.Builder
	fmt.Fprintf(&text, "Written by postern support at %s.\n\n", at.UTC().Format(time.RFC3339))
	for _, m := range b.members {
		fmt.Fprintf(&text, "%-20s %s\n", m.name, m.about)
	}
	if len(b.missing) > 0 {
		text.WriteString("\nMissing, and why:\n\n")
		for _, line := range b.missing {
			fmt.Fprintf(&text, "%s\n", line)
		}
	}
	text.WriteString("\nRedacted: secrets and tokens, URLs except scheme and host, the digits of phone numbers\n" +
		"and JIDs except the last two, and the names of instances, each of which is the same\n" +
		"instance-N in all texts. Redaction errs on the side of removing too much; review all\n" +
		"texts before you pass them on.\n")
	return text.String()
}

func (b *bundle) write(ctx context.Context, w io.Writer) error {
	at := time.Now()
	z := zip.NewWriter(w)
	for _, m := range append([]member{{"README.txt", "", b.readme(at)}}, b.members...) {
		if ctx.Err() != nil {
			return fmt.Errorf("interrupted: %w", context.Cause(ctx))
		}
		f, err := z.CreateHeader(&zip.FileHeader{Name: m.name, Method: zip.Deflate, Modified: at.UTC()})
		if err != nil {
			return err
		}
		if _, err := io.WriteString(f, m.text); err != nil {
			return err
		}
	}
	return z.Close()
}
