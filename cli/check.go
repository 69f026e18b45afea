package cli

import (
	"fmt"
	"io"

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
		Long: "It reads the pages and the checksum of every record, holds them against what was written, and prints each\n" +
			"fault with what it costs; exit status 1 when there is one. Nothing is changed. Without FILE it is the data\n" +
			"file of the configuration. No program may run on it: check a copy, or stop it first.",
		Example: "postern check\npostern check backup/postern.db",
		Args:    operands(1),
		RunE: func(c *cobra.Command, args []string) error {
			path, err := dataFile(settings, args)
			if err != nil {
				return err
			}
			return checkFile(path, c.OutOrStdout())
		},
	}
	configFlag(c, &settings)
	return c
}

func checkFile(path string, out io.Writer) error {
	report, err := store.Check(path, everyBucket())
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
