package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"
)

func main() {
	log.SetFlags(0)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	r, err := parse(os.Args[1:], os.Stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return
	case err != nil:
		log.Print(err)
		os.Exit(2)
	}
	if err := r.make(ctx); err != nil {
		log.Print(err)
		os.Exit(1)
	}
}

// parse reads the command line; it changes nothing.
func parse(args []string, out io.Writer) (*release, error) {
	r := &release{source: "."}
	flags := flag.NewFlagSet("dist", flag.ContinueOnError)
	flags.SetOutput(out)
	flags.StringVar(&r.version, "version", "dev", "the `version`, such as v1.2.0, or what git describe makes of a commit")
	flags.StringVar(&r.commit, "commit", "", "the `commit`, in full")
	epoch := flags.Int64("epoch", 0, "when the commit was made, in `seconds` since 1970")
	flags.StringVar(&r.out, "out", "dist", "the `folder` to write; its former content is removed")
	names := flags.String("platforms", "all", "a `list` such as linux/amd64,linux/armv7")
	flags.BoolVar(&r.tools, "tools", true, "make packages and bills of materials too, with the programs of packaging/tools")
	if err := flags.Parse(args); err != nil {
		return nil, err
	}
	if *epoch < 0 || *epoch > 1<<33 {
		return nil, fmt.Errorf("-epoch must be seconds since 1970: %d", *epoch)
	}
	if !versionForm.MatchString(r.version) {
		return nil, fmt.Errorf("-version may have letters, digits and . _ + - only, and begins with a letter or digit: %.100q", r.version)
	}
	var err error
	r.at, r.flags = time.Unix(*epoch, 0).UTC(), flags.Args()
	r.platforms, err = choose(*names)
	return r, err
}

// choose finds platforms by their names.
func choose(list string) ([]platform, error) {
	if list == "all" || list == "" {
		return platforms, nil
	}
	var chosen []platform
	for name := range strings.SplitSeq(list, ",") {
		p, ok := find(strings.TrimSpace(name))
		if !ok {
			return nil, fmt.Errorf("-platforms: no %.40q; there are %s", name, strings.Join(known(), ", "))
		}
		chosen = append(chosen, p)
	}
	return chosen, nil
}
