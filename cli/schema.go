package cli

import (
	"fmt"
	"io"
	"strings"

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
			_, err := io.WriteString(c.OutOrStdout(), schemaText())
			return err
		},
	}
}

// schemaText returns a line for each bucket.
func schemaText() string {
	var text strings.Builder
	for _, bucket := range append(store.Buckets(), app.Buckets()...) {
		fmt.Fprintf(&text, "%-16s %-16s %s -> %s\n", bucket.Name, bucket.Owner, bucket.Key, bucket.Value)
	}
	return text.String()
}
