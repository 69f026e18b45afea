// Package upstream finds the server that instances connect to, WhatsApp's or one in its
// place, and the proxy on the way there. It says which accounts belong to another network.
package upstream

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"postern/config"
	"postern/event"
	"postern/instance"
	"postern/sandbox"
	"postern/store/schema"
	"postern/whatsapp"
	"postern/whatsapp/device"
)

// Standings returns the states of the devices for a program on a network.
func Standings(devices *device.Container, program event.Network) (map[int64]instance.Standing, error) {
	known, err := devices.Standings()
	all := make(map[int64]instance.Standing, len(known))
	for id, d := range known {
		all[id] = instance.Standing{Unknown: d.Network == "", Aside: d.Aside, Wrong: event.Between(d.Network, program)}
	}
	return all, err
}

// Account returns the account that the device of an instance was paired with, nil if there
// is none.
func Account(ctx context.Context, devices *device.Container, id int64) (*event.Link, error) {
	saved, err := devices.Load(ctx, id)
	if err != nil || saved.Device == nil || saved.Device.ID == nil {
		return nil, err
	}
	link := &event.Link{JID: saved.Device.ID.ToNonAD().String()}
	if lid := saved.Device.LID; !lid.IsEmpty() {
		link.LID = lid.ToNonAD().String()
	}
	return link, nil
}

// Elsewhere says of accounts, counted by network, that they are not connected by a
// program on another one, and what to set so that they are.
func Elsewhere(accounts map[event.Network]int, program event.Network) (message, advice string) {
	total := 0
	var of, set []string
	for _, n := range slices.Sorted(maps.Keys(accounts)) {
		total += accounts[n]
		of = append(of, fmt.Sprintf("%d of %s", accounts[n], n))
		set = append(set, howToReach(n, program))
	}
	accountsBelong := "accounts belong"
	if total == 1 {
		accountsBelong = "account belongs"
	}
	message = fmt.Sprintf("%d %s to another network than %s, which this program is connected to, and stays as it is, not connected: %s", total, accountsBelong, program, strings.Join(of, ", "))
	if total != 1 {
		message = strings.Replace(message, "and stays as it is", "and stay as they are", 1)
	}
	slices.Sort(set)
	return message, "to connect them, " + strings.Join(slices.Compact(set), "; or ")
}

// howToReach describes what to set so that a program on one network connects to another one.
func howToReach(n, program event.Network) string {
	switch n.Kind() {
	case event.WhatsApp.Kind():
		if program.Kind() == "sandbox" {
			return "set sandbox.enabled = false (SANDBOX_ENABLED), best with another store.path for the sandbox"
		}
		return "leave whatsapp.endpoint empty (WHATSAPP_ENDPOINT)"
	case "sandbox":
		return fmt.Sprintf("set sandbox.enabled = true and sandbox.path to the file of the %s", n)
	default:
		return fmt.Sprintf("set whatsapp.endpoint and whatsapp.endpoint_root_key to those of the %s", n)
	}
}

// Network returns the network that a program with this configuration connects to. Nothing
// is changed; the error of a sandbox whose file is in use wraps store.ErrLocked.
func Network(cfg *config.Config) (event.Network, error) {
	if cfg.Sandbox.Enabled {
		root, err := sandbox.RootKey(cfg.Sandbox.Path)
		if errors.Is(err, fs.ErrNotExist) {
			return event.NewSandbox, nil
		}
		return event.SandboxNetwork(root), err
	}
	endpoint, err := Endpoint(cfg)
	return endpoint.Network(), err
}

// Strays counts the accounts of a data file that no program has open by network, without
// those of the given one. all counts all accounts. buckets and errors are those of
// store.ScanFile.
func Strays(path string, buckets []schema.Bucket, program event.Network) (stray map[event.Network]int, all int, err error) {
	known, err := device.StandingsIn(path, buckets)
	stray = map[event.Network]int{}
	for _, d := range known {
		if d.Aside {
			continue
		}
		all++
		if event.Between(d.Network, program) != nil {
			stray[d.Network]++
		}
	}
	return stray, all, err
}

// Endpoint returns the endpoint of whatsapp.endpoint, nil for WhatsApp itself.
func Endpoint(cfg *config.Config) (*whatsapp.Endpoint, error) {
	wa := cfg.WhatsApp
	if wa.Endpoint == "" {
		return nil, nil
	}
	e := &whatsapp.Endpoint{URL: wa.Endpoint}
	var err error
	if e.CA, err = config.ReadSmall(wa.EndpointCA, config.MaxPEM); err != nil {
		return nil, fmt.Errorf("whatsapp.endpoint_ca: %w", err)
	}
	if !x509.NewCertPool().AppendCertsFromPEM(e.CA) {
		return nil, fmt.Errorf("whatsapp.endpoint_ca: %s has no certificate in PEM", wa.EndpointCA)
	}
	if e.RootKey, err = config.ParseRootKey(wa.EndpointRootKey); err != nil {
		return nil, fmt.Errorf("whatsapp.endpoint_root_key: %w", err)
	}
	return e, nil
}
