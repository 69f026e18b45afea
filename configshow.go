package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
)

// showConfig is `postern config`: it prints the configuration as the program
// would use it, each value with where it came from, and `postern config check
// FILE`, which only says whether a file is right.
func showConfig(_ context.Context, args []string, out io.Writer) error {
	if len(args) > 0 && args[0] == "check" {
		return checkConfig(args[1:], out)
	}
	var path string
	if err := parseFlags("config", args, out, func(fs *flag.FlagSet) { configFlag(fs, &path) }); err != nil {
		return err
	}
	_, table, warnings, err := loadSettings(path, os.Environ())
	if err != nil {
		return err
	}
	for _, w := range warnings {
		fmt.Fprintln(out, "# warning:", w)
	}
	_, err = io.WriteString(out, effectiveConfig(table))
	return err
}

// checkConfig reads one file alone, without the environment, and changes
// nothing on the disk.
func checkConfig(args []string, out io.Writer) error {
	if len(args) != 1 || strings.HasPrefix(args[0], "-") {
		return usageError{errors.New("check needs one file")}
	}
	if _, _, err := loadConfig(args[0], nil); err != nil {
		return err
	}
	fmt.Fprintln(out, args[0]+": ok")
	return nil
}

// effectiveConfig is the table as TOML. Secrets are not shown.
func effectiveConfig(table []setting) string {
	var b strings.Builder
	section := ""
	for _, s := range table {
		dot := strings.LastIndexByte(s.path, '.')
		if s.path[:dot] != section {
			if section != "" {
				b.WriteString("\n")
			}
			section = s.path[:dot]
			fmt.Fprintf(&b, "[%s]\n", section)
		}
		shown, source := s.value.toml(), s.source
		if s.secret {
			shown = `"********"`
			if source == "" {
				source = "generated on the first start, kept beside the data file"
			}
		}
		if source == "" {
			source = "default"
		}
		fmt.Fprintf(&b, "%s = %s # %s\n", s.path[dot+1:], shown, source)
	}
	return b.String()
}
