package cli

import (
	"github.com/spf13/cobra"

	"postern/app"
)

// commands returns all commands in the order of the help. Use is the name with
// its operands, Short one line, Long the details, which may be
// empty, and Example command lines that can be pasted. A command without Args
// takes flags only.
func commands() []*cobra.Command {
	all := []*cobra.Command{
		serveCommand(), demoCommand(), sandboxCommand(), tokenCommand(), configCommand(), listenCommand(), mcpCommand(),
		healthcheckCommand(), doctorCommand(), supportCommand(), statusCommand(), backupCommand(), restoreCommand(), checkCommand(), statsCommand(), compactCommand(), batchCommand(), instanceCommand(), importCommand(), migrateCommand(), schemaCommand(), completionCommand(), manCommand(), versionCommand(),
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

// tree returns the root command with all commands.
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

// topCommand returns c, or the command of which c is a subcommand.
func topCommand(c *cobra.Command) *cobra.Command {
	for c.HasParent() && c.Parent().HasParent() {
		c = c.Parent()
	}
	return c
}
