package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"postern/app"
	"postern/store"
)

// schemaCommand is `postern schema`: the buckets of the data file with their owners.
func schemaCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "schema",
		Short:   "print the buckets of the data file",
		Example: "postern schema",
		RunE: func(c *cobra.Command, _ []string) error {
			for _, b := range append(store.Buckets(), app.Buckets()...) {
				fmt.Fprintf(c.OutOrStdout(), "%-16s %-16s %s -> %s\n", b.Name, b.Owner, b.Key, b.Value)
			}
			return nil
		},
	}
}
