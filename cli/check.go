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

// checkCommand is `postern check`: it looks for damage in a data file.
func checkCommand() *cobra.Command {
	var settings string
	var repair, sure bool
	c := &cobra.Command{
		Use:   "check [--repair [--yes]] [--config FILE] [FILE]",
		Short: "look for damage in a data file, and repair it",
		Long: "It reads the pages and the checksum of every record, holds them against what was written and the records against\n" +
			"each other, an index against what it leads to, and prints each fault with what it costs; exit status 1 when there\n" +
			"is one. Nothing is changed. Without FILE it is the data file of the configuration; when a program runs on that, it\n" +
			"is asked to look at a copy of this moment.\n\n" +
			"--repair writes a damaged file anew beside itself: with all records that can be read, without those that stand for\n" +
			"something that is lost, and with indexes and counts made of what there is. It prints what was lost, and puts the new\n" +
			"file in the place of the old one, which is kept beside it, in one step. No program may run on it; it needs as much\n" +
			"room as the file. A backup may have more of what is lost.",
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
	c.Flags().BoolVar(&repair, "repair", false, "write a damaged file anew, without what is lost")
	c.Flags().BoolVar(&sure, "yes", false, "do not ask")
	return c
}

// repairFile is check --repair. What has no fault is left alone.
func repairFile(c *cobra.Command, settings string, args []string, sure bool) error {
	ctx, out := c.Context(), c.OutOrStdout()
	path, err := dataFile(ctx, settings, args)
	if err != nil {
		return err
	}
	report, err := store.Check(ctx, path, everyBucket())
	switch {
	case errors.Is(err, store.ErrLocked):
		return fmt.Errorf("%w: a program runs on it, which has to be stopped first", err)
	case err != nil:
		return err
	case len(report.Faults) == 0:
		fmt.Fprintf(out, "%s: %s, nothing to repair\n", path, plural.Of(report.Records, "record"))
		return nil
	}
	if !sure {
		question := fmt.Sprintf("%s has %s and is moved aside for a file without faults. Go on?", path, plural.Of(len(report.Faults), "fault"))
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
	fmt.Fprintf(out, "%s: %s, after %d that could not be read were left out, %d removed and %d made; what was there is %s now\n",
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
		return fmt.Errorf("%s has %s; docs/crash.md tells what to do with a damaged data file", path, plural.Of(n, "fault"))
	}
	fmt.Fprintf(out, "%s: %s in %s, no fault\n", path, plural.Of(report.Records, "record"), plural.Of(report.Buckets, "bucket"))
	return nil
}

// checkRunning has the program that runs on the data file look at it.
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
		return r, fmt.Errorf("%s answered, and not as Postern does: %w", p.base, err)
	}
	return r, nil
}
