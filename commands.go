package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/google/uuid"

	"postern/httpapi"
	"postern/sandbox"
	"postern/sandbox/handset"
	"postern/store"
)

// serve is `postern serve`: it runs until ctx ends, then stops in order.
func serve(ctx context.Context, args []string, out io.Writer) error {
	var path string
	err := parseFlags("serve", args, out, func(fs *flag.FlagSet) { configFlag(fs, &path) })
	if err != nil {
		return err
	}
	cfg, log, err := prepare(path)
	if err != nil {
		return err
	}
	a, err := startServing(ctx, cfg, log, out)
	if errors.Is(err, errInterrupted) {
		log.Info("stopped before the start was complete; nothing was served", "cause", err)
		return nil
	}
	if err != nil {
		return err
	}
	select {
	case <-ctx.Done():
		log.Info("stopping; a second signal ends at once")
	case err = <-a.failed:
	}
	stopping, cancel := context.WithTimeout(context.WithoutCancel(ctx), cfg.Server.ShutdownTimeout)
	defer cancel()
	return errors.Join(err, a.stop(stopping))
}

// startServing starts the program and says where everything is. On the first
// start it prints the API key, once the program can be used with it; a first
// start that fails leaves no secrets, so that the next one is the first.
func startServing(ctx context.Context, cfg *Config, log *slog.Logger, out io.Writer) (*app, error) {
	taken, err := takeAddresses(ctx, cfg)
	if err != nil {
		return nil, err
	}
	sec, made, err := loadSecrets(cfg)
	if err != nil {
		taken.close()
		return nil, err
	}
	a, err := startOn(ctx, taken, cfg, sec, log)
	if err != nil {
		if made {
			err = errors.Join(err, os.Remove(secretsPath(cfg)))
		}
		return nil, err
	}
	for _, warning := range exposures(cfg) {
		log.Warn("configuration", "warning", warning)
	}
	if made {
		fmt.Fprintf(out, "\nThis is the first start. The API key is\n\n  %s\n\nIt is kept in %s and not shown again.\nThe dashboard is at %s and the API below it.\n\n",
			sec.GlobalAuthToken, secretsPath(cfg), a.dashboard())
	}
	log.Info("ready", "url", a.url, "dashboard", a.dashboard(), "key", keySource(cfg), "data", absolute(cfg.Store.Path), "version", version)
	return a, nil
}

func configFlag(fs *flag.FlagSet, path *string) {
	fs.StringVar(path, "config", "", "configuration `FILE` to read (default ./config.toml when it exists)")
}

// prepare reads the configuration and makes the logger that it asks for.
func prepare(path string) (*Config, *slog.Logger, error) {
	cfg, warnings, err := loadConfig(path, os.Environ())
	if err != nil {
		return nil, nil, err
	}
	log := newLogger(cfg, os.Stderr)
	for _, w := range warnings {
		log.Warn("configuration", "warning", w)
	}
	return cfg, log, nil
}

func newLogger(cfg *Config, w io.Writer) *slog.Logger {
	var level slog.Level
	if err := level.UnmarshalText([]byte(cfg.Log.Level)); err != nil {
		level = slog.LevelInfo // validated before; cannot happen
	}
	options := &slog.HandlerOptions{Level: level}
	if cfg.Log.Format == "json" {
		return slog.New(slog.NewJSONHandler(w, options))
	}
	return slog.New(slog.NewTextHandler(w, options))
}

// runSandbox is `postern sandbox`: the local server alone, with its control
// routes on a listener of their own.
func runSandbox(ctx context.Context, args []string, out io.Writer) (err error) {
	var listenAddr, control, path string
	err = parseFlags("sandbox", args, out, func(fs *flag.FlagSet) {
		fs.StringVar(&listenAddr, "listen", "127.0.0.1:8443", "`ADDR` of the server that clients connect to")
		fs.StringVar(&control, "control", "127.0.0.1:8085", "`ADDR` of its control routes, which need no credential")
		fs.StringVar(&path, "path", "data/sandbox.db", "data `FILE`; empty keeps everything in memory")
	})
	if errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(out)
		return errors.Join(err, sandbox.WriteHelp(out))
	}
	if err != nil {
		return err
	}
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	handset.SetLogger(log)
	server, err := sandbox.Open(sandbox.Config{Listen: listenAddr, Path: path, Logger: log})
	if err != nil {
		return fmt.Errorf("%w; --listen and --path choose others", err)
	}
	defer func() { err = errors.Join(err, server.Close()) }()
	l, err := listenTCP(ctx, control)
	if err != nil {
		return fmt.Errorf("%w; choose another --control", err)
	}
	endpoint := server.Endpoint()
	ca, err := os.CreateTemp("", "postern-sandbox-ca-*.pem")
	if err != nil {
		return err
	}
	defer os.Remove(ca.Name())
	if _, err := ca.Write(endpoint.CA); err != nil {
		return errors.Join(err, ca.Close())
	}
	if err := ca.Close(); err != nil {
		return err
	}
	if !isLoopback(control) {
		fmt.Fprintf(out, "Warning: --control %s is not of this machine alone, and the control routes need no credential; use 127.0.0.1\n\n", control)
	}
	fmt.Fprintf(out, "A local WhatsApp network. Point Postern at it with\n\n  WHATSAPP_ENDPOINT=%s\n  WHATSAPP_ENDPOINT_CA=%s\n  WHATSAPP_ENDPOINT_ROOT_KEY=%x\n\nIts control routes are at http://%s/sandbox/help; stop with Ctrl-C\n",
		endpoint.URL, ca.Name(), endpoint.RootKey[:], l.Addr())
	return serveUntil(ctx, l, server.Control())
}

// issueToken is `postern token user`: it prints a user token.
func issueToken(_ context.Context, args []string, out io.Writer) error {
	args, err := afterKind(args)
	if err != nil {
		return err
	}
	var id, path string
	var ttl time.Duration
	err = parseFlags("token user", args, out, func(fs *flag.FlagSet) {
		fs.StringVar(&id, "id", "", "the user's `UUID`; empty makes a new one")
		fs.DurationVar(&ttl, "ttl", 24*time.Hour, "`TIME` that the token lives")
		configFlag(fs, &path)
	})
	if err != nil {
		return err
	}
	user := uuid.New()
	if id != "" {
		if user, err = uuid.Parse(id); err != nil || len(id) != len(user.String()) {
			return usageError{errors.New("--id must be a UUID in its form of 36 characters")}
		}
	}
	if ttl < time.Second || ttl > maxUserTTL {
		return usageError{fmt.Errorf("--ttl must be from 1s to %v", maxUserTTL)}
	}
	cfg, _, err := prepare(path)
	if err != nil {
		return err
	}
	secret, err := jwtSecret(cfg)
	if err != nil {
		return err
	}
	t, err := httpapi.MintUserToken([]byte(secret), user, ttl, time.Now())
	if err != nil {
		return err
	}
	fmt.Fprintln(out, t)
	return nil
}

// afterKind takes the kind of token off the arguments; help needs none.
func afterKind(args []string) ([]string, error) {
	switch {
	case len(args) > 0 && args[0] == "user":
		return args[1:], nil
	case len(args) == 0 || strings.HasPrefix(args[0], "-") && !isHelp(args[0]):
		return nil, usageError{errors.New("the kind of token is missing; only user is known")}
	case !isHelp(args[0]):
		return nil, usageError{fmt.Errorf("unknown kind of token %.100q; only user is known, an instance's token comes from PUT /instance/{i}/token", args[0])}
	}
	return args, nil
}

// maxUserTTL is the longest life of a user token, as the API has it.
const maxUserTTL = 365 * 24 * time.Hour

// schema is `postern schema`: the buckets of the data file with their owners.
func schema(_ context.Context, args []string, out io.Writer) error {
	if err := parseFlags("schema", args, out, func(*flag.FlagSet) {}); err != nil {
		return err
	}
	for _, b := range append(store.Buckets(), buckets()...) {
		fmt.Fprintf(out, "%-16s %-16s %s -> %s\n", b.Name, b.Owner, b.Key, b.Value)
	}
	return nil
}
