package mcp

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"postern/internal/nesting"
)

// Reasons to refuse a message.
var (
	errNotOne = errors.New("the body must be a single JSON-RPC 2.0 message; batches are not supported")
	errID     = errors.New("the id must be a text, or an integer between -(2^53 - 1) and 2^53 - 1")
	errLong   = fmt.Errorf("a message has at most %d bytes", maxRequest)
)

// oneMessage returns what a body or a line says.
func oneMessage(text []byte) (jsonrpc.Message, error) {
	if err := nesting.Check(text); err != nil {
		return nil, err
	}
	m, err := jsonrpc.DecodeMessage(text)
	switch {
	case err != nil || !json.Valid(text): // the SDK reads the first of several, too
		return nil, errNotOne
	case !exactID(text):
		return nil, errID
	}
	return m, nil
}

// lines reads a client's messages, one per line, and answers invalid ones itself: the
// SDK would end the session, or read the id as that of another call.
type lines struct {
	io.Closer

	from *bufio.Reader
	to   io.Writer // one line a Write
	rest []byte    // of a line that is taken
}

// Read implements io.Reader.
func (l *lines) Read(p []byte) (int, error) {
	for len(l.rest) == 0 {
		line, err := l.line()
		if len(line) > 0 {
			_, err = oneMessage(line)
		}
		switch {
		case err == nil && len(line) > 0:
			l.rest = append(line, '\n')
		case len(line) > 0 || errors.Is(err, errLong):
			err = l.refuse(err)
		}
		if err != nil {
			return 0, err
		}
	}
	n := copy(p, l.rest)
	l.rest = l.rest[n:]
	return n, nil
}

// line returns the next one without its end. One without an end is the last.
func (l *lines) line() (line []byte, err error) {
	for long := false; ; {
		part, err := l.from.ReadSlice('\n')
		if long = long || len(line)+len(part) > maxRequest; long {
			line = nil
		} else {
			line = append(line, part...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
		case long:
			return nil, errLong
		default:
			return bytes.TrimSpace(line), err
		}
	}
}

func (l *lines) refuse(why error) error {
	text, err := json.Marshal(refusalOf(why.Error()))
	if err == nil {
		_, err = l.to.Write(append(text, '\n'))
	}
	return err
}

// refusalOf returns the answer to an invalid message.
func refusalOf(why string) any {
	return map[string]any{
		"jsonrpc": "2.0", "id": nil,
		"error": map[string]any{"code": jsonrpc.CodeInvalidRequest, "message": why},
	}
}

// inTurn serializes writes.
type inTurn struct {
	io.WriteCloser

	mu sync.Mutex
}

// Write implements io.Writer.
func (w *inTurn) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.WriteCloser.Write(p)
}
