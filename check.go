package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"slices"

	"postern/sandbox"
	"postern/store"
)

// checkFile is `postern check`: it looks for damage in a data file.
func checkFile(_ context.Context, args []string, out io.Writer) error {
	var config, path string
	err := parseFlags("check", args, out, func(fs *flag.FlagSet) { configFlag(fs, &config) }, &path)
	if err != nil {
		return err
	}
	if path == "" {
		cfg, _, err := prepare(config)
		if err != nil {
			return err
		}
		path = cfg.Store.Path
	}
	// The sandbox's file is one of the store, too.
	report, err := store.Check(path, slices.Concat(buckets(), sandbox.Buckets()))
	if err != nil {
		return err
	}
	for _, fault := range report.Faults {
		fmt.Fprintln(out, oneLine(fault))
	}
	if n := len(report.Faults); n > 0 {
		return fmt.Errorf("%s has %d faults; docs/crash.md tells what to do with a damaged data file", path, n)
	}
	fmt.Fprintf(out, "%s: %d records in %d buckets, no fault\n", path, report.Records, report.Buckets)
	return nil
}
