package migrate

import (
	"fmt"
	"slices"

	"postern/instance"
	"postern/internal/plural"
	"postern/whatsapp/device"
)

// Account is one account of another program as it will be stored.
type Account struct {
	Device *device.Image
	Import instance.Import

	Counts   []Count  // what belongs to the device, by kind
	Kept     []string // the imported data of the program around it, in words
	Left     []string // what has no place here or breaks a rule, by name
	NewToken string   // why the token is another one; empty: it is kept

	failures map[string]*failure
	uploaded int64 // Baileys' pre-keys below it were uploaded
}

// Count is the number of imported records of a kind.
type Count struct {
	What string
	N    int
}

// failure counts rows of a table that break a rule.
type failure struct {
	n     int
	first string
}

// shownFailures is the maximum length of a shown row error.
const shownFailures = 300

// leave records a row that breaks a rule.
func (a *Account) leave(table string, err error) {
	if a.failures == nil {
		a.failures = map[string]*failure{}
	}
	f := a.failures[table]
	if f == nil {
		f = &failure{first: cut(err.Error(), shownFailures)}
		a.failures[table] = f
	}
	f.n++
}

// settle adds the rows that broke rules to the report.
func (a *Account) settle() {
	names := make([]string, 0, len(a.failures))
	for name := range a.failures {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		f := a.failures[name]
		a.Left = append(a.Left, fmt.Sprintf("%s of %s that cannot be used, the first: %s", plural.Of(f.n, "row"), name, f.first))
	}
	a.failures = nil
}

func (a *Account) count(what string, n int) {
	if n > 0 {
		a.Counts = append(a.Counts, Count{what, n})
	}
}

func (a *Account) left(format string, args ...any) {
	a.Left = append(a.Left, fmt.Sprintf(format, args...))
}

// cut shortens a text for a report, and keeps it on one line.
func cut(text string, most int) string {
	runes := []rune(text)
	if len(runes) > most {
		runes = append(runes[:most], '…')
	}
	for i, r := range runes {
		if r < ' ' || r == 0x7f {
			runes[i] = ' '
		}
	}
	return string(runes)
}
