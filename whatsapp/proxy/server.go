package proxy

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"net/url"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
	"unique"

	"postern/event"
)

// Kinds of proxies, as the scheme of their URL.
const (
	plainHTTP = "http"   // CONNECT
	overTLS   = "https"  // CONNECT, inside TLS to the proxy
	socks5    = "socks5" // RFC 1928
)

// MaxURL is the longest URL of a proxy, in characters.
const MaxURL = 500

// maxCredential is the longest user name, and the longest password, that SOCKS5
// can carry, in bytes.
const maxCredential = 255

// hiddenPassword replaces the password in a URL that is shown.
const hiddenPassword = "***"

// Use is what a proxy is used for.
type Use string

// Uses.
const (
	Socket Use = "socket" // the connection itself: login, pairing, messages
	Media  Use = "media"  // files to and from WhatsApp
)

// Uses returns all uses, in the order in which they are shown.
func Uses() []Use { return []Use{Socket, Media} }

// Server is a proxy with its credentials. The zero value is no proxy. Servers are
// comparable.
type Server struct {
	scheme string
	host   string // a name or an address
	port   string
	// login is the zero Handle without credentials. A Handle prints as a memory
	// address, also inside other values.
	login unique.Handle[login]
}

// login is the credentials for a proxy.
type login struct {
	user     string
	password string
	secret   bool // whether there is a password, which may be empty
}

// credentials returns the credentials for the proxy, if there are any.
func (s Server) credentials() (who login, ok bool) {
	if s.login == (unique.Handle[login]{}) {
		return who, false
	}
	return s.login.Value(), true
}

// Parse parses the URL of a proxy, such as http://user:password@host:3128. The default
// port is 80 for http, 443 for https and 1080 for socks5. Its errors are rules that can
// follow the name of a field; they never quote the text, which may contain a password.
func Parse(text string) (Server, error) {
	if utf8.RuneCountInString(text) > MaxURL {
		return Server{}, fmt.Errorf("must have at most %d characters", MaxURL)
	}
	u, err := url.Parse(text)
	if err != nil {
		return Server{}, errors.New("must be a URL such as http://user:password@proxy.example.org:3128, with other characters of user and password percent-encoded")
	}
	port, known := map[string]string{plainHTTP: "80", overTLS: "443", socks5: "1080"}[u.Scheme]
	switch {
	case !known:
		return Server{}, errors.New("must have the scheme http, https or socks5; names of servers are looked up by the proxy with each of them")
	case !isHost(u.Hostname()):
		return Server{}, errors.New("must name a host, by a name in ASCII, by an IPv4 address or by an IPv6 address in brackets")
	case u.Path != "" && u.Path != "/" || u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return Server{}, errors.New("must end with the port; a proxy has no path or query")
	}
	if err := event.CheckPort(u); err != nil {
		return Server{}, err
	}
	s := Server{scheme: u.Scheme, host: u.Hostname(), port: port}
	if u.Port() != "" {
		s.port = u.Port()
	}
	return s.as(u.User)
}

// nameMark is replaced by the name of an instance in a proxy URL for several instances.
const nameMark = "{instance}"

// ParseFor is Parse of a URL in which {instance} is replaced by name.
func ParseFor(text, name string) (Server, error) {
	return Parse(strings.ReplaceAll(text, nameMark, name))
}

var namePattern = regexp.MustCompile(`^[A-Za-z0-9._-]+$`)

func isHost(host string) bool {
	if namePattern.MatchString(host) {
		return true
	}
	_, err := netip.ParseAddr(host)
	return err == nil
}

// as returns the server with the credentials of its URL.
func (s Server) as(who *url.Userinfo) (Server, error) {
	if who == nil {
		return s, nil
	}
	in := login{user: who.Username()}
	in.password, in.secret = who.Password()
	switch {
	case strings.ContainsFunc(in.user+in.password, unicode.IsControl):
		return Server{}, errors.New("must have no control characters in user and password")
	case in.password == hiddenPassword:
		return Server{}, errors.New("has " + hiddenPassword + " in place of the password, as it is shown; give the password itself")
	case s.scheme == socks5 && (in.user == "" || len(in.user) > maxCredential || len(in.password) > maxCredential):
		return Server{}, fmt.Errorf("must have a user of 1 to %d bytes and a password of at most as many: socks5 carries no others", maxCredential)
	case s.scheme != socks5 && strings.Contains(in.user, ":"):
		return Server{}, errors.New("must have no colon in the user: an HTTP proxy would take it for the end of the name")
	}
	s.login = unique.Make(in)
	return s, nil
}

// IsZero reports whether s is no proxy.
func (s Server) IsZero() bool { return s == Server{} }

// Address returns the proxy's host and port.
func (s Server) Address() string { return net.JoinHostPort(s.host, s.port) }

// URL returns the proxy's URL with its user and with its password hidden, for those who
// may set it.
func (s Server) URL() string {
	u := url.URL{Scheme: s.scheme, Host: s.Address()}
	who, named := s.credentials()
	if named {
		u.User = url.User(who.user)
	}
	shown := u.String()
	if who.secret {
		shown = strings.Replace(shown, "@", ":"+hiddenPassword+"@", 1)
	}
	return shown
}

// String returns the proxy's URL without user and password, for logs.
func (s Server) String() string {
	if s.IsZero() {
		return "none"
	}
	return s.scheme + "://" + s.Address()
}

// Format implements fmt.Formatter: it prints String, whatever the verb.
func (s Server) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, s.String()) }

// MarshalText implements encoding.TextMarshaler: it writes String.
func (s Server) MarshalText() ([]byte, error) { return []byte(s.String()), nil }
