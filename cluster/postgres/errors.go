package postgres

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"postern/cluster"
	"postern/store"
)

// fault is an error of the server or of the connection. It wraps none of the client library:
// those hold the password.
type fault struct {
	kinds []error
	text  string
}

func (f *fault) Error() string   { return f.text }
func (f *fault) Unwrap() []error { return f.kinds }

var (
	errRecovery = errors.New("the server takes no changes: it is a standby, or its sessions are read-only")
	errPooler   = errors.New("a connection pooler is between this program and the server: connect to the server itself")
)

// fault returns what callers see of an error of a call.
func (d *Database) fault(ctx context.Context, err error) error {
	if err == nil || ours(err) {
		return err
	}
	kinds, text := describe(err)
	if cause := context.Cause(ctx); cause != nil {
		kinds = append(kinds, cause)
	}
	return &fault{kinds, fmt.Sprintf("%s: %s", kinds[0], redact(d.secrets, text))}
}

// ours reports whether err was made by this package.
func ours(err error) bool {
	for _, own := range []error{
		store.ErrFenced, store.ErrDiverged, store.ErrDiskFull, cluster.ErrUnreachable, cluster.ErrRefused, cluster.ErrReadOnly, cluster.ErrUnfit, cluster.ErrExists,
		cluster.ErrChanged, cluster.ErrNameTaken, cluster.ErrInDoubt,
	} {
		if errors.Is(err, own) {
			return true
		}
	}
	_, is := errors.AsType[*fault](err)
	return is
}

// describe returns what kind of error err is, and why it happened.
func describe(err error) (kinds []error, text string) {
	switch pe, is := errors.AsType[*pgconn.PgError](err); {
	case is:
		kinds, advice := kindOf(pe.Code)
		return kinds, fmt.Sprintf("%s (SQLSTATE %s)%s", pe.Message, pe.Code, advice)
	case errors.Is(err, errPooler):
		return []error{cluster.ErrUnfit}, errPooler.Error()
	case errors.Is(err, errRecovery):
		return []error{cluster.ErrReadOnly}, errRecovery.Error()
	case ofTLS(err):
		return []error{cluster.ErrRefused}, plain(err) + ": check sslmode and sslrootcert of store.url"
	}
	return []error{cluster.ErrUnreachable}, plain(err)
}

// kindOf returns what an error of the server means, and what to do about it.
func kindOf(code string) (kinds []error, advice string) {
	one := func(kind error, advice string) ([]error, string) { return []error{kind}, advice }
	switch {
	case code == "53100":
		return []error{store.ErrDiskFull, cluster.ErrRefused}, ": free space on the server"
	case code == "53300":
		return one(cluster.ErrRefused, ": raise max_connections of the server, or let other programs use fewer connections")
	case code == readOnly:
		return one(cluster.ErrReadOnly, "")
	case strings.HasPrefix(code, "28"):
		return one(cluster.ErrRefused, ": check user and password of store.url, and pg_hba.conf of the server")
	case code == "3D000":
		return one(cluster.ErrRefused, ": create the database, or correct its name in store.url")
	case code == "42501":
		return one(cluster.ErrRefused, ": grant the user of store.url the rights that `postern migrate --print-sql` names")
	case code == "42704":
		return one(cluster.ErrRefused, ": check the parameters of store.url")
	case strings.HasPrefix(code, "42"), strings.HasPrefix(code, "3F"):
		return one(cluster.ErrUnfit, ": compare the schema postern with `postern migrate --print-sql`")
	case strings.HasPrefix(code, "22"), strings.HasPrefix(code, "23"), strings.HasPrefix(code, "54"):
		return one(errStatement, "")
	}
	return one(cluster.ErrUnreachable, "")
}

// errStatement: the server refuses what a statement says, now and later.
var errStatement = errors.New("the database refuses the data")

// ofTLS reports whether no TLS connection could be made for a reason that lasts.
func ofTLS(err error) bool {
	_, authority := errors.AsType[x509.UnknownAuthorityError](err)
	_, host := errors.AsType[x509.HostnameError](err)
	_, invalid := errors.AsType[x509.CertificateInvalidError](err)
	_, verification := errors.AsType[*tls.CertificateVerificationError](err)
	_, alert := errors.AsType[tls.AlertError](err)
	return authority || host || invalid || verification || alert || strings.Contains(err.Error(), "server refused TLS connection") && !refusedPlain(err)
}

// refusedPlain reports whether a connection without TLS was tried as well, and failed.
func refusedPlain(err error) bool {
	_, is := errors.AsType[*net.OpError](err)
	return is
}

// plain returns the text of an error of the connection in one line.
func plain(err error) string {
	if all, is := err.(interface{ Unwrap() []error }); is { //nolint:errorlint // the outermost one is of several hosts
		var texts []string
		for _, one := range all.Unwrap() {
			texts = append(texts, plain(one))
		}
		return strings.Join(texts, "; ")
	}
	if ce, is := errors.AsType[*pgconn.ConnectError](err); is {
		return plain(ce.Unwrap())
	}
	return strings.ReplaceAll(err.Error(), "\n", "; ")
}

// lost reports whether a statement that failed with err may have been carried out.
func lost(err error) bool {
	pe, is := errors.AsType[*pgconn.PgError](err)
	return !is || pe.SeverityUnlocalized == "FATAL" || pe.SeverityUnlocalized == "PANIC"
}

// readOnly is the code of a server that takes no changes.
const readOnly = "25006"

// sqlState returns the code of an error of the server, empty for others.
func sqlState(err error) string {
	if pe, is := errors.AsType[*pgconn.PgError](err); is {
		return pe.Code
	}
	return ""
}
