package cli

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"
)

// completionCommand is `postern completion`: a shell script that completes
// commands, flags and files. The script runs the program each time, so that an
// upgrade needs no new script.
func completionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "completion bash|zsh|fish|powershell",
		Short: "print a shell completion script",
		Long: "The examples load it into the running shell. For every shell to come, their line goes into ~/.bashrc or\n" +
			"$PROFILE, or the script into a file that the shell looks for: _postern in a folder of zsh's $fpath, and\n" +
			"~/.config/fish/completions/postern.fish.",
		Example: "source <(postern completion bash)\nsource <(postern completion zsh)\npostern completion fish | source\n" +
			"postern completion powershell | Out-String | Invoke-Expression",
		ValidArgs: []string{"bash", "zsh", "fish", "powershell"},
		Args: func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				return errors.New("the shell is missing: bash, zsh, fish or powershell")
			}
			return operands(1)(c, args)
		},
		RunE: func(c *cobra.Command, args []string) error {
			return printCompletion(c.Root(), args[0], c.OutOrStdout())
		},
	}
}

func printCompletion(root *cobra.Command, shell string, out io.Writer) error {
	switch shell {
	case "bash":
		if _, err := io.WriteString(out, bashWords); err != nil {
			return err
		}
		return root.GenBashCompletionV2(out, true)
	case "zsh":
		return root.GenZshCompletion(out)
	case "fish":
		return root.GenFishCompletion(out, true)
	case "powershell":
		return root.GenPowerShellCompletionWithDesc(out)
	}
	return usageError{fmt.Errorf("unknown shell %.100q; use bash, zsh, fish or powershell", shell)}
}

// bashWords replaces the one function that the script for bash needs from the
// package bash-completion, if that is not installed.
const bashWords = `declare -F _get_comp_words_by_ref >/dev/null || _get_comp_words_by_ref()
{
    cword=$COMP_CWORD words=("${COMP_WORDS[@]}")
    cur=${words[cword]} prev=${words[cword-1]}
}

`

// noFiles disables completion of files.
func noFiles(c *cobra.Command, flags ...string) {
	for _, name := range flags {
		if err := c.RegisterFlagCompletionFunc(name, cobra.NoFileCompletions); err != nil {
			panic(err) // no such flag
		}
	}
}
