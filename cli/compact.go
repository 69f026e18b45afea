package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"postern/store"
)

// compactCommand is `postern compact`: it writes a data file anew without its holes.
func compactCommand() *cobra.Command {
	var settings string
	c := &cobra.Command{
		Use:   "compact [--config FILE] [FILE]",
		Short: "give back the free space of a data file",
		Long: "It writes the data file anew beside it, holds the copy against it, and puts the copy in its place in one step: an\n" +
			"interruption at any moment leaves the file as it was. It pays when postern_store_file_free_bytes of GET /metrics, or\n" +
			"what `postern stats` calls free, is a good part of the file; Postern uses free space again by itself. A file with any\n" +
			"fault is left alone. Without FILE it is the data file of the configuration. No program may run on it.",
		Example: "postern compact\npostern compact backup/postern.db",
		Args:    operands(1),
		RunE: func(c *cobra.Command, args []string) error {
			path, err := dataFile(c.Context(), settings, args)
			if err != nil {
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
