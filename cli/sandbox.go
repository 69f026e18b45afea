package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"

	"github.com/spf13/cobra"

	"postern/config"
	"postern/sandbox"
	"postern/sandbox/handset"
)

// sandboxCommand is `postern sandbox`: the local server alone, with its control
// routes on a listener of their own. Its help also describes the routes.
func sandboxCommand() *cobra.Command {
	var listenAddr, control, path string
	c := &cobra.Command{
		Use:     "sandbox [--listen ADDR] [--control ADDR] [--path FILE]",
		Short:   "run only the local WhatsApp server",
		Long:    "It prints the three variables that make another Postern connect to it.",
		Example: "postern sandbox\npostern sandbox --listen 127.0.0.1:9443 --path ''",
		RunE: func(c *cobra.Command, _ []string) error {
			return runSandbox(c.Context(), listenAddr, control, path, c.OutOrStdout())
		},
	}
	c.Flags().StringVar(&listenAddr, "listen", "127.0.0.1:8443", "`ADDR` of the server that clients connect to")
	c.Flags().StringVar(&control, "control", "127.0.0.1:8085", "`ADDR` of its control routes, which need no credential")
	c.Flags().StringVar(&path, "path", "data/sandbox.db", "data `FILE`, with a folder for media beside it; empty keeps everything in memory")
	noFiles(c, "listen", "control")
	c.SetHelpFunc(func(c *cobra.Command, _ []string) {
		help(c.OutOrStdout(), c)
		fmt.Fprintln(c.OutOrStdout())
		_ = sandbox.WriteHelp(c.OutOrStdout())
	})
	return c
}

func runSandbox(ctx context.Context, listenAddr, control, path string, out io.Writer) (err error) {
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	handset.SetLogger(log)
	server, err := sandbox.Open(sandbox.Config{Listen: listenAddr, Path: path, Logger: log, Latency: sandbox.UsualLatency})
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
	if !config.IsLoopback(control) {
		fmt.Fprintf(out, "Warning: --control %s is reachable from other machines, and the control routes need no credential; use 127.0.0.1\n\n", control)
	}
	fmt.Fprintf(out, "A local WhatsApp network. Point Postern at it with\n\n  WHATSAPP_ENDPOINT=%s\n  WHATSAPP_ENDPOINT_CA=%s\n  WHATSAPP_ENDPOINT_ROOT_KEY=%x\n\nIts control routes are at http://%s/sandbox/help; stop with Ctrl-C\n",
		endpoint.URL, ca.Name(), endpoint.RootKey[:], l.Addr())
	return serveUntil(ctx, l, server.Control())
}
