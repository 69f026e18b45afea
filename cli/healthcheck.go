package cli

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"postern/config"
	"postern/event"
)

// healthTimeout limits the answer of a program about its readiness: longer than
// its own limit for the store.
const healthTimeout = 10 * time.Second

// healthcheckCommand is `postern healthcheck`: it checks whether the program on this machine
// is ready, for containers and scripts.
func healthcheckCommand() *cobra.Command {
	var settings, base string
	c := &cobra.Command{
		Use:   "healthcheck [--config FILE] [--url URL]",
		Short: "ask the running program whether it is ready",
		Long: "Exit status 0 when GET /ready reports ready, otherwise 1 with the reasons. Without --url it asks the configured listen\n" +
			"address, or the Unix socket when there is none. The URL of a socket is unix: and its path.",
		Example: "postern healthcheck\npostern healthcheck --url http://127.0.0.1:8084\npostern healthcheck --url unix:/run/postern/postern.sock",
		RunE: func(c *cobra.Command, _ []string) error {
			own := base == ""
			if own {
				cfg, err := prepare(c.Context(), settings)
				if err != nil {
					return err
				}
				base = ownURL(cfg)
			} else if err := checkBase(base); err != nil {
				return usageError{fmt.Errorf("--url %w", err)}
			}
			return checkHealth(c.Context(), base, own, c.OutOrStdout())
		},
	}
	configFlag(c, &settings)
	c.Flags().StringVar(&base, "url", "", "`URL` of the program")
	noFiles(c, "url")
	return c
}

// checkBase validates the address of a program: see reach.
func checkBase(base string) error {
	u, err := url.Parse(base)
	if err == nil && (u.Scheme == "unix" && u.Opaque+u.Path != "" && u.Host == "" || (u.Scheme == "http" || u.Scheme == "https") && u.Host != "") {
		return nil
	}
	return errors.New("must be an http or https URL, such as http://127.0.0.1:8084, or unix:/path/of/a/socket")
}

// reach returns how to call the program at base: the URL before its paths, and the transport,
// which never uses a proxy. A base of unix: and a path is a socket. own is set
// for the program of this machine, whose certificate names another host.
func reach(base string, own bool) (prefix string, way *http.Transport) {
	way = &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: own}} //nolint:gosec // it is this machine
	path, socket := strings.CutPrefix(base, "unix:")
	if !socket {
		return strings.TrimSuffix(base, "/"), way
	}
	way.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", path)
	}
	return "http://postern", way
}

// ownURL returns the address of a program with that configuration on its own machine, see
// reach.
func ownURL(cfg *config.Config) string {
	if cfg.ListenAddress() == "" {
		return "unix:" + cfg.Server.Socket
	}
	scheme := "http://"
	if cfg.Secure() {
		scheme = "https://"
	}
	host, port, err := net.SplitHostPort(cfg.ListenAddress())
	if err != nil {
		return scheme + cfg.ListenAddress() + cfg.Server.BasePath // validated before; cannot happen
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "localhost"
	}
	return scheme + net.JoinHostPort(host, port) + cfg.Server.BasePath
}

// checkHealth checks the program at base, see reach.
func checkHealth(ctx context.Context, base string, own bool, out io.Writer) error {
	ctx, cancel := context.WithTimeoutCause(ctx, healthTimeout, fmt.Errorf("no answer within %v", healthTimeout))
	defer cancel()
	prefix, way := reach(base, own)
	base = strings.TrimSuffix(base, "/")
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, prefix+"/ready", nil)
	if err != nil {
		return err
	}
	resp, err := (&http.Client{Transport: way}).Do(req)
	if err != nil {
		return fmt.Errorf("%w; is the program running, and with this configuration?", err)
	}
	defer func() { _ = resp.Body.Close() }()
	var is struct {
		Status            string
		Reasons, Warnings []string
	}
	if err := json.NewDecoder(io.LimitReader(resp.Body, 1<<20)).Decode(&is); err != nil || is.Status == "" {
		return fmt.Errorf("%s answered %s, which is not an answer of Postern", base, resp.Status)
	}
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s is %s: %s", base, event.Cut(is.Status), config.OneLine(strings.Join(is.Reasons, "; ")))
	}
	fmt.Fprintf(out, "%s is %s\n", base, event.Cut(is.Status))
	for _, warning := range is.Warnings {
		fmt.Fprintln(out, "warning:", config.OneLine(warning))
	}
	return nil
}
