package app

import (
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
	"postern/whatsapp/device"
)

// standings returns the states of the devices for a program on a network.
func standings(devices *device.Container, program event.Network) (map[int64]instance.Standing, error) {
	known, err := devices.Standings()
	all := make(map[int64]instance.Standing, len(known))
	for id, d := range known {
		all[id] = instance.Standing{Unknown: d.Network == "", Aside: d.Aside, Wrong: event.Between(d.Network, program)}
	}
	return all, err
}

// wrongNetworks describes how many accounts are not connected because they belong to other
// networks, and what to set; empty for none.
func (a *App) wrongNetworks() string {
	elsewhere := a.registry.Elsewhere()
	if len(elsewhere) == 0 {
		return ""
	}
	message, advice := WrongNetworks(elsewhere, a.home)
	return message + "; " + advice
}

// WrongNetworks says of accounts, counted by network, that they are not connected by a
// program on another one, and what to set so that they are.
func WrongNetworks(accounts map[event.Network]int, program event.Network) (message, advice string) {
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

// NetworkOf returns the network that a program with this configuration connects to. Nothing
// is changed; the error of a sandbox whose file is in use wraps store.ErrLocked.
func NetworkOf(cfg *config.Config) (event.Network, error) {
	if cfg.Sandbox.Enabled {
		root, err := sandbox.RootKey(cfg.Sandbox.Path)
		if errors.Is(err, fs.ErrNotExist) {
			return event.NewSandbox, nil
		}
		return event.SandboxNetwork(root), err
	}
	endpoint, err := configuredEndpoint(cfg)
	return endpoint.Network(), err
}

// StrayAccounts returns the accounts of a data file that no program has open by network,
// without those of the given one. all counts all accounts. Errors are those of
// store.ScanFile.
func StrayAccounts(path string, program event.Network) (stray map[event.Network]int, all int, err error) {
	known, err := device.StandingsIn(path, Buckets())
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
