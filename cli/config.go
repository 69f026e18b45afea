package cli

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"postern/app"
	"postern/config"
)

// configCommand is `postern config`, which prints the effective
// configuration, and `postern config check`, which validates a file.
// Neither changes anything on the disk.
func configCommand() *cobra.Command {
	var path string
	c := &cobra.Command{
		Use:   "config [--config FILE] | check FILE",
		Short: "print the configuration and the source of each value, or check a file",
		Long: "Secrets are not shown. Nothing is created or changed. check reads the file and the files that it names, without\n" +
			"the environment, and prints all faults: exit status 0 when it is valid, 2 when it is not. Run it as the user and in\n" +
			"the working directory of the program.",
		Example: "postern config\npostern config --config /etc/postern.toml\npostern config check /etc/postern.toml",
		RunE:    func(c *cobra.Command, _ []string) error { return showConfig(c.Context(), path, c.OutOrStdout()) },
	}
	configFlag(c, &path)
	c.AddCommand(&cobra.Command{
		Use:   "check FILE",
		Short: "check a configuration file",
		Args: func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				return errors.New("check needs one file")
			}
			return operands(1)(c, args)
		},
		RunE: func(c *cobra.Command, args []string) error { return checkConfig(c.Context(), args[0], c.OutOrStdout()) },
	})
	return c
}

// showConfig prints the configuration, each value with its source.
func showConfig(ctx context.Context, path string, out io.Writer) error {
	cfg, err := load(ctx, path)
	if err != nil {
		return err
	}
	text, warnings := config.Show(cfg)
	for _, f := range app.FileFaults(cfg) {
		warnings = append(warnings, f.Error())
	}
	for _, w := range warnings {
		fmt.Fprintln(out, "# warning:", config.OneLine(w))
	}
	_, err = io.WriteString(out, text)
	return err
}

// checkConfig validates one file without the environment.
func checkConfig(ctx context.Context, path string, out io.Writer) error {
	cfg, err := loadFrom(ctx, path, nil)
	if err == nil {
		err = errors.Join(app.FileFaults(cfg)...)
	}
	if err != nil {
		return faultyInput{err}
	}
	fmt.Fprintln(out, path+": ok")
	return nil
}
