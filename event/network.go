package event

import (
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
)

// Network names the network that knows a linked device: [WhatsApp], or another one by
// the root key of its certificates, see [SandboxNetwork] and [EndpointNetwork]. The
// empty Network is not known.
type Network string

// WhatsApp is the real network.
const WhatsApp Network = "whatsapp"

// NewSandbox is a sandbox that has no root key yet; no device belongs to it.
const NewSandbox Network = sandboxNetwork

const (
	sandboxNetwork  = "sandbox"
	endpointNetwork = "endpoint"
)

// SandboxNetwork is a built-in sandbox.
func SandboxNetwork(root [32]byte) Network { return networkOf(sandboxNetwork, root) }

// EndpointNetwork is the server of another process, see the setting whatsapp.endpoint.
func EndpointNetwork(root [32]byte) Network { return networkOf(endpointNetwork, root) }

func networkOf(kind string, root [32]byte) Network {
	return Network(kind + ":" + hex.EncodeToString(root[:]))
}

// ParseNetwork returns the network of a stored name. The empty name is allowed.
func ParseNetwork(name string) (Network, error) {
	kind, root, _ := strings.Cut(name, ":")
	key, err := hex.DecodeString(root)
	switch {
	case name == "", Network(name) == WhatsApp:
		return Network(name), nil
	case kind != sandboxNetwork && kind != endpointNetwork, err != nil, len(key) != 32, strings.ToLower(root) != root:
		return "", fmt.Errorf("%.100q is no network", name)
	}
	return Network(name), nil
}

// Is reports whether both are the same network. A sandbox is the same network in this
// process and at an endpoint.
func (n Network) Is(other Network) bool {
	_, root, _ := strings.Cut(string(n), ":")
	_, key, _ := strings.Cut(string(other), ":")
	return n == other || root != "" && root == key
}

// Kind is whatsapp, sandbox or endpoint.
func (n Network) Kind() string {
	kind, _, _ := strings.Cut(string(n), ":")
	return kind
}

// String is the kind with the first 8 hex digits of the root key, if there is one.
func (n Network) String() string {
	kind, root, other := strings.Cut(string(n), ":")
	if !other {
		return kind
	}
	return kind + " " + root[:min(8, len(root))]
}

// ErrWrongNetwork is wrapped by every [NetworkError].
var ErrWrongNetwork = errors.New("the account belongs to another network")

// NetworkError reports that the device of an instance belongs to another network than
// the one that the program is connected to. Nothing was sent. It wraps
// [ErrWrongNetwork] and [ErrNotConnected].
type NetworkError struct {
	Device  Network // of the instance's device
	Program Network // that the program connects to
}

// Error names both networks.
func (e *NetworkError) Error() string {
	return fmt.Sprintf("the account belongs to the network %s and this program is connected to %s", e.Device, e.Program)
}

// Unwrap returns ErrWrongNetwork and ErrNotConnected.
func (e *NetworkError) Unwrap() []error { return []error{ErrWrongNetwork, ErrNotConnected} }

// Between returns the error of a device on a program's network, nil when they fit or
// one of them is not known.
func Between(device, program Network) *NetworkError {
	if device == "" || program == "" || device.Is(program) {
		return nil
	}
	return &NetworkError{device, program}
}
