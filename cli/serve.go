package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/coreos/go-systemd/v22/daemon"
	"github.com/spf13/cobra"

	"postern/app"
	"postern/app/heap"
	"postern/config"
	"postern/internal/loglevel"
	"postern/internal/loglines"
)

// serveCommand is `postern serve`, the default command.
func serveCommand() *cobra.Command {
	var path string
	c := &cobra.Command{
		Use:   "serve [--config FILE]",
		Short: "run the program (the default command)",
		Long: "Ctrl-C or SIGTERM shuts it down in order: accepted work is finished or kept. A second signal ends it at once.\n" +
			"SIGHUP reloads log.level, server.tls.cert and .key, and webhook.global; the log reports the changes. The first\n" +
			"start needs no configuration; it generates the API key and prints it once.",
		Example: "postern\npostern serve --config /etc/postern.toml\nSANDBOX_ENABLED=true postern serve",
		RunE:    func(c *cobra.Command, _ []string) error { return serve(c.Context(), path, c.OutOrStdout()) },
	}
	configFlag(c, &path)
	return c
}

// serve runs until ctx ends, then stops in order.
func serve(ctx context.Context, path string, out io.Writer) error {
	hangups := make(chan os.Signal, 1) // one that comes during the start is not lost, and no end of it
	signal.Notify(hangups, syscall.SIGHUP)
	defer signal.Stop(hangups)
	unread := make(chan os.Signal, 1) // a closed log, as after the end of journald, does not end the program
	signal.Notify(unread, syscall.SIGPIPE)
	defer signal.Stop(unread)
	started := starting(ctx)
	defer started()
	cfg, to, err := prepareToServe(ctx, path)
	if err != nil {
		return unstarted{err}
	}
	log := to.log
	heap.Tune()
	heap.Limit(log)
	a, err := startServing(ctx, cfg, to, out)
	if errors.Is(err, app.ErrInterrupted) {
		log.Info("stopped before the start was complete; nothing was served", "cause", err)
		return nil
	}
	if err != nil {
		return unstarted{err}
	}
	started()
	running, ended := context.WithCancel(ctx)
	defer ended()
	supervised(running, a.Stuck, log)
	for serving := true; serving; {
		select {
		case <-hangups:
			reload(ctx, path, a, log)
			continue
		case <-ctx.Done():
			log.Info("stopping; a second signal ends at once")
		case err = <-a.Failed():
			if !led(a) {
				err = unstarted{err}
			}
		}
		serving = false
	}
	ended()
	return errors.Join(err, stopped(ctx, cfg, a))
}

// stopped stops the program in order, also after ctx ended.
func stopped(ctx context.Context, cfg *config.Config, a *app.App) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cfg.Server.ShutdownTimeout)
	defer cancel()
	return a.Stop(ctx)
}

// reload reloads the configuration of a running program. An invalid one
// changes nothing.
func reload(ctx context.Context, path string, a *app.App, log *slog.Logger) {
	reloading(log)
	defer notifySystemd(log, daemon.SdNotifyReady)
	cfg, err := load(ctx, path)
	if err == nil {
		for _, w := range config.Warnings(cfg) {
			log.Warn("configuration", "warning", w)
		}
		err = a.Reload(cfg)
	}
	if err != nil {
		log.Error("the configuration is invalid and was not reloaded; fix it and send SIGHUP again", "error", err)
	}
}

// startServing starts the program and prints its addresses. On the first
// start it prints the API key, once the program can be used with it; a first
// start that fails leaves no secrets, so that the next one is the first, unless
// another program has the data file.
func startServing(ctx context.Context, cfg *config.Config, to journal, out io.Writer) (*app.App, error) {
	log := to.log
	taken, err := app.Listen(ctx, cfg)
	if err != nil {
		return nil, err
	}
	sec, made, err := config.LoadSecrets(cfg)
	if err != nil {
		taken.Close()
		return nil, err
	}
	a, err := app.StartOn(ctx, taken, cfg, sec, log, to.level, to.lines)
	if err == nil && cfg.Store.URL == "" { // a cell has secrets of its own
		if err = config.ConfirmSecrets(cfg, sec); err != nil {
			err = errors.Join(err, stopped(ctx, cfg, a))
			made = false
		}
	}
	if err != nil {
		if made {
			err = errors.Join(err, config.DropSecrets(cfg, sec))
		}
		return nil, err
	}
	if led(a) {
		report(a, cfg, sec, made, log, out)
		return a, nil
	}
	a.GatherSupport(gatherFor(a, sec))
	log.Info("listening as a node of a cell", "url", a.URL(), "cell", cfg.Cluster.Cell, "version", app.Version())
	go func() {
		select {
		case <-a.Led():
			report(a, cfg, sec, made && a.APIKey() == sec.GlobalAuthToken, log, out)
		case <-ctx.Done():
		}
	}()
	return a, nil
}

// led reports whether all parts of the program run.
func led(a *app.App) bool {
	select {
	case <-a.Led():
		return true
	default:
		return false
	}
}

// report says where a program that serves is reached, and prints a key that was made.
func report(a *app.App, cfg *config.Config, sec config.Secrets, made bool, log *slog.Logger, out io.Writer) {
	for _, left := range config.LeftSecrets(cfg) { // no other program creates secrets while the data file is locked
		if err := os.Remove(left); err != nil {
			log.Warn("cannot remove secrets that a killed start left; delete the file", "file", left, "error", err)
		}
	}
	a.GatherSupport(gatherFor(a, sec))
	for _, warning := range config.Exposures(cfg) {
		log.Warn("configuration", "warning", warning)
	}
	if made {
		where := "The dashboard is at " + a.Dashboard() + " and the API below it."
		if a.Dashboard() == "" {
			where = "The API is at " + a.URL() + "."
		}
		fmt.Fprintf(out, "\nThis is the first start. The API key is\n\n  %s\n\nIt is kept in %s and not shown again.\n%s\n\n",
			sec.GlobalAuthToken, config.SecretsPath(cfg), where)
	}
	if a.Socket() != "" {
		log = log.With("socket", a.Socket())
	}
	log.Info("ready", "url", a.URL(), "dashboard", a.Dashboard(), "key", config.KeySource(cfg), "data", config.Absolute(cfg.Store.Path), "version", app.Version())
}

// configFlag gives the command --config.
func configFlag(c *cobra.Command, path *string) {
	c.Flags().StringVar(path, "config", "", "configuration `FILE` to read (default ./config.toml when it exists)")
}

// prepare reads the configuration and logs its warnings.
func prepare(ctx context.Context, path string) (*config.Config, error) {
	cfg, _, err := prepareToServe(ctx, path)
	return cfg, err
}

// journal is the log with its level and last lines.
type journal struct {
	log   *slog.Logger
	level *loglevel.Level
	lines *loglines.Ring // its last
}

// prepareToServe also creates the configured log.
func prepareToServe(ctx context.Context, path string) (*config.Config, journal, error) {
	cfg, err := load(ctx, path)
	if err != nil {
		return nil, journal{}, err
	}
	to := journal{lines: loglines.New(loglines.Kept)}
	to.log, to.level = newLogger(cfg, io.MultiWriter(to.lines, os.Stderr))
	for _, w := range config.Warnings(cfg) {
		to.log.Warn("configuration", "warning", w)
	}
	return cfg, to, nil
}

// commandLog is for commands that print their own results: it logs warnings and errors
// only.
func commandLog(cfg *config.Config, w io.Writer) *slog.Logger {
	log, level := newLogger(cfg, w)
	level.SetUsual(max(level.Level(), slog.LevelWarn))
	return log
}

func newLogger(cfg *config.Config, w io.Writer) (*slog.Logger, *loglevel.Level) {
	var usual slog.Level
	if err := usual.UnmarshalText([]byte(cfg.Log.Level)); err != nil {
		usual = slog.LevelInfo // validated before; cannot happen
	}
	level := loglevel.New(usual)
	options := &slog.HandlerOptions{Level: level}
	if cfg.Log.Format == "json" {
		return slog.New(slog.NewJSONHandler(w, options)), level
	}
	return slog.New(slog.NewTextHandler(w, options)), level
}
