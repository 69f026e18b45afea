package events

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"postern/e2e/rig"
	"postern/event"
)

// TestEveryTrigger provokes each trigger of the catalogue in the sandbox,
// through the unchanged client library, and looks at the webhook that arrives
// over HTTP: its fields, and its whole shape against the schema.
func TestEveryTrigger(t *testing.T) {
	if testing.Short() {
		t.Skip("takes some seconds")
	}
	t.Parallel() // it waits more than it works
	s := rig.NewScene(t)
	for _, row := range triggerTable() {
		t.Run(row.name(), func(t *testing.T) { row.run(t, s) })
	}
	s.Stop()
}

// TestNoTriggerIsMissingFromTheTable also holds docs/events.md
// to the table.
func TestNoTriggerIsMissingFromTheTable(t *testing.T) {
	rows := triggerTable()
	for _, kind := range instanceKinds() {
		d, _ := event.Lookup(kind)
		for _, trigger := range d.Triggers {
			if !slices.ContainsFunc(rows, func(r triggerRow) bool { return r.kind == kind && r.trigger == trigger }) {
				t.Errorf("%s by %s is provoked by no row", kind, trigger)
			}
		}
		for _, value := range typesOf(kind) {
			if !slices.ContainsFunc(rows, func(r triggerRow) bool { return r.kind == kind && r.typ == value }) {
				t.Errorf("%s of type %q is provoked by no row", kind, value)
			}
		}
	}
	page := eventsPage(rows)
	file := filepath.Join("docs", "events.md")
	if *rig.Update {
		if err := os.WriteFile(file, page, 0o644); err != nil { //nolint:gosec // a document
			t.Fatal(err)
		}
	}
	if have, err := os.ReadFile(file); err != nil || !bytes.Equal(have, page) {
		t.Errorf("%s is not what the table says (%v); run make docs", file, err)
	}
}
