package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"postern/store"
)

// compactCommand is `postern compact`: it rewrites a data file without its free pages.
func compactCommand() *cobra.Command {
	var settings string
	c := &cobra.Command{
		Use:   "compact [--config FILE] [FILE]",
		Short: "return a data file's free space to the system",
		Long: "Copies the data file, compares the copy with it, and atomically replaces the file. An interruption at any moment leaves\n" +
			"the file unchanged. Postern reuses free space by itself: compact only when postern_store_file_free_bytes of\n" +
			"GET /metrics, or `postern stats`, reports a large part of the file as free. A file with faults is not changed.\n" +
			"Without FILE it compacts the configured data file. Stop the program first.",
		Example: "postern compact\npostern compact backup/postern.db",
		Args:    operands(1),
		RunE: func(c *cobra.Command, args []string) error {
			path, err := dataFile(c.Context(), settings, args)
			if err != nil {
				return err
			}
			if err := notCopy(c.Context(), settings, args, "compact"); err != nil {
				return err
			}
			before, after, err := store.Compact(c.Context(), path, everyBucket())
			if err != nil {
				return err
			}
			fmt.Fprintf(c.OutOrStdout(), "%s: %s before, %s now\n", path, inUnits(before), inUnits(after))
			return nil
		},
	}
	configFlag(c, &settings)
	return c
}
