package wire

import (
	"bytes"
	"compress/zlib"
	"errors"
	"fmt"
	"io"

	waBinary "go.mau.fi/whatsmeow/binary"
	"go.mau.fi/whatsmeow/binary/token"
	"go.mau.fi/whatsmeow/types"
)

// maxDepth is the deepest nesting of stanzas; real ones stay below ten.
const maxDepth = 32

var errStanza = errors.New("malformed stanza")

// Decode decodes a decrypted frame; any malformed input is an error. The library's
// decoder trusts list sizes and nesting and panics on some inputs, so Decode checks
// both before and recovers panics.
func Decode(frame []byte) (node *waBinary.Node, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			node, err = nil, fmt.Errorf("%w: %v", errStanza, cause)
		}
	}()
	data, err := unpack(frame)
	if err != nil {
		return nil, err
	}
	c := stanzaCheck{data: data}
	if err := c.value(0); err != nil {
		return nil, err
	}
	node, err = waBinary.Unmarshal(data)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errStanza, err)
	}
	return node, nil
}

// unpack removes the flag byte and the compression that it indicates.
func unpack(frame []byte) ([]byte, error) {
	if len(frame) < 2 {
		return nil, fmt.Errorf("%d bytes: %w", len(frame), errStanza)
	}
	if frame[0]&2 == 0 {
		return frame[1:], nil
	}
	z, err := zlib.NewReader(bytes.NewReader(frame[1:]))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errStanza, err)
	}
	data, err := io.ReadAll(io.LimitReader(z, maxFrame+1))
	if err != nil || len(data) > maxFrame {
		return nil, fmt.Errorf("compressed content: %w", errors.Join(errStanza, err))
	}
	return data, nil
}

// stanzaCheck walks the encoding without building anything. It rejects deep nesting,
// and lists longer than the bytes that could fill them.
type stanzaCheck struct{ data []byte }

func (c *stanzaCheck) take(n int) ([]byte, error) {
	if n < 0 || n > len(c.data) {
		return nil, fmt.Errorf("ends early: %w", errStanza)
	}
	taken := c.data[:n]
	c.data = c.data[n:]
	return taken, nil
}

// number reads a big-endian integer of n bytes.
func (c *stanzaCheck) number(n int) (int, error) {
	raw, err := c.take(n)
	value := 0
	for _, b := range raw {
		value = value<<8 | int(b)
	}
	return value, err
}

func (c *stanzaCheck) value(depth int) error {
	if depth > maxDepth {
		return fmt.Errorf("nested too deep: %w", errStanza)
	}
	tag, err := c.number(1)
	if err != nil {
		return err
	}
	switch tag {
	case token.List8:
		return c.list(1, depth)
	case token.List16:
		return c.list(2, depth)
	case token.Binary8:
		return c.skipSized(1)
	case token.Binary20:
		return c.skipSized(3)
	case token.Binary32:
		return c.skipSized(4)
	case token.Nibble8, token.Hex8:
		n, err := c.number(1)
		if err == nil {
			_, err = c.take(n & 127)
		}
		return err
	case token.JIDPair:
		if err := c.value(depth + 1); err != nil {
			return err
		}
		return c.value(depth + 1)
	case token.ADJID:
		return c.skipThen(2, depth)
	case token.FBJID, token.InteropJID:
		return fmt.Errorf("address of another network: %w", errStanza)
	case token.Dictionary0, token.Dictionary1, token.Dictionary2, token.Dictionary3:
		_, err := c.take(1)
		return err
	default:
		return nil // a token of one byte, or the decoder's to refuse
	}
}

func (c *stanzaCheck) skipThen(n, depth int) error {
	if _, err := c.take(n); err != nil {
		return err
	}
	return c.value(depth + 1)
}

func (c *stanzaCheck) skipSized(width int) error {
	n, err := c.number(width)
	if err != nil {
		return err
	}
	if width == 3 {
		n &= 0xFFFFF
	}
	_, err = c.take(n)
	return err
}

func (c *stanzaCheck) list(width, depth int) error {
	size, err := c.number(width)
	if err != nil {
		return err
	}
	if size > len(c.data) {
		return fmt.Errorf("list of %d in %d bytes: %w", size, len(c.data), errStanza)
	}
	for range size {
		if err := c.value(depth + 1); err != nil {
			return err
		}
	}
	return nil
}

// Encode is the reverse of Decode. It panics on attribute types that the wire does not
// have, which is a bug of its caller.
func Encode(n waBinary.Node) ([]byte, error) {
	raw, err := waBinary.Marshal(n)
	if err != nil {
		return nil, fmt.Errorf("encode <%s>: %w", n.Tag, err)
	}
	return raw, nil
}

// Attr returns a text attribute, "" if missing or of another type.
func Attr(n *waBinary.Node, key string) string {
	value, _ := n.Attrs[key].(string)
	return value
}

// JID returns an address attribute, empty if missing or of another type.
func JID(n *waBinary.Node, key string) types.JID {
	value, _ := n.Attrs[key].(types.JID)
	return value
}

// Content returns a node's text or bytes: short strings may arrive packed as text.
func Content(n waBinary.Node) []byte {
	switch value := n.Content.(type) {
	case []byte:
		return value
	case string:
		return []byte(value)
	default:
		return nil
	}
}

// FirstChild returns the node's first child, empty if there is none.
func FirstChild(n *waBinary.Node) waBinary.Node {
	if children := n.GetChildren(); len(children) > 0 {
		return children[0]
	}
	return waBinary.Node{}
}
