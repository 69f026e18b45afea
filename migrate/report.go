package migrate

import (
	"fmt"
	"io"
	"strings"

	"postern/internal/plural"
)

// Report writes what a plan imports, account by account.
type Report struct {
	w io.Writer
	n int
}

// NewReport begins the report of a plan.
func NewReport(w io.Writer, p *Plan) *Report {
	for _, text := range p.Warnings {
		fmt.Fprintf(w, "warning: %s\n", text)
	}
	if p.App != "" {
		fmt.Fprintf(w, "The source is of %s.\n", p.App)
	}
	return &Report{w: w}
}

// Account writes the result for an account.
func (r *Report) Account(a *Account) {
	r.n++
	fmt.Fprintf(r.w, "\n%s  %s\n", a.Import.Name, a.Device.JID())
	counts := make([]string, len(a.Counts))
	for i, c := range a.Counts {
		counts[i] = fmt.Sprintf("%s: %d", c.What, c.N)
	}
	if len(counts) > 0 {
		fmt.Fprintf(r.w, "  imported: %s\n", strings.Join(counts, ", "))
	}
	for _, text := range a.Kept {
		fmt.Fprintf(r.w, "  imported: %s\n", text)
	}
	if a.NewToken == "" {
		fmt.Fprintln(r.w, "  token: the old one stays valid")
	} else {
		fmt.Fprintf(r.w, "  token: a new one, for %s; GET /instance?instanceName=%s shows it to the holder of the API key\n", a.NewToken, a.Import.Name)
	}
	for _, text := range a.Left {
		fmt.Fprintf(r.w, "  left out: %s\n", text)
	}
}

// End writes the summary of the plan, and warns about the old program.
func (r *Report) End(p *Plan, dry bool) {
	for _, name := range p.Here {
		fmt.Fprintf(r.w, "\n%s  was imported before and is unchanged\n", name)
	}
	if len(p.Left) > 0 {
		fmt.Fprintln(r.w)
	}
	for _, text := range p.Left {
		fmt.Fprintf(r.w, "left out: %s\n", text)
	}
	if dry {
		fmt.Fprintf(r.w, "\nNothing was written: %s would be imported. After an import without --dry-run the old program must\nnever run again with these sessions: both would encrypt with the same keys.\n", plural.Of(r.n, "account"))
		return
	}
	fmt.Fprintf(r.w, "\n%s imported. The old program must NEVER run again with these sessions: both would encrypt with\nthe same keys, and messages would be lost or readable to others. Remove its sessions, and whatever starts it.\n", plural.Of(r.n, "account is", "accounts are"))
}
