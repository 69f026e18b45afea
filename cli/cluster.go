package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"postern/cluster"
	"postern/cluster/postgres"
	"postern/config"
)

// statusCommand is `postern status`: the state of the cell.
func statusCommand() *cobra.Command {
	var settings string
	var asJSON bool
	c := &cobra.Command{
		Use:   "status [--json] [--config FILE]",
		Short: "show which node owns the data, and how far the others are",
		Long: "Asks the program that runs with this configuration, or the database of store.url if none runs. Exit status 0: a node owns\n" +
			"the data and a standby is at most five seconds behind, or store.url is not set. 1 otherwise.",
		Example: "postern status\npostern status --json --config /etc/postern/config.toml",
		RunE: func(c *cobra.Command, _ []string) error {
			cfg, err := prepare(c.Context(), settings)
			if err != nil {
				return err
			}
			return showStatus(c.Context(), cfg, c.OutOrStdout(), asJSON)
		},
	}
	configFlag(c, &settings)
	c.Flags().BoolVar(&asJSON, "json", false, "print one line of JSON")
	return c
}

func showStatus(ctx context.Context, cfg *config.Config, out io.Writer, asJSON bool) error {
	if cfg.Store.URL == "" {
		_, err := fmt.Fprintln(out, "this Postern runs alone: store.url is not set")
		return err
	}
	s, err := cellStatus(ctx, cfg)
	if err != nil {
		return err
	}
	if asJSON {
		err = json.NewEncoder(out).Encode(s)
	} else {
		err = printStatus(out, s)
	}
	if err == nil && !s.Well() {
		err = errors.New("no node owns the data, or no standby follows: see the log of each node")
	}
	return err
}

// cellStatus asks the running program or, without one, the database.
func cellStatus(ctx context.Context, cfg *config.Config) (s cluster.CellStatus, err error) {
	if askRunning(cfg)(ctx, http.MethodGet, "/admin/cluster", &s) == nil {
		return s, nil
	}
	db, err := postgres.Open(cfg.Store.URL, postgres.Options{})
	if err != nil {
		return s, fmt.Errorf("store.url: %w", err)
	}
	defer db.Close()
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	s, found, err := cluster.Look(ctx, db, cfg.Cluster.Cell)
	if err == nil && !found {
		err = fmt.Errorf("the database has no cell %q: the first node that starts makes it", cfg.Cluster.Cell)
	}
	return s, err
}

func printStatus(out io.Writer, s cluster.CellStatus) error {
	owner := "none"
	if s.Owner != nil {
		owner = fmt.Sprintf("%s since %s", s.Owner.Node, s.Owner.Since.Format(time.RFC3339))
	}
	fmt.Fprintf(out, "cell %s, epoch %d, version %d\nowner: %s\n", s.Cell, s.Epoch, s.Version, owner)
	if s.Reason != "" {
		fmt.Fprintf(out, "this node waits: %s\n", s.Reason)
	}
	if e := s.Engine; e != nil {
		copies := "waits for " + strings.Join(e.Synchronous, ", ")
		if len(e.Synchronous) == 0 {
			copies = "waits for no second copy"
		}
		fmt.Fprintf(out, "database: PostgreSQL %s at %s, %s, %.1f ms away\n", e.Version, e.Primary, copies, e.RoundTripMs)
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "NODE\tROLE\tBEHIND\tSEEN\tVERSION\tADDRESS\tDIFFERS")
	for _, p := range s.Nodes {
		address := "-"
		if p.Address != nil {
			address = *p.Address
		}
		fmt.Fprintf(w, "%s\t%s\t%d (%.1f s)\t%s\t%s\t%s\t%s\n", p.Node, p.Role, p.BehindVersions, float64(p.BehindMs)/1000, p.SeenAt.Format(time.TimeOnly), p.ProgramVersion, address, strings.Join(p.Differs, " "))
	}
	return w.Flush()
}
