package cli

import (
	"github.com/spf13/cobra"

	"postern/app"
)

// commands are all of them, in the order of the help. Of each, Use is its name with
// what may follow it, Short one line, Long what that leaves out, which may be
// nothing, and Example command lines that are ready to be copied. One without Args
// takes flags only.
func commands() []*cobra.Command {
	all := []*cobra.Command{
		serveCommand(), demoCommand(), sandboxCommand(), tokenCommand(), configCommand(), listenCommand(), mcpCommand(),
		healthcheckCommand(), doctorCommand(), supportCommand(), backupCommand(), restoreCommand(), checkCommand(), statsCommand(), compactCommand(), instanceCommand(), importCommand(), schemaCommand(), completionCommand(), manCommand(), versionCommand(),
	}
	for _, top := range all {
		for _, c := range append(top.Commands(), top) {
			if c.Args == nil {
				c.Args, c.ValidArgsFunction = operands(0), cobra.NoFileCompletions
			}
		}
	}
	return all
}

// tree has the commands below the program.
func tree() *cobra.Command {
	root := &cobra.Command{
		Use:               "postern",
		Short:             "Postern turns WhatsApp accounts into an HTTP API.",
		Version:           app.Version(),
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
		SilenceErrors:     true,
		SilenceUsage:      true,
	}
	root.SetHelpFunc(func(c *cobra.Command, _ []string) { help(c.OutOrStdout(), c) })
	root.AddCommand(commands()...)
	return root
}

// topCommand is c, or the command that c is a kind of.
func topCommand(c *cobra.Command) *cobra.Command {
	for c.HasParent() && c.Parent().HasParent() {
		c = c.Parent()
	}
	return c
}
