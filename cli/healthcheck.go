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

// healthTimeout is how long a program may take to say that it is ready: longer than
// it gives its own store.
const healthTimeout = 10 * time.Second

// healthcheckCommand is `postern healthcheck`: whether the program on this machine
// can do its work, for containers and scripts.
func healthcheckCommand() *cobra.Command {
	var settings, base string
	c := &cobra.Command{
		Use:   "healthcheck [--config FILE] [--url URL]",
		Short: "ask the running program whether it is ready",
		Long: "Exit status 0 when GET /ready says so, else 1 with the reasons. Without --url it asks the address that the\n" +
			"configuration has it listen on.",
		Example: "postern healthcheck\npostern healthcheck --url http://127.0.0.1:8084",
		RunE: func(c *cobra.Command, _ []string) error {
			own := base == ""
			if own {
				cfg, err := prepare(settings)
				if err != nil {
					return err
				}
				base = ownURL(cfg)
			} else if u, err := url.Parse(base); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
				return usageError{errors.New("--url must be an http or https URL, such as http://127.0.0.1:8084")}
			}
			return checkHealth(c.Context(), strings.TrimSuffix(base, "/"), own, c.OutOrStdout())
		},
	}
	configFlag(c, &settings)
	c.Flags().StringVar(&base, "url", "", "`URL` of the program")
	noFiles(c, "url")
	return c
}

// ownURL is where a program with that configuration is reached from its machine.
func ownURL(cfg *config.Config) string {
	scheme := "http://"
	if cfg.Server.TLSCert != "" {
		scheme = "https://"
	}
	host, port, err := net.SplitHostPort(cfg.ListenAddress())
	if err != nil {
		return scheme + cfg.ListenAddress() // validated before; cannot happen
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "localhost"
	}
	return scheme + net.JoinHostPort(host, port)
}

// checkHealth asks the program at base. own tells that it is the one of this machine,
// whose certificate is for another name than this machine has for itself.
func checkHealth(ctx context.Context, base string, own bool, out io.Writer) error {
	ctx, cancel := context.WithTimeoutCause(ctx, healthTimeout, fmt.Errorf("no answer within %v", healthTimeout))
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, base+"/ready", nil)
	if err != nil {
		return err
	}
	// Never by way of a proxy: it is this machine that is asked.
	transport := &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: own}} //nolint:gosec // it gets no secret
	resp, err := (&http.Client{Transport: transport}).Do(req)
	if err != nil {
		return fmt.Errorf("%w; is the program running, and with this configuration?", err)
	}
	defer func() { _ = resp.Body.Close() }()
	var is struct {
		Status            string
		Reasons, Warnings []string
	}
	if err := json.NewDecoder(io.LimitReader(resp.Body, 1<<20)).Decode(&is); err != nil || is.Status == "" {
		return fmt.Errorf("%s answered %s, and not as Postern does", base, resp.Status)
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
