package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"postern/app"
	"postern/sandbox"
	"postern/store"
	"postern/store/schema"
)

// statsCommand is `postern stats`: the contents of a data file by bucket.
func statsCommand() *cobra.Command {
	var settings string
	var asJSON bool
	c := &cobra.Command{
		Use:   "stats [--config FILE] [--json] [FILE]",
		Short: "print statistics of a data file",
		Long: "Prints the records of each bucket, their bytes, the bytes of their pages, and the times of the oldest and newest record\n" +
			"where records have one, then the kept files of messages by instance. Nothing is changed. Without FILE it reads the configured\n" +
			"data file; a program that runs on that file reads a snapshot instead.",
		Example: "postern stats\npostern stats --json backup/postern.db",
		Args:    operands(1),
		RunE: func(c *cobra.Command, args []string) error {
			i, err := inspectFile(c.Context(), settings, args)
			if err != nil {
				return err
			}
			if asJSON {
				return json.NewEncoder(c.OutOrStdout()).Encode(i)
			}
			return printStats(c.OutOrStdout(), i)
		},
	}
	configFlag(c, &settings)
	c.Flags().BoolVar(&asJSON, "json", false, "print one line of JSON")
	return c
}

// inspectFile inspects a data file, or asks the program that runs on the configured one
// to do so.
func inspectFile(ctx context.Context, settings string, args []string) (i app.Statistics, err error) {
	path, err := dataFile(ctx, settings, args)
	if err != nil {
		return i, err
	}
	i, err = app.InspectFile(path, everyBucket())
	if !errors.Is(err, store.ErrLocked) || !isOwn(ctx, settings, args) {
		return i, err
	}
	cfg, err := prepare(ctx, settings)
	if err != nil {
		return i, err
	}
	return i, askRunning(cfg)(ctx, http.MethodGet, "/admin/stats", &i)
}

// dataFile returns the named file, or the configured one.
func dataFile(ctx context.Context, settings string, args []string) (path string, err error) {
	if len(args) > 0 {
		return args[0], nil
	}
	cfg, err := prepare(ctx, settings)
	if err != nil {
		return "", err
	}
	return cfg.Store.Path, nil
}

// isOwn reports whether the named file, if any, is the configured one:
// a program that runs on it can be called.
func isOwn(ctx context.Context, settings string, args []string) bool {
	if len(args) == 0 {
		return true
	}
	cfg, err := prepare(ctx, settings)
	if err != nil {
		return false
	}
	named, errNamed := os.Stat(args[0])
	own, errOwn := os.Stat(cfg.Store.Path)
	return errNamed == nil && errOwn == nil && os.SameFile(named, own)
}

// everyBucket returns the buckets of data files and of sandbox files.
func everyBucket() []schema.Bucket { return slices.Concat(app.Buckets(), sandbox.Buckets()) }

func printStats(out io.Writer, i app.Statistics) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "bucket\trecords\tbytes\tpages\toldest\tnewest")
	for _, b := range i.Buckets {
		fmt.Fprintf(w, "%s\t%d\t%s\t%s\t%s\t%s\n", b.Bucket, b.Rows, inUnits(b.Bytes), inUnits(b.Pages), shortTime(b.Oldest), shortTime(b.Newest))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if len(i.Kept) > 0 {
		fmt.Fprintln(w, "\ninstance\tid\tkept files\tbytes")
		for _, k := range i.Kept {
			fmt.Fprintf(w, "%s\t%d\t%d\t%s\n", cmp.Or(k.Instance, "-"), k.InstanceID, k.Files, inUnits(k.Bytes))
		}
		fmt.Fprintln(w)
		if err := w.Flush(); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(out, "%s: %s, of them %s free\n", i.Path, inUnits(i.Bytes), inUnits(i.Free))
	return err
}

func shortTime(at *time.Time) string {
	if at == nil {
		return "-"
	}
	return at.UTC().Format(time.RFC3339)
}

// inUnits formats a number of bytes with three digits.
func inUnits(n int64) string {
	value, unit := float64(n), "B"
	for _, unit = range []string{"B", "KiB", "MiB", "GiB", "TiB"} {
		if value < 999.5 || unit == "TiB" {
			break
		}
		value /= 1024
	}
	if unit == "B" {
		return fmt.Sprintf("%d B", n)
	}
	return fmt.Sprintf("%.3g %s", value, unit)
}
