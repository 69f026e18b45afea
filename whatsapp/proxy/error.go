package proxy

import (
	"context"
	"errors"
	"net"

	"postern/internal/netfault"
)

// Step is a step of a dial through a proxy.
type Step string

// Steps, in the order in which a dial takes them.
const (
	Resolve Step = "resolve" // look up the proxy's name
	Connect Step = "connect" // connect to the proxy, and by it to the server
	Auth    Step = "auth"    // log in to the proxy
	TLS     Step = "tls"     // TLS with an https proxy, and with the server
)

// Error is the failure of a dial through a proxy. Its text names the step and contains
// no address, name or credential.
type Error struct {
	Step  Step
	why   string
	cause error // nil if only why is known
}

// Error implements error.
func (e *Error) Error() string { return "the proxy failed at " + string(e.Step) + ": " + e.why }

// Plain marks the text as plain for package netfault.
func (e *Error) Plain() string { return e.Error() }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.cause }

// Failed returns the Error of a step with its cause.
func Failed(step Step, cause error) *Error {
	return &Error{Step: step, why: words(cause), cause: cause}
}

// words describes a network failure. Other errors may contain text of the other end and
// are not shown.
func words(err error) string {
	if errors.Is(err, context.Canceled) {
		return "no answer in time" // the caller gave up
	}
	if plain := netfault.Plain(err); plain != err { //nolint:errorlint // whether a description was found
		return plain.Error()
	}
	return "the connection failed"
}

func failed(step Step, why string) *Error { return &Error{Step: step, why: why} }

// reached returns the Error of a dial to the proxy itself.
func reached(err error) *Error {
	if _, ok := errors.AsType[*net.DNSError](err); ok {
		return Failed(Resolve, err)
	}
	return Failed(Connect, err)
}
