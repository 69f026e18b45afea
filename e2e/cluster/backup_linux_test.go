package cluster

import (
	"os"
	"strings"
	"testing"
	"time"

	"postern/cli/consumer"
)

// Only the owner makes backups by itself. A folder of a node's own gets its first one when
// the node becomes owner, and all of them have the ID of the cell in their names.
func TestBackupsAreMadeByTheOwner(t *testing.T) {
	t.Parallel()
	n := newNetwork(t)
	ofA, ofB := t.TempDir(), t.TempDir()
	a, b := n.node("a", "BACKUP_EVERY=24h", "BACKUP_DIR="+ofA), n.node("b", "BACKUP_EVERY=24h", "BACKUP_DIR="+ofB)
	a.launch()
	a.awaitOwner()
	b.launch()
	b.awaitStandby()
	a.Await("a made a backup", func() bool { return len(backups(t, ofA)) == 1 })
	if found := backups(t, ofB); len(found) > 0 {
		t.Errorf("a standby made %q", found)
	}
	a.Stop()
	b.awaitOwner()
	b.Await("b made a backup at once", func() bool { return len(backups(t, ofB)) == 1 })
	_, first, _ := strings.Cut(strings.TrimPrefix(backups(t, ofA)[0], "postern-"), "-")
	_, second, _ := strings.Cut(strings.TrimPrefix(backups(t, ofB)[0], "postern-"), "-")
	if first == "" || first != second {
		t.Errorf("the names have %q and %q in place of the ID of the cell", first, second)
	}
}

// A folder that all nodes see is kept as one: a new owner makes none before it is due.
func TestBackupsInASharedFolderAreOneSeries(t *testing.T) {
	t.Parallel()
	n := newNetwork(t)
	shared := t.TempDir()
	env := []string{"BACKUP_EVERY=24h", "BACKUP_KEEP=2", "BACKUP_DIR=" + shared}
	a, b := n.node("a", env...), n.node("b", env...)
	a.launch()
	a.awaitOwner()
	a.Await("a made a backup", func() bool { return len(backups(t, shared)) == 1 })
	before := backups(t, shared)
	b.launch()
	b.awaitStandby()
	a.Stop()
	b.awaitOwner()
	var is struct{ Backup struct{ LastAt *time.Time } }
	b.Call(consumer.Key(b.Sec.GlobalAuthToken), "GET", "/admin/samples", nil, &is)
	if is.Backup.LastAt == nil || !strings.Contains(before[0], is.Backup.LastAt.UTC().Format("20060102T150405Z")) {
		t.Errorf("for the new owner the last backup is of %v, and the folder has %q", is.Backup.LastAt, before)
	}
	if after := backups(t, shared); len(after) != 1 || after[0] != before[0] {
		t.Errorf("the new owner made %q beside %q", after, before)
	}
}

// backups returns the names of those in a folder.
func backups(t *testing.T, folder string) (names []string) {
	t.Helper()
	all, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range all {
		if strings.HasPrefix(f.Name(), "postern-") && strings.HasSuffix(f.Name(), ".tar") {
			names = append(names, f.Name())
		}
	}
	return names
}
