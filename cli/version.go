package cli

import (
	_ "embed"
	"fmt"

	"github.com/spf13/cobra"

	"postern/app"
)

// licences are the texts that whoever passes the program on has to pass on with
// it: of every module that is linked, and of Go itself. `make docs` writes them
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
		Long: "Postern is free software under the GPL, version 3 or later. --licences prints the texts of everything that\n" +
			"is linked into it; whoever passes the program on passes them on too.",
		Example: "postern version\npostern version --licences",
		RunE: func(c *cobra.Command, _ []string) error {
			fmt.Fprintln(c.OutOrStdout(), "postern", app.Build())
			if texts {
				fmt.Fprint(c.OutOrStdout(), "\n", licences)
			}
			return nil
		},
	}
	c.Flags().BoolVar(&texts, "licences", false, "print the licences of what the program is made of")
	return c
}
