package proxy

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
)

// maxAnswer is the greatest size of an HTTP proxy's answer to CONNECT, in bytes.
const maxAnswer = 64 << 10

// connectHTTP requests a tunnel to address from an HTTP proxy.
func connectHTTP(ctx context.Context, conn net.Conn, via Server, address string) (net.Conn, error) {
	ask := (&http.Request{Method: http.MethodConnect, URL: &url.URL{Opaque: address}, Host: address, Header: http.Header{}}).WithContext(ctx)
	ask.Header.Set("User-Agent", "") // the proxy has no use for it
	if who, ok := via.credentials(); ok {
		named := &http.Request{Header: http.Header{}}
		named.SetBasicAuth(who.user, who.password)
		ask.Header.Set("Proxy-Authorization", named.Header.Get("Authorization"))
	}
	var answer *http.Response
	limited := &io.LimitedReader{R: conn, N: maxAnswer}
	in := bufio.NewReader(limited)
	err := bounded(ctx, conn, func() (err error) {
		if err = ask.Write(conn); err == nil {
			answer, err = http.ReadResponse(in, ask) //nolint:bodyclose // a tunnel has none, and any other answer ends the connection
		}
		return err
	})
	switch {
	case limited.N == 0:
		return nil, failed(Connect, "its answer is too long")
	case err != nil:
		return nil, notHTTP(err)
	case answer.StatusCode == http.StatusProxyAuthRequired:
		return nil, refusedLogin(via)
	case answer.StatusCode/100 != 2:
		return nil, failed(Connect, fmt.Sprintf("it answered CONNECT with status %d", answer.StatusCode))
	case in.Buffered() > 0:
		return nil, failed(Connect, "it sent unexpected data")
	}
	return conn, nil
}

// notHTTP returns why CONNECT got no answer. err may contain what came instead, which
// is not shown.
func notHTTP(err error) *Error {
	for _, lost := range []error{io.EOF, io.ErrUnexpectedEOF, context.Canceled, context.DeadlineExceeded} {
		if errors.Is(err, lost) {
			return Failed(Connect, err)
		}
	}
	if _, ok := errors.AsType[net.Error](err); ok {
		return Failed(Connect, err)
	}
	return failed(Connect, "the server is not an HTTP proxy")
}

// refusedLogin returns why a proxy requires or rejects credentials.
func refusedLogin(via Server) *Error {
	if _, sent := via.credentials(); sent {
		return failed(Auth, "it rejected the user and password")
	}
	return failed(Auth, "it requires a user and password")
}
