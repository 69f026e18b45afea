package migrate

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"postern/instance"
	"postern/migrate/table"
	"postern/whatsapp/device"
)

// groupBytes is how much of the source is read at once, unless one account has
// more. It takes several times as much memory.
const groupBytes = 64 << 20

// Options select the imported data and the rules.
type Options struct {
	From     []string // files, folders with SQLite files, or URLs of PostgreSQL databases
	App      string   // one of Apps; empty: found out
	Names    []Naming
	Messages bool // stored messages and contacts, too

	Rules instance.Rules
	// Keeps reports whether a token of the other program is valid here for the instance
	// of that name.
	Keeps func(name, token string) bool
	// Mint creates the token of an instance whose own is not valid here.
	Mint func(name string) (string, error)
	Now  time.Time

	// Taken are the ids of the existing instances by name, and Devices the
	// JIDs of their devices, by id.
	Taken   map[string]int64
	Devices map[int64]string
}

// Naming gives an account a name. The JID is the device's or the account's.
type Naming struct{ JID, Name string }

// Plan is a planned import. It is used by one goroutine, and closed by
// its creator.
type Plan struct {
	App      string // one of Apps; empty: none that is known
	Warnings []string
	Left     []string
	Here     []string // names of accounts that were imported before and are skipped
	accounts []*planned

	o       *Options
	sources *sources
	app     app
	baileys *Account // read already
}

// planned is an account of the plan.
type planned struct {
	jid  string // of the device, as its table has it
	name string
	size int        // bytes, roughly
	from *belonging // nil: the program around it knew nothing
}

// Whatsmeow plans the import from a program on the client library. Errors
// name the file with page or line, or the flag and its rule.
func Whatsmeow(ctx context.Context, o Options) (p *Plan, err error) {
	p = &Plan{o: &o}
	if p.sources, err = openSources(ctx, o.From); err != nil {
		return nil, err
	}
	p.Warnings = p.sources.warnings
	if err = p.make(ctx); err != nil {
		for _, w := range p.Warnings { // what is not there may be in the log
			err = fmt.Errorf("%w (%s)", err, w)
		}
		return nil, errors.Join(err, p.Close())
	}
	return p, nil
}

func (p *Plan) make(ctx context.Context) (err error) {
	if err := checkSchema(ctx, p.sources); err != nil {
		return err
	}
	if p.App, p.app, err = detect(ctx, p.sources, p.o.App); err != nil {
		return err
	}
	devices, err := p.devices(ctx)
	if err != nil {
		return err
	}
	if len(devices) == 0 {
		return fmt.Errorf("the table %s has no device: no account of this program is paired, so there is nothing to import", deviceTable)
	}
	owners, err := p.owners(ctx, devices)
	if err != nil {
		return err
	}
	if p.accounts, err = p.choose(devices, owners); err != nil {
		return err
	}
	if err := p.leaveTables(ctx); err != nil {
		return err
	}
	return p.measure(ctx)
}

// devices returns the JIDs of the devices in the source.
func (p *Plan) devices(ctx context.Context) (jids []string, err error) {
	err = readDevices(ctx, p.sources, func(c device.Credentials, r *table.Row) error {
		if _, err := device.NewImage(c); err != nil {
			return r.Fail("the device %.100q: %w", c.JID, err)
		}
		jids = append(jids, c.JID)
		return nil
	})
	return jids, err
}

// owners returns the instances that the program has, by the JIDs of their devices.
func (p *Plan) owners(ctx context.Context, devices []string) (map[string]*belonging, error) {
	owners := map[string]*belonging{}
	if p.app == nil {
		return owners, nil
	}
	err := p.app.instances(ctx, p.sources, p.o, func(b *belonging) error {
		of, err := matching(devices, b.jid)
		if len(of) > 1 && err == nil {
			of, err = p.chosenOf(of, b)
		}
		switch {
		case err != nil:
			return err
		case b.jid == "":
			p.Left = append(p.Left, fmt.Sprintf("the instance %s, which was never paired; make it with POST /instance", cut(b.name, shownValue)))
		case len(of) == 0:
			p.Left = append(p.Left, fmt.Sprintf("the instance %s, whose device %s is not in the store; it has to be paired again", cut(b.name, shownValue), cut(b.jid, shownValue)))
		case owners[of[0]] != nil:
			return fmt.Errorf("the instances %.100q and %.100q of the old program both have the device %s; delete one of them there", owners[of[0]].name, b.name, of[0])
		default:
			owners[of[0]] = b
		}
		return nil
	})
	return owners, err
}

// chosenOf returns the device of an instance whose account has several.
func (p *Plan) chosenOf(of []string, b *belonging) ([]string, error) {
	for _, jid := range of {
		if slices.ContainsFunc(p.o.Names, func(n Naming) bool { return n.JID == jid }) {
			return []string{jid}, nil
		}
	}
	return nil, fmt.Errorf("the instance %.100q belongs to the account %s, which has %d devices in the store (%s); say which it is with --name DEVICE=NAME", b.name, b.jid, len(of), strings.Join(of, ", "))
}

// matching returns the devices of a JID: a single one, or those of the account.
func matching(devices []string, jid string) (of []string, err error) {
	if jid == "" {
		return nil, nil
	}
	if slices.Contains(devices, jid) {
		return []string{jid}, nil
	}
	for _, d := range devices {
		account, exact, err := device.AccountOf(d)
		if err != nil {
			return nil, err
		}
		if jid == exact {
			return []string{d}, nil
		}
		if jid == account {
			of = append(of, d)
		}
	}
	if len(of) == 0 && !strings.Contains(jid, "@") {
		return matching(devices, jid+"@s.whatsapp.net")
	}
	return of, nil
}

// leaveTables lists the tables with data that is not imported.
func (p *Plan) leaveTables(ctx context.Context) error {
	known := []string{versionTable, deviceTable, lidTable, "sqlite_sequence", "sqlite_stat1", "sqlite_stat4"}
	for _, part := range parts(p.o.Now) {
		known = append(known, part.table)
	}
	if p.app != nil {
		known = append(known, p.app.tables()...)
	}
	var left []string
	for _, name := range slices.Sorted(maps.Keys(p.sources.by)) {
		if slices.Contains(known, name) {
			continue
		}
		columns, err := p.sources.columns(ctx, name)
		if err != nil {
			return err
		}
		if columns != nil {
			left = append(left, cut(name, shownValue))
		}
	}
	if len(left) > 0 {
		p.Left = append(p.Left, "the tables "+strings.Join(left, ", "))
	}
	if p.app != nil && !p.o.Messages {
		name, _ := p.app.messages()
		if columns, err := p.sources.columns(ctx, name); err != nil || columns != nil {
			p.Left = append(p.Left, "stored messages and contacts; --messages imports them")
			return err
		}
	}
	return nil
}

// measure determines the size of each account.
func (p *Plan) measure(ctx context.Context) error {
	byJID, byID := map[string]*planned{}, map[string]*planned{}
	for _, a := range p.accounts {
		byJID[a.jid] = a
		if a.from != nil {
			byID[a.from.id] = a
		}
	}
	count := func(name, owner string, of map[string]*planned) error {
		return p.sources.rows(ctx, name, func(r *table.Row) error {
			if a := of[r.Text(owner)]; a != nil {
				a.size += r.Size()
			}
			return nil
		})
	}
	for _, part := range parts(p.o.Now) {
		if err := count(part.table, part.owner, byJID); err != nil {
			return err
		}
	}
	if p.app == nil || !p.o.Messages {
		return nil
	}
	name, owner := p.app.messages()
	return count(name, owner, byID)
}

// Len returns the number of accounts to import.
func (p *Plan) Len() int { return len(p.accounts) }

// Close closes the source.
func (p *Plan) Close() error {
	if p.sources == nil {
		return nil
	}
	return p.sources.close()
}

// Unchanged returns ErrChanged when the source has changed since it was opened.
func (p *Plan) Unchanged(ctx context.Context) error {
	if p.sources == nil {
		return nil
	}
	return p.sources.unchanged(ctx)
}

// Each calls fn with each account, complete, until fn returns an error, which Each
// returns. Each may be called again, and then reads all again.
func (p *Plan) Each(ctx context.Context, fn func(*Account) error) error {
	if p.baileys != nil {
		return fn(p.baileys)
	}
	for rest := p.accounts; len(rest) > 0; {
		n, size := 1, rest[0].size
		for n < len(rest) && size+rest[n].size <= groupBytes {
			size += rest[n].size
			n++
		}
		group, err := p.gather(ctx, rest[:n])
		if err != nil {
			return err
		}
		for _, a := range group {
			if err := fn(a); err != nil {
				return err
			}
		}
		rest = rest[n:]
	}
	return nil
}

// gather builds the accounts of a group, in order.
func (p *Plan) gather(ctx context.Context, group []*planned) ([]*Account, error) {
	byJID, byID := map[string]*Account{}, map[string]*Account{}
	all := make([]*Account, len(group))
	err := readDevices(ctx, p.sources, func(c device.Credentials, r *table.Row) error {
		i := slices.IndexFunc(group, func(a *planned) bool { return a.jid == c.JID })
		if i < 0 {
			return nil
		}
		a, err := p.account(group[i], c)
		if err != nil {
			return r.Fail("the device %.100q: %w", c.JID, err)
		}
		all[i], byJID[c.JID] = a, a
		if group[i].from != nil {
			byID[group[i].from.id] = a
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if i := slices.Index(all, nil); i >= 0 {
		return nil, fmt.Errorf("the device %s: %w", group[i].jid, ErrChanged)
	}
	if err := fillDevices(ctx, p.sources, byJID, p.o.Now); err != nil {
		return nil, err
	}
	if group[0] == p.accounts[0] {
		if err := fillPairs(ctx, p.sources, all[0]); err != nil {
			return nil, err
		}
	}
	if p.app != nil && p.o.Messages {
		if err := p.app.fill(ctx, p.sources, p.o, byID); err != nil {
			return nil, err
		}
	}
	for _, a := range all {
		a.count("stored messages", len(a.Import.Messages))
		a.count("stored contacts", len(a.Import.Contacts))
		a.settle()
	}
	return all, nil
}

// account returns an account with the data of the program around it.
func (p *Plan) account(from *planned, c device.Credentials) (*Account, error) {
	image, err := device.NewImage(c)
	if err != nil {
		return nil, err
	}
	a := &Account{Device: image}
	token := ""
	if b := from.from; b != nil {
		a.Import, a.Kept, a.Left = b.parts, slices.Clone(b.kept), slices.Clone(b.left)
		token = b.token
		if b.bodies && a.Import.Webhook != nil {
			a.left("the shape of the webhook's bodies: they are those of docs/api.md here")
		}
	}
	p.o.identify(a, from.name, token)
	return a, nil
}

// identify sets the name, the token and the owner of an account.
func (o *Options) identify(a *Account, name, token string) {
	a.Import.Name, a.Import.Mint = name, o.Mint
	a.Import.OwnerJID, a.Import.OwnerLID, a.Import.PushName = a.Device.Account(), a.Device.AccountLID(), a.Device.PushName()
	switch {
	case token == "":
		a.NewToken = "the old program has none for it"
	case o.Keeps(name, token):
		a.Import.Token = token
	default:
		a.NewToken = "the old one is not valid here: it is no token that the configured JWT secret signed for an instance of this name"
	}
}
