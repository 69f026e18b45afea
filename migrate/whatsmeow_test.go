package migrate

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"postern/migrate/sqlite"
	"postern/migrate/table"
)

const (
	annaDevice = "4915112345678:7@s.whatsapp.net"
	annaJID    = "4915112345678@s.whatsapp.net"
	berndJID   = "4915187654321:1@s.whatsapp.net"
)

// TestEachTableOfTheStoreIsTakenOver wants something of each kind.
func TestEachTableOfTheStoreIsTakenOver(t *testing.T) {
	all, p := accounts(t, options(whatsmeowStore(t, annaDevice, berndJID)))
	anna, bernd := all["4915112345678"], all["4915187654321"]
	if len(all) != 2 || anna == nil || bernd == nil {
		t.Fatalf("accounts %v", all)
	}
	counted := map[string]int{}
	for _, c := range anna.Counts {
		counted[c.What] = c.N
	}
	for _, part := range parts(p.o.Now) {
		want := 1
		switch part.what {
		case "pre-keys":
			want = 10
		case "sessions":
			want = 0 // the fixture has none
		}
		if counted[part.what] != want {
			t.Errorf("%d %s, want %d", counted[part.what], part.what, want)
		}
	}
	if n := counted["pairs of LID and number, of all devices"]; n != 2 || len(bernd.Counts) != len(anna.Counts)-1 {
		t.Errorf("%d pairs; %v", n, bernd.Counts)
	}
	if anna.Device.JID() != annaDevice || anna.Import.OwnerJID != annaJID || anna.Import.OwnerLID != "7000000@lid" || anna.Import.PushName != "Anna" {
		t.Errorf("%+v", anna.Import)
	}
	if anna.Import.Token != "" || anna.NewToken == "" || len(anna.Left) != 0 || len(p.Left) != 0 {
		t.Errorf("%+v, %v", anna, p.Left)
	}
}

// TestOlderSchemasAreTakenOver takes away what came with the schemas after 8.
func TestOlderSchemasAreTakenOver(t *testing.T) {
	path := whatsmeowStore(t, annaDevice)
	run(
		t, path, "UPDATE whatsmeow_version SET version = 8", "DROP TABLE whatsmeow_event_buffer", "DROP TABLE whatsmeow_retry_buffer", "DROP TABLE whatsmeow_nct_salt",
		"ALTER TABLE whatsmeow_device DROP COLUMN lid_migration_ts", "ALTER TABLE whatsmeow_device DROP COLUMN companion_meta_nonce", "ALTER TABLE whatsmeow_contacts DROP COLUMN redacted_phone",
		"DROP INDEX idx_whatsmeow_privacy_tokens_our_jid_timestamp", "ALTER TABLE whatsmeow_privacy_tokens DROP COLUMN sender_timestamp",
	)
	all, _ := accounts(t, options(path))
	if a := all["4915112345678"]; a == nil || len(a.Left) != 0 || len(a.Counts) < 10 {
		t.Errorf("%+v", a)
	}
}

// TestAStoreThatIsNotUnderstoodIsRefused says what to do about it.
func TestAStoreThatIsNotUnderstoodIsRefused(t *testing.T) {
	for name, c := range map[string]struct {
		statement, want string
	}{
		"a newer schema":        {"UPDATE whatsmeow_version SET version = 16", "newer than 15"},
		"an older one":          {"UPDATE whatsmeow_version SET version = 7", "older than 8"},
		"none":                  {"DELETE FROM whatsmeow_version", "whatsmeow_version is missing or empty"},
		"no device":             {"DELETE FROM whatsmeow_device", "no account of this program is paired"},
		"no table of devices":   {"DROP TABLE whatsmeow_device", "its own --from"},
		"a key of another size": {"PRAGMA ignore_check_constraints=1; UPDATE whatsmeow_device SET noise_key = X'00'", "the noise key must have 32 bytes"},
		"a JID that is none":    {"PRAGMA foreign_keys=0; UPDATE whatsmeow_device SET jid = 'x'", "not the JID of a device"},
	} {
		path := whatsmeowStore(t, annaDevice)
		run(t, path, "PRAGMA foreign_keys=0; "+c.statement)
		_, err := Whatsmeow(t.Context(), options(path))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want it to say %q", name, err, c.want)
		}
	}
}

// TestInvalidRowsAreReportedAndSkipped damages single rows.
func TestInvalidRowsAreReportedAndSkipped(t *testing.T) {
	path := whatsmeowStore(t, annaDevice)
	run(
		t, path, "PRAGMA ignore_check_constraints=1; PRAGMA foreign_keys=0; INSERT INTO whatsmeow_sessions VALUES ('"+annaDevice+"', '1:0', X'7B7D'), ('"+annaDevice+"', '2:0', NULL)",
		"PRAGMA ignore_check_constraints=1; UPDATE whatsmeow_pre_keys SET key = X'00' WHERE key_id = 3",
		"INSERT INTO whatsmeow_contacts (our_jid, their_jid) VALUES ('"+annaDevice+"', '')",
		"INSERT INTO whatsmeow_lid_map VALUES ('', 'x')", "INSERT INTO whatsmeow_chat_settings VALUES ('"+annaDevice+"', 'a@s.whatsapp.net', 'soon', 0, 0)",
		"CREATE TABLE chatwoot_links (a); ", "INSERT INTO chatwoot_links VALUES (1)", "CREATE TABLE nothing_in_it (a)",
	)
	all, p := accounts(t, options(path))
	says(t, all["4915112345678"].Left, "2 rows of whatsmeow_sessions", "1 row of whatsmeow_pre_keys", "must have 32 bytes, not 1", "1 row of whatsmeow_contacts", "1 row of whatsmeow_lid_map", "muted_until is not an integer")
	if len(p.Left) != 1 || p.Left[0] != "the tables chatwoot_links" {
		t.Errorf("%q", p.Left)
	}
}

// TestASourceThatChangesIsRefused writes to it after it was opened.
func TestASourceThatChangesIsRefused(t *testing.T) {
	path := whatsmeowStore(t, annaDevice)
	_, p := accounts(t, options(path))
	if err := p.Unchanged(t.Context()); err != nil {
		t.Fatal(err)
	}
	run(t, path, "INSERT INTO whatsmeow_lid_map VALUES ('1', '2')")
	if err := p.Unchanged(t.Context()); !errors.Is(err, ErrChanged) {
		t.Errorf("%v", err)
	}
}

// TestFilesBesideASymlinkTargetAreFound: part of the newest keys would be missing.
func TestFilesBesideASymlinkTargetAreFound(t *testing.T) {
	path := whatsmeowStore(t, annaDevice)
	link := filepath.Join(t.TempDir(), "link.db")
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	all, p := accounts(t, options(link))
	if len(all) != 1 {
		t.Errorf("accounts %v", all)
	}
	if err := os.WriteFile(path+"-wal", []byte("written last"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := p.Unchanged(t.Context()); !errors.Is(err, ErrChanged) {
		t.Errorf("while it is read: %v", err)
	}
	if _, err := Whatsmeow(t.Context(), options(link)); !errors.Is(err, sqlite.ErrBusy) {
		t.Errorf("before: %v", err)
	}
}

// TestAFileWithoutItsLogIsReported, also when what is missing is why it is refused.
func TestAFileWithoutItsLogIsReported(t *testing.T) {
	whole, empty := whatsmeowStore(t, annaDevice), database(t, "empty.db", "PRAGMA journal_mode=WAL")
	_, p := accounts(t, options(whole))
	var said bytes.Buffer
	if NewReport(&said, p); strings.Contains(said.String(), "warning") {
		t.Errorf("of a whole file: %s", said.String())
	}
	run(t, whole, "PRAGMA journal_mode=WAL")
	_, p = accounts(t, options(whole))
	want := whole + " has no -wal file beside it"
	if NewReport(&said, p); !strings.Contains(said.String(), "warning: "+want) {
		t.Errorf("%q does not say %q", said.String(), want)
	}
	if _, err := Whatsmeow(t.Context(), options(empty)); err == nil || !strings.Contains(err.Error(), "empty.db has no -wal file beside it") {
		t.Errorf("of a file without tables: %v", err)
	}
}

// TestTheSourceStaysAsItIs holds its bytes before against those after.
func TestTheSourceStaysAsItIs(t *testing.T) {
	path := whatsmeowStore(t, annaDevice)
	before, _ := os.ReadFile(path)
	accounts(t, options(path))
	if after, _ := os.ReadFile(path); !bytes.Equal(before, after) {
		t.Error("the source changed")
	}
	for _, suffix := range []string{"-wal", "-shm", "-journal"} {
		if _, err := os.Stat(path + suffix); err == nil {
			t.Errorf("%s was made beside it", suffix)
		}
	}
}

// TestNamesOfAccounts has those that are asked for, those that are made, and every
// way in which they cannot be had.
func TestNamesOfAccounts(t *testing.T) {
	const second = "4915112345678:9@s.whatsapp.net"
	path := whatsmeowStore(t, annaDevice, second, berndJID)
	named := func(pairs ...string) Options {
		o := options(path)
		for _, text := range pairs {
			n, err := ParseNaming(text)
			if err != nil {
				t.Fatal(err)
			}
			o.Names = append(o.Names, n)
		}
		return o
	}
	all, _ := accounts(t, named())
	for _, name := range []string{"4915112345678-7", "4915112345678-9", "4915187654321"} {
		if all[name] == nil {
			t.Errorf("no account is named %s", name)
		}
	}
	all, _ = accounts(t, named(annaDevice+"=anna", "4915187654321@s.whatsapp.net=bernd"))
	if all["anna"] == nil || all["bernd"] == nil || all["4915112345678-9"] == nil {
		t.Errorf("%v", all)
	}
	taken := named()
	taken.Taken = map[string]int64{"4915187654321": 4}
	moved := named()
	moved.Taken, moved.Devices = map[string]int64{"shop": 4}, map[int64]string{4: berndJID}
	again := named()
	again.Taken, again.Devices = map[string]int64{"4915187654321": 4}, map[int64]string{4: berndJID}
	for name, c := range map[string]struct {
		o    Options
		want string
	}{
		"a JID that is not there":    {named("4915@s.whatsapp.net=a"), "has no such device; it has " + annaDevice},
		"an account with two":        {named(annaJID + "=a"), "has 2 devices"},
		"a device twice":             {named(annaDevice+"=a", annaDevice+"=b"), "twice"},
		"two of one name":            {named(annaDevice+"=a", second+"=a"), `both be named "a"`},
		"a name with a space":        {named(annaDevice + "=my shop"), "must have 1 to 255 characters"},
		"a reserved name":            {named(annaDevice + "=create"), "reserved word"},
		"a name that exists here":    {taken, "already exists here; give 4915187654321:1@s.whatsapp.net another name"},
		"a device that is here":      {moved, `already exists, as the instance "shop"`},
		"a name of another's number": {named(berndJID + "=4915112345678-7"), "both be named"},
	} {
		if _, err := Whatsmeow(t.Context(), c.o); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want it to say %q", name, err, c.want)
		}
	}
	_, p := accounts(t, again)
	if p.Len() != 2 || !slices.Equal(p.Here, []string{"4915187654321"}) {
		t.Errorf("after an interruption %d are left, %v are here", p.Len(), p.Here)
	}
	one, both := options(whatsmeowStore(t, berndJID)), named(second+"=anna")
	one.Taken, one.Devices = again.Taken, again.Devices
	both.Taken, both.Devices = map[string]int64{"4915112345678-7": 5, "anna": 6, "4915187654321": 4}, map[int64]string{4: berndJID, 5: annaDevice, 6: second}
	for want, o := range map[string]Options{
		`the instance "4915187654321" exists here already`:                            one,
		`the instances "4915112345678-7", "anna", "4915187654321" exist here already`: both,
	} {
		if _, err := Whatsmeow(t.Context(), o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want it to say %s", err, want)
		}
	}
	for _, text := range []string{"", "a", "=a", "a="} {
		if n, err := ParseNaming(text); err == nil {
			t.Errorf("%q is %v", text, n)
		}
	}
}

// TestLargeAccountsAreReadOneByOne has groups of one.
func TestLargeAccountsAreReadOneByOne(t *testing.T) {
	_, p := accounts(t, options(whatsmeowStore(t, annaDevice, berndJID)))
	for _, a := range p.accounts {
		if a.size < 1000 {
			t.Errorf("%s has %d bytes", a.jid, a.size)
		}
		a.size = groupBytes
	}
	var seen []string
	if err := p.Each(t.Context(), func(a *Account) error {
		seen = append(seen, a.Import.Name)
		if a.Device.Size() < 1000 {
			t.Errorf("%s has %d bytes", a.Import.Name, a.Device.Size())
		}
		return nil
	}); err != nil || len(seen) != 2 {
		t.Errorf("%v, %v", seen, err)
	}
}

// TestDamagedSourceIsReportedWithItsPlace cuts a file and a text.
func TestDamagedSourceIsReportedWithItsPlace(t *testing.T) {
	path := whatsmeowStore(t, annaDevice)
	raw, _ := os.ReadFile(path)
	damaged := bytes.Clone(raw)
	for page := 8; page*4096 < len(damaged); page++ {
		clear(damaged[page*4096 : page*4096+100])
	}
	if err := os.WriteFile(path, damaged, 0o600); err != nil {
		t.Fatal(err)
	}
	if p, err := Whatsmeow(t.Context(), options(path)); !errors.Is(err, table.ErrMalformed) || !strings.Contains(err.Error(), "page ") || !strings.Contains(err.Error(), path) {
		t.Errorf("%v, %v", p, err)
	}
}
