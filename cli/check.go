package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/spf13/cobra"

	"postern/config"
	"postern/store"
)

// checkCommand is `postern check`: it looks for damage in a data file.
func checkCommand() *cobra.Command {
	var settings string
	c := &cobra.Command{
		Use:   "check [--config FILE] [FILE]",
		Short: "look for damage in a data file",
		Long: "It reads the pages and the checksum of every record, holds them against what was written and the records against\n" +
			"each other, an index against what it leads to, and prints each fault with what it costs; exit status 1 when there\n" +
			"is one. Nothing is changed. Without FILE it is the data file of the configuration; when a program runs on that, it\n" +
			"is asked to look at a copy of this moment.",
		Example: "postern check\npostern check backup/postern.db",
		Args:    operands(1),
		RunE: func(c *cobra.Command, args []string) error {
			return checkFile(c.Context(), settings, args, c.OutOrStdout())
		},
	}
	configFlag(c, &settings)
	return c
}

func checkFile(ctx context.Context, settings string, args []string, out io.Writer) error {
	path, err := dataFile(settings, args)
	if err != nil {
		return err
	}
	report, err := store.Check(ctx, path, everyBucket())
	if errors.Is(err, store.ErrLocked) && len(args) == 0 {
		report, err = checkRunning(ctx, settings)
	}
	if err != nil {
		return err
	}
	for _, fault := range report.Faults {
		fmt.Fprintln(out, config.OneLine(fault))
	}
	if n := len(report.Faults); n > 0 {
		return fmt.Errorf("%s has %d faults; docs/crash.md tells what to do with a damaged data file", path, n)
	}
	fmt.Fprintf(out, "%s: %d records in %d buckets, no fault\n", path, report.Records, report.Buckets)
	return nil
}

// checkRunning has the program that runs on the data file look at it.
func checkRunning(ctx context.Context, settings string) (r store.Report, err error) {
	cfg, err := prepare(settings)
	if err != nil {
		return r, err
	}
	p, err := running(cfg)
	if err != nil {
		return r, err
	}
	resp, err := p.ask(ctx, http.MethodPost, "/admin/check", nil)
	if err != nil {
		return r, err
	}
	defer func() { _ = resp.Body.Close() }()
	if err := json.NewDecoder(resp.Body).Decode(&r); err != nil {
		return r, fmt.Errorf("%s answered, and not as Postern does: %w", p.base, err)
	}
	return r, nil
}
