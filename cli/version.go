package cli

import (
	_ "embed"
	"fmt"

	"github.com/spf13/cobra"

	"postern/app"
)

// licences are the texts that must accompany copies of the program: of every linked
// module, and of Go itself. `make docs` writes them
// from the modules' own files.
//
//go:embed licences.txt
var licences string

// versionCommand is `postern version`.
func versionCommand() *cobra.Command {
	var texts bool
	c := &cobra.Command{
		Use:   "version [--licences]",
		Short: "print the version, its commit and their date",
		Long: "Postern is free software under the GPL, version 3 or later. --licences prints the licences of all linked\n" +
			"modules, which must accompany copies of the program.",
		Example: "postern version\npostern version --licences",
		RunE: func(c *cobra.Command, _ []string) error {
			fmt.Fprintln(c.OutOrStdout(), "postern", app.Build())
			if texts {
				fmt.Fprint(c.OutOrStdout(), "\n", licences)
			}
			return nil
		},
	}
	c.Flags().BoolVar(&texts, "licences", false, "print the licences of all linked modules")
	return c
}
