package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"postern/cli/doctor"
	"postern/config"
	"postern/internal/plural"
)

// doctorCommand is `postern doctor`: it diagnoses the program's environment.
func doctorCommand() *cobra.Command {
	var settings string
	var asJSON bool
	c := &cobra.Command{
		Use:   "doctor [--json] [--config FILE]",
		Short: "diagnose problems of the program and its environment",
		Long: "Checks the configuration, secrets, disk, clock, access to WhatsApp, S3 and webhooks, ffmpeg, system limits, data file\n" +
			"and last backup, whether the program runs or not. Prints a line for each: ok, warning or fault, and what to do. Nothing is\n" +
			"changed, and nothing is sent to a webhook. Exit status 1 when there is a fault. Run it as the user and with the\n" +
			"configuration of the program.",
		Example: "postern doctor\npostern doctor --config /etc/postern/config.toml\npostern doctor --json | jq '.[] | select(.level != \"ok\")'",
		RunE: func(c *cobra.Command, _ []string) error {
			found, err := examine(c.Context(), settings)
			if err != nil {
				return err
			}
			if err := tellFindings(c.OutOrStdout(), found, asJSON); err != nil {
				return err
			}
			return faults(found)
		},
	}
	configFlag(c, &settings)
	c.Flags().BoolVar(&asJSON, "json", false, "print one line of JSON")
	return c
}

// examine runs all checks. The error is that of an interruption.
func examine(ctx context.Context, settings string) ([]doctor.Finding, error) {
	cfg, err := load(ctx, settings)
	if err != nil {
		return doctor.Unconfigured(err), nil
	}
	found, err := doctor.Run(ctx, doctor.Patient{Config: cfg, Warnings: config.Warnings(cfg), Buckets: everyBucket(), Ask: askRunning(cfg)})
	if err != nil {
		return nil, fmt.Errorf("interrupted: %w", err)
	}
	return found, nil
}

// askRunning is doctor.Patient.Ask.
func askRunning(cfg *config.Config) func(ctx context.Context, method, path string, out any) error {
	return func(ctx context.Context, method, path string, out any) error {
		p, err := running(cfg, "")
		if err != nil {
			return err
		}
		resp, err := p.ask(ctx, method, path, nil)
		if err != nil {
			return err
		}
		defer func() { _ = resp.Body.Close() }()
		if raw, plain := out.(*[]byte); plain {
			*raw, err = io.ReadAll(resp.Body)
			return err
		}
		if err := json.NewDecoder(resp.Body).Decode(out); err != nil {
			return fmt.Errorf("%s did not answer like Postern: %w", p.base, err)
		}
		return nil
	}
}

func tellFindings(out io.Writer, found []doctor.Finding, asJSON bool) error {
	if asJSON {
		return json.NewEncoder(out).Encode(found)
	}
	for _, f := range found {
		line := f.Message
		if f.Advice != "" {
			line += "; " + f.Advice
		}
		if _, err := fmt.Fprintf(out, "%-8s %-18s %s\n", f.Level, f.Check, line); err != nil {
			return err
		}
	}
	return nil
}

// faults returns an error if there are faults.
func faults(found []doctor.Finding) error {
	n := 0
	for _, f := range found {
		if f.Level == doctor.Fault {
			n++
		}
	}
	if n == 0 {
		return nil
	}
	return fmt.Errorf("there %s %s; %s what to do", plural.Noun(n, "is", "are"), plural.Of(n, "fault"), plural.Noun(n, "its line says", "their lines say"))
}
