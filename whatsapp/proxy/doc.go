// Package proxy connects to servers through a proxy: an HTTP proxy by CONNECT, with or
// without TLS to the proxy, or a SOCKS5 proxy. The proxy resolves the name of the
// server; this package never does.
//
// A dial ends in a connection through the proxy or in an [Error], which names the
// failed step and contains no secrets. It never ends in a direct connection. A [Server]
// always prints without its password.
package proxy
