package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"postern/app"
	"postern/mcp"
)

// keyVariable may hold the key of an agent, which keeps it out of the process list.
const keyVariable = "POSTERN_KEY"

// maxKeyFile is the maximum size of a key file, in bytes.
const maxKeyFile = 4096

// mcpCommand is `postern mcp`: an agent program starts it and uses a running
// Postern through it.
func mcpCommand() *cobra.Command {
	var settings, base, key, file string
	c := &cobra.Command{
		Use:   "mcp [--key KEY | --key-file FILE] [--url URL] [--config FILE]",
		Short: "serve the Model Context Protocol for an agent program",
		Long: "Speaks the protocol over standard input and output, for agents that start their servers, and calls the HTTP API of\n" +
			"the running program with a scoped key, which POST /keys creates. Give the key in the environment as\n" +
			"" + keyVariable + ", or in a file: every user of the machine can see command lines. Without --url it calls the\n" +
			"configured listen address. mcp.enabled is not required.",
		Example: keyVariable + "=pk_... postern mcp\npostern mcp --key-file /run/secrets/agent.key --url https://postern.example.org",
		RunE: func(c *cobra.Command, _ []string) error {
			key, err := agentKey(c.Context(), key, file)
			if err != nil {
				return usageError{err}
			}
			prefix, way, err := agentWay(c.Context(), settings, base)
			if err != nil {
				return err
			}
			return serveAgent(c.Context(), prefix, way, key, c.OutOrStdout())
		},
	}
	configFlag(c, &settings)
	f := c.Flags()
	f.StringVar(&key, "key", "", "scoped `KEY`, pk_...; visible in the process list")
	f.StringVar(&file, "key-file", "", "`FILE` that contains the key")
	f.StringVar(&base, "url", "", "`URL` of the program, as for healthcheck")
	noFiles(c, "key", "url")
	return c
}

// agentKey reads the key from its source.
func agentKey(ctx context.Context, key, file string) (string, error) {
	switch {
	case key != "" && file != "":
		return "", errors.New("--key and --key-file exclude each other")
	case file != "":
		text, err := readSmall(ctx, file, maxKeyFile)
		if err != nil {
			return "", fmt.Errorf("--key-file: %w", err)
		}
		key = strings.TrimSpace(string(text))
	case key == "":
		key = strings.TrimSpace(os.Getenv(keyVariable))
	}
	if key == "" {
		return "", errors.New("the key is missing: give it as " + keyVariable + " in the environment, or by --key-file")
	}
	return key, nil
}

// agentWay returns how to call the program at base, or the configured one.
func agentWay(ctx context.Context, settings, base string) (prefix string, way *http.Transport, err error) {
	if base != "" {
		if err := checkBase(base); err != nil {
			return "", nil, usageError{fmt.Errorf("--url %w", err)}
		}
		prefix, way = reach(base, false)
		return prefix, way, nil
	}
	cfg, err := load(ctx, settings)
	if err != nil {
		return "", nil, err
	}
	prefix, way = reach(ownURL(cfg), false)
	return prefix, way, knowOwn(way, cfg)
}

// serveAgent serves the program that started this one, until it ends.
func serveAgent(ctx context.Context, prefix string, way http.RoundTripper, key string, out io.Writer) error {
	s := mcp.New(mcp.Config{
		API: way, Base: prefix, Version: app.Version(),
		Audit: func(ctx context.Context, c mcp.Call) {
			if err := noteCall(ctx, prefix, way, key, c); err != nil {
				fmt.Fprintf(os.Stderr, "the audit log of Postern has no record of a call of %s: %v\n", c.Tool, err)
			}
		},
	})
	err := s.ServeStream(ctx, key, os.Stdin, keptOpen{out})
	if errors.Is(err, mcp.ErrNoKey) {
		return usageError{err}
	}
	return err
}

// noteCall reports a call of an agent to the program's audit log.
func noteCall(ctx context.Context, prefix string, way http.RoundTripper, key string, c mcp.Call) error {
	ctx, cancel := context.WithTimeout(ctx, noteTimeout)
	defer cancel()
	body, err := json.Marshal(map[string]any{"tool": c.Tool, "outcome": c.Outcome, "instance": c.Instance})
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, prefix+"/session/calls", bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+key)
	req.Header.Set("Content-Type", "application/json")
	res, err := way.RoundTrip(req)
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode != http.StatusNoContent {
		return errors.New(res.Status)
	}
	return nil
}

// noteTimeout limits an audit record.
const noteTimeout = 10 * time.Second

// keptOpen is a writer whose Close does nothing.
type keptOpen struct{ io.Writer }

// Close implements io.Closer.
func (keptOpen) Close() error { return nil }
