// Package netfault describes why a call over the network failed, in words for
// for any caller: refused, no answer in time, TLS, a name that was not
// found. What else an error of the network tells is a map of the network: which
// address a name leads to, who resolves names, whom a certificate is for, what
// a port answers that is no web server, where files lie. That is for the log of
// the operator.
package netfault

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"io/fs"
	"net"
	"net/netip"
	"net/url"
	"os"
	"strings"
	"syscall"
)

// ErrAddress is wrapped by callers that refuse to dial an address.
var ErrAddress = errors.New("address is not allowed")

// fault is a failure in plain words.
type fault struct {
	words string
	cause error
}

// Error implements error.
func (f *fault) Error() string { return f.words }

// Unwrap returns the failure as it was.
func (f *fault) Unwrap() error { return f.cause }

// Plain returns err in plain words when the network failed, and wraps it; any
// other error is returned as it is, nil stays nil. What says itself what is to be
// said, by a method Plain() string, is taken at its word.
func Plain(err error) error {
	var already *fault
	if err == nil || errors.As(err, &already) {
		return err
	}
	type plain interface {
		error
		Plain() string
	}
	if said, ok := errors.AsType[plain](err); ok {
		return &fault{said.Plain(), err}
	}
	words := wordsFor(err)
	if words == "" && tells(err.Error()) {
		words = "the connection failed"
	}
	if words == "" {
		return err
	}
	return &fault{words, err}
}

// Cause returns the failure behind plain words as the system reported it, without
// the URL that was asked for. It is for logs.
func Cause(err error) string {
	if f, ok := errors.AsType[*fault](err); ok {
		err = f.cause
	}
	if u, ok := errors.AsType[*url.Error](err); ok {
		err = u.Err
	}
	if err == nil {
		return ""
	}
	return err.Error()
}

func wordsFor(err error) string {
	var name *net.DNSError
	var timeout interface{ Timeout() bool }
	var file *fs.PathError
	switch {
	case errors.Is(err, ErrAddress):
		return "its address is not allowed"
	case errors.As(err, &name) && name.IsNotFound:
		return "its host was not found"
	case errors.As(err, &name):
		return "its host could not be looked up"
	case errors.Is(err, context.Canceled):
		return "" // the caller's own doing
	case errors.As(err, &file):
		return "a file of this program could not be used"
	case errors.As(err, &timeout) && timeout.Timeout(), errors.Is(err, os.ErrDeadlineExceeded):
		return "no answer in time"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "the connection was refused"
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return "the connection was reset"
	case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH), errors.Is(err, syscall.EADDRNOTAVAIL):
		return "its network cannot be reached"
	case errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE):
		return "this program has no connection left"
	}
	if words := tlsWords(err); words != "" {
		return words
	}
	return httpWords(err)
}

func tlsWords(err error) string {
	var (
		authority x509.UnknownAuthorityError
		name      x509.HostnameError
		invalid   x509.CertificateInvalidError
		record    tls.RecordHeaderError
		alert     tls.AlertError
		verify    *tls.CertificateVerificationError
	)
	switch {
	case errors.As(err, &name):
		return "TLS: its certificate is for another name"
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return "TLS: its certificate has expired or is not valid yet"
	case errors.As(err, &authority):
		return "TLS: its certificate is not signed by a trusted authority"
	case errors.As(err, &verify), errors.As(err, &invalid):
		return "TLS: its certificate is not valid"
	case errors.As(err, &record):
		return "TLS: it does not speak TLS there"
	case errors.As(err, &alert), strings.Contains(err.Error(), "tls: "):
		return "TLS: it refuses the handshake"
	}
	return ""
}

// httpWords is for what package http tells by its texts alone. Some of them
// quote what came.
func httpWords(err error) string {
	text := err.Error()
	switch {
	case strings.Contains(text, "server gave HTTP response to HTTPS client"):
		return "TLS: it does not speak TLS there"
	case strings.Contains(text, "malformed"), strings.Contains(text, "bad Content-Length"), strings.Contains(text, "unsupported transfer encoding"),
		strings.Contains(text, "invalid header"), strings.Contains(text, "too many transfer encodings"),
		strings.Contains(text, "Content-Length"), strings.Contains(text, "chunk"), strings.Contains(text, "railer"), strings.Contains(text, "header line too long"),
		strings.Contains(text, "readLoopPeekFailLocked"): // it spoke before it was asked
		return "what answers there is not HTTP"
	case strings.Contains(text, "server response headers exceeded"):
		return "its answer has too many headers"
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, net.ErrClosed), strings.Contains(text, "server closed idle connection"):
		return "the connection was closed before an answer"
	case strings.Contains(text, "transport connection broken"): // whatever the next Go calls it
		return "what answers there is not HTTP"
	}
	return ""
}

// tells reports whether a text names an address or where to look for one. An
// error that is none of the above may have been made a text on its way.
func tells(text string) bool {
	for _, mark := range []string{"://", "dial tcp", "dial udp", ": lookup ", "read tcp", "write tcp"} {
		if strings.Contains(": "+text, mark) {
			return true
		}
	}
	for _, word := range strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(" \t\n\"'(),;=<>", r) }) {
		word = strings.TrimSuffix(word, ":")
		if _, err := netip.ParseAddrPort(word); err == nil {
			return true
		}
		if _, err := netip.ParseAddr(strings.Trim(word, "[]")); err == nil {
			return true
		}
	}
	return false
}
