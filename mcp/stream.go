package mcp

import (
	"bufio"
	"context"
	"errors"
	"io"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// ErrNoKey is returned for a text that has not the form of a scoped key.
var ErrNoKey = errors.New("a scoped key begins with pk_; POST /keys creates one")

// ServeStream serves one client, such as the program that started this one: messages
// in lines, read from in and written to out, with that key for all of them. It returns
// when in ends, with nil, or ctx does. Errors: ErrNoKey, and that of the interface when it does
// not take the key at the start.
func (s *Server) ServeStream(ctx context.Context, key string, in io.ReadCloser, out io.WriteCloser) error {
	if !isKey(key) {
		return ErrNoKey
	}
	if err := s.identify(ctx, &caller{token: key}); err != nil {
		return err
	}
	to := &inTurn{WriteCloser: out}
	from := &lines{Closer: in, from: bufio.NewReader(in), to: to}
	t := &stream{sdk.IOTransport{Reader: from, Writer: to, MaxLineLength: 2 * maxRequest}, key}
	err := s.sdk.Run(ctx, t)
	if ctx.Err() != nil || errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// stream is a transport that says of each message who sent it.
type stream struct {
	sdk.IOTransport
	key string
}

// Connect implements sdk.Transport.
func (t *stream) Connect(ctx context.Context) (sdk.Connection, error) {
	c, err := t.IOTransport.Connect(ctx)
	return &streamConn{c, t}, err
}

type streamConn struct {
	sdk.Connection
	of *stream
}

// Read implements sdk.Connection.
func (c *streamConn) Read(ctx context.Context) (jsonrpc.Message, error) {
	m, err := c.Connection.Read(ctx)
	if r, ok := m.(*jsonrpc.Request); ok && err == nil {
		who := &caller{token: c.of.key, message: messageID(m)}
		r.Extra = &sdk.RequestExtra{TokenInfo: who.tokenInfo()}
	}
	return m, err
}
