// Package proxy reaches servers through a proxy: an HTTP proxy by CONNECT, with
// TLS to the proxy itself or without, or a SOCKS5 proxy. The name of the server
// is given to the proxy as it is: nothing here asks who it belongs to.
//
// A dial ends in a connection through the proxy or in an [Error], which names
// the step that failed in words that anybody may read. It never ends in a
// connection that goes another way. A [Server] prints without its password,
// whichever way it is printed.
package proxy
