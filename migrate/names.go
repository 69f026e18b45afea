package migrate

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"postern/instance"
	"postern/internal/plural"
	"postern/whatsapp/device"
)

// ParseNaming reads JID=NAME.
func ParseNaming(text string) (Naming, error) {
	jid, name, found := strings.Cut(text, "=")
	if !found || jid == "" || name == "" {
		return Naming{}, errors.New("must be JID=NAME, such as 4915112345678@s.whatsapp.net=shop")
	}
	return Naming{jid, name}, nil
}

// choose decides which devices are imported, and under which names. With a program
// around them these are the devices of its instances, and those that a --name names.
func (p *Plan) choose(devices []string, owners map[string]*belonging) ([]*planned, error) {
	named, err := p.named(devices)
	if err != nil {
		return nil, err
	}
	var all []*planned
	for _, jid := range devices {
		a := &planned{jid: jid, from: owners[jid], name: named[jid]}
		switch {
		case a.name != "":
		case a.from != nil:
			a.name = a.from.name
		case p.app == nil:
			a.name = numberOf(jid, devices)
		default:
			p.Left = append(p.Left, fmt.Sprintf("the device %s, which belongs to no instance of the program; --name %[1]s=NAME imports it", jid))
			continue
		}
		all = append(all, a)
	}
	return p.free(all)
}

// named returns the requested names, by device.
func (p *Plan) named(devices []string) (map[string]string, error) {
	named := map[string]string{}
	for _, n := range p.o.Names {
		of, err := matching(devices, n.JID)
		switch {
		case err != nil:
			return nil, err
		case len(of) == 0:
			return nil, fmt.Errorf("--name %.100q: the source has no such device; it has %s", n.JID, some(devices))
		case len(of) > 1:
			return nil, fmt.Errorf("--name %.100q: the account has %d devices; name one of %s", n.JID, len(of), some(of))
		case named[of[0]] != "":
			return nil, fmt.Errorf("--name names the device %s twice", of[0])
		}
		if err := instance.CheckName(n.Name); err != nil {
			return nil, fmt.Errorf("--name %.100q=%.100q: %w", n.JID, n.Name, err)
		}
		named[of[0]] = n.Name
	}
	return named, nil
}

// shownDevices is how many devices an error lists.
const shownDevices = 5

func some(devices []string) string {
	if len(devices) <= shownDevices {
		return strings.Join(devices, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(devices[:shownDevices], ", "), len(devices)-shownDevices)
}

// numberOf returns the name of an account without a given name: its phone number, and where
// it has several devices the number of the device, too.
func numberOf(jid string, devices []string) string {
	account, exact, _ := device.AccountOf(jid) // held by NewImage
	number, _, _ := strings.Cut(account, "@")
	if of, _ := matching(devices, account); len(of) > 1 {
		user, _, _ := strings.Cut(exact, "@")
		_, n, _ := strings.Cut(user, ":")
		return number + "-" + n
	}
	return number
}

// free checks the names against the rules, each other, and the existing ones. An
// account that was imported before under its name is skipped.
func (p *Plan) free(all []*planned) (fresh []*planned, err error) {
	var errs []error
	names := map[string]string{}
	for _, a := range all {
		_, exact, _ := device.AccountOf(a.jid) // held by NewImage
		here, moved := p.o.owner(exact)
		_, taken := p.o.Taken[a.name]
		switch other := names[a.name]; {
		case instance.CheckName(a.name) != nil:
			errs = append(errs, fmt.Errorf("the instance %.100q of %s: %w; give it another name with %s", a.name, a.jid, instance.CheckName(a.name), p.naming(a.jid)))
		case other != "":
			errs = append(errs, fmt.Errorf("%s and %s would both be named %.100q; name one with %s", other, a.jid, a.name, p.naming(a.jid)))
		case moved && here == a.name:
			p.Here = append(p.Here, a.name)
			continue
		case moved:
			errs = append(errs, fmt.Errorf("the device %s already exists, as the instance %q: it cannot run twice", a.jid, here))
		case taken:
			errs = append(errs, fmt.Errorf("the instance %q already exists here; give %s another name with %s, or delete that instance first", a.name, a.jid, p.naming(a.jid)))
		}
		names[a.name] = a.jid
		fresh = append(fresh, a)
	}
	if len(errs) == 0 && len(fresh) == 0 && len(p.Here) > 0 {
		errs = append(errs, fmt.Errorf("%s here already, with these devices: all of it was imported before", plural.Noun(len(p.Here), "the instance "+quoted(p.Here)+" exists", "the instances "+quoted(p.Here)+" exist")))
	}
	if len(errs) == 0 && len(fresh) == 0 {
		errs = append(errs, errors.New("no device belongs to an instance of the program; name those to import with --name JID=NAME"))
	}
	slices.SortStableFunc(fresh, func(a, b *planned) int { return strings.Compare(a.name, b.name) })
	return fresh, errors.Join(errs...)
}

// naming returns the flag that names an account.
func (p *Plan) naming(jid string) string {
	if p.sources == nil { // of Baileys, which has one
		return "--name NAME"
	}
	return "--name " + jid + "=NAME"
}

// quoted are names in quotes.
func quoted(names []string) string {
	all := make([]string, len(names))
	for i, name := range names {
		all[i] = strconv.Quote(name)
	}
	return strings.Join(all, ", ")
}

// owner returns the existing instance of a device.
func (o *Options) owner(jid string) (name string, found bool) {
	for id, d := range o.Devices {
		if d != jid {
			continue
		}
		for name, of := range o.Taken {
			if of == id {
				return name, true
			}
		}
	}
	return "", false
}
