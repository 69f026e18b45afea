package table

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"postern/event"
)

var update = flag.Bool("update", false, "rewrite what docs/batches.md shows of the table")

// hard are the triggers of the second drawing: the ends that are not the
// batch's own. One drawing of everything would be a knot.
var hard = []Trigger{OnStop, OnShutdown, OnLeaseLost, OnFound, OnRestored, OnRecover}

func inSecondDrawing(r Row, from event.BatchStatus) bool {
	return slices.Contains(hard, r.On) || from == stopping || from == interr
}

// drawing returns the state machine for mermaid. Rows that keep the status are left
// out; several triggers between the same two states share an arrow.
func drawing(second bool) string {
	var arrows []string
	labels := map[string][]string{}
	for _, r := range rows {
		for _, from := range r.From {
			if from == r.To || inSecondDrawing(r, from) != second {
				continue
			}
			arrow := fmt.Sprintf("%s --> %s", point(from), r.To)
			if !slices.Contains(arrows, arrow) {
				arrows = append(arrows, arrow)
			}
			if !slices.Contains(labels[arrow], string(r.On)) {
				labels[arrow] = append(labels[arrow], string(r.On))
			}
		}
	}
	var b strings.Builder
	b.WriteString("```mermaid\nstateDiagram-v2\n")
	for _, arrow := range arrows {
		fmt.Fprintf(&b, "    %s : %s\n", arrow, strings.Join(labels[arrow], ", "))
	}
	for _, end := range everyStatus() {
		if Final(end) && strings.Contains(b.String(), "--> "+string(end)+" ") {
			fmt.Fprintf(&b, "    %s --> [*]\n", end)
		}
	}
	return b.String() + "```\n"
}

// point returns a state in a drawing, where a batch that does not exist yet is the
// beginning.
func point(s event.BatchStatus) string {
	if s == unborn {
		return "[*]"
	}
	return string(s)
}

func everyStatus() (all []event.BatchStatus) {
	add := func(s event.BatchStatus) {
		if s != unborn && !slices.Contains(all, s) {
			all = append(all, s)
		}
	}
	for _, r := range rows {
		for _, from := range r.From {
			add(from)
		}
		add(r.To)
	}
	return all
}

// rowsTable returns every row of the state machine, in the order that decides.
func rowsTable() string {
	var b strings.Builder
	b.WriteString("| From | On | Case | To | Events |\n|---|---|---|---|---|\n")
	for _, r := range rows {
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", joined(r.From), r.On, r.Name, r.To, orDash(strings.ReplaceAll(names(r.Events), " ", ", ")))
	}
	return b.String()
}

// callsTable returns what each call does in each status.
func callsTable() string {
	var b strings.Builder
	b.WriteString("| Call | Acts in | Is taken and changes nothing in | Is refused with 409 in |\n|---|---|---|---|\n")
	for _, on := range []Trigger{OnStart, OnPause, OnStop, OnChange, OnAppend} {
		var acts, refused []event.BatchStatus
		for _, s := range everyStatus() {
			switch {
			case slices.Contains(accepted[on], s):
			case slices.ContainsFunc(rows, func(r Row) bool { return r.On == on && slices.Contains(r.From, s) }):
				acts = append(acts, s)
			default:
				refused = append(refused, s)
			}
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", on, joined(acts), joined(accepted[on]), joined(refused))
	}
	return b.String()
}

func joined(all []event.BatchStatus) string {
	var words []string
	for _, s := range all {
		words = append(words, string(s))
	}
	return orDash(strings.Join(words, ", "))
}

func orDash(s string) string {
	if s == "" {
		return "–"
	}
	return s
}

var batchPage = filepath.Join("..", "..", "docs", "batches.md")

// TestTheBatchPageShowsTheTable also writes the parts that are made from the
// table, with -update.
func TestTheBatchPageShowsTheTable(t *testing.T) {
	raw, err := os.ReadFile(batchPage)
	if err != nil {
		t.Fatal(err)
	}
	page := string(raw)
	for name, part := range map[string]string{
		"drawing of the work": drawing(false), "drawing of the ends": drawing(true), "rows": rowsTable(), "calls": callsTable(),
	} {
		begin, end := "<!-- "+name+": made by make docs -->\n", "<!-- end of "+name+" -->\n"
		before, rest, found := strings.Cut(page, begin)
		old, after, ended := strings.Cut(rest, end)
		if !found || !ended {
			t.Fatalf("%s has no place between %q and %q", batchPage, begin, end)
		}
		if part = "\n" + part + "\n"; old != part && !*update {
			t.Errorf("the %s in %s is not what the table says; run make docs", name, batchPage)
		}
		page = before + begin + part + end + after
	}
	if !*update || page == string(raw) {
		return
	}
	if err := os.WriteFile(batchPage, []byte(page), 0o644); err != nil { //nolint:gosec // a document
		t.Fatal(err)
	}
}

func TestBatchPageListsEveryStatusAndEvent(t *testing.T) {
	raw, err := os.ReadFile(batchPage)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range everyStatus() {
		if !strings.Contains(string(raw), "\n| `"+string(s)+"` |") {
			t.Errorf("no row explains the status %s", s)
		}
	}
	for _, d := range event.Catalogue() {
		if d.Family == event.Batch && !strings.Contains(string(raw), "\n| `"+string(d.Kind)+"` |") {
			t.Errorf("no row explains the event %s", d.Kind)
		}
	}
}
