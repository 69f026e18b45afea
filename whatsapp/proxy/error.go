package proxy

import (
	"context"
	"errors"
	"net"

	"postern/internal/netfault"
)

// Step is where a dial through a proxy fails.
type Step string

// Steps, in the order in which a dial takes them.
const (
	Resolve Step = "resolve" // the proxy's name is looked up
	Connect Step = "connect" // to the proxy, and by it to the server
	Auth    Step = "auth"    // the proxy is told user and password
	TLS     Step = "tls"     // with an https proxy, and with the server behind any
)

// Error is a dial through a proxy that failed. Its text names the step and no
// address, name or credential.
type Error struct {
	Step  Step
	why   string
	cause error // nil when why is all that is known
}

// Error implements error.
func (e *Error) Error() string { return "the proxy failed at " + string(e.Step) + ": " + e.why }

// Plain tells package netfault that the text is in plain words.
func (e *Error) Plain() string { return e.Error() }

// Unwrap returns the failure as the system told it.
func (e *Error) Unwrap() error { return e.cause }

// Failed is the Error of a step that failed by cause.
func Failed(step Step, cause error) *Error {
	return &Error{Step: step, why: words(cause), cause: cause}
}

// words puts a failure of the network into words; whatever else it says may be
// what somebody at the other end wrote.
func words(err error) string {
	if errors.Is(err, context.Canceled) {
		return "no answer in time" // whoever waited gave up
	}
	if plain := netfault.Plain(err); plain != err { //nolint:errorlint // whether words were found
		return plain.Error()
	}
	return "the connection failed"
}

func failed(step Step, why string) *Error { return &Error{Step: step, why: why} }

// reached is the Error of a dial to the proxy itself.
func reached(err error) *Error {
	if _, ok := errors.AsType[*net.DNSError](err); ok {
		return Failed(Resolve, err)
	}
	return Failed(Connect, err)
}
