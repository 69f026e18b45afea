package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/spf13/cobra"

	"postern/config"
	"postern/internal/plural"
	"postern/store"
)

// checkCommand is `postern check`: it verifies a data file.
func checkCommand() *cobra.Command {
	var settings string
	var repair, sure bool
	c := &cobra.Command{
		Use:   "check [--repair [--yes]] [--config FILE] [FILE]",
		Short: "verify a data file, and repair it",
		Long: "Verifies pages, record checksums, references between records, and indexes. Prints each fault with its consequence; exit\n" +
			"status 1 when there is one. Nothing is changed. Without FILE it checks the configured data file; a program that runs on\n" +
			"that file checks a snapshot instead.\n\n" +
			"--repair copies all readable records of a damaged file into a new file, drops records that refer to lost ones, and\n" +
			"rebuilds indexes and counts. It prints what was lost and atomically replaces the file; the old one is kept beside it.\n" +
			"Stop the program first. Repair needs as much free space as the file has. A backup may still have the lost records.",
		Example: "postern check\npostern check backup/postern.db\npostern check --repair",
		Args:    operands(1),
		RunE: func(c *cobra.Command, args []string) error {
			if sure && !repair {
				return usageError{errors.New("--yes answers what --repair asks")}
			}
			if repair {
				return repairFile(c, settings, args, sure)
			}
			return checkFile(c.Context(), settings, args, c.OutOrStdout())
		},
	}
	configFlag(c, &settings)
	c.Flags().BoolVar(&repair, "repair", false, "replace a damaged file by a copy of its readable records")
	c.Flags().BoolVar(&sure, "yes", false, "do not ask")
	return c
}

// repairFile is check --repair. A file without faults is not changed.
func repairFile(c *cobra.Command, settings string, args []string, sure bool) error {
	ctx, out := c.Context(), c.OutOrStdout()
	path, err := dataFile(ctx, settings, args)
	if err != nil {
		return err
	}
	if err := notCopy(ctx, settings, args, "check --repair"); err != nil {
		return err
	}
	report, err := store.Check(ctx, path, everyBucket())
	switch {
	case errors.Is(err, store.ErrLocked):
		return fmt.Errorf("%w: a program is running on it: stop it first", err)
	case err != nil:
		return err
	case len(report.Faults) == 0:
		fmt.Fprintf(out, "%s: %s, nothing to repair\n", path, plural.Of(report.Records, "record"))
		return nil
	}
	if !sure {
		question := fmt.Sprintf("%s has %s and will be moved aside and replaced by a repaired file. Continue?", path, plural.Of(len(report.Faults), "fault"))
		if err := confirmed(ctx, c.InOrStdin(), c.ErrOrStderr(), question); err != nil {
			return err
		}
	}
	done, err := store.Repair(ctx, path, everyBucket(), replacedSuffix+stampOf(time.Now()))
	if err != nil {
		return err
	}
	for _, line := range done.Told {
		fmt.Fprintln(out, config.OneLine(line))
	}
	fmt.Fprintf(out, "%s: %s, after %d unreadable were left out, %d removed and %d created; the old file is now %s\n",
		path, plural.Of(done.Records, "record"), done.Damaged, done.Removed, done.Made, done.Kept)
	return nil
}

func checkFile(ctx context.Context, settings string, args []string, out io.Writer) error {
	path, err := dataFile(ctx, settings, args)
	if err != nil {
		return err
	}
	report, err := store.Check(ctx, path, everyBucket())
	if errors.Is(err, store.ErrLocked) && isOwn(ctx, settings, args) {
		report, err = checkRunning(ctx, settings)
	}
	if err != nil {
		return err
	}
	for _, fault := range report.Faults {
		fmt.Fprintln(out, config.OneLine(fault))
	}
	if n := len(report.Faults); n > 0 {
		return fmt.Errorf("%s has %s; see docs/crash.md for damaged data files", path, plural.Of(n, "fault"))
	}
	fmt.Fprintf(out, "%s: %s in %s, no fault\n", path, plural.Of(report.Records, "record"), plural.Of(report.Buckets, "bucket"))
	return nil
}

// checkRunning asks the program that runs on the data file to check it.
func checkRunning(ctx context.Context, settings string) (r store.Report, err error) {
	cfg, err := prepare(ctx, settings)
	if err != nil {
		return r, err
	}
	p, err := running(cfg, "")
	if err != nil {
		return r, err
	}
	resp, err := p.ask(ctx, http.MethodPost, "/admin/check", nil)
	if err != nil {
		return r, err
	}
	defer func() { _ = resp.Body.Close() }()
	if err := json.NewDecoder(resp.Body).Decode(&r); err != nil {
		return r, fmt.Errorf("%s did not answer like Postern: %w", p.base, err)
	}
	return r, nil
}
