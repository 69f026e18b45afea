package wire

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"

	"github.com/coder/websocket"
	"go.mau.fi/whatsmeow/socket"
)

const (
	// maxFrame is the largest frame of a client, packed and unpacked. The largest
	// legitimate one is a long text with a long quote, once for each device of its
	// recipient.
	maxFrame    = 4 << 20
	frameHeader = 3
	// MaxMessage is the largest WebSocket message, in bytes: several frames may share
	// one.
	MaxMessage = 2 * maxFrame
)

var errFrame = errors.New("malformed frame")

// Source returns the next piece of the byte stream, of any length.
type Source func(ctx context.Context) ([]byte, error)

// FrameReader splits a byte stream into frames. It must not be used concurrently.
type FrameReader struct {
	next    Source
	pending []byte
}

// NewFrameReader reads the frames of a stream.
func NewFrameReader(next Source) *FrameReader { return &FrameReader{next: next} }

// fill waits until n bytes are pending.
func (f *FrameReader) fill(ctx context.Context, n int) error {
	for len(f.pending) < n {
		more, err := f.next(ctx)
		if err != nil {
			return err
		}
		f.pending = append(f.pending, more...)
	}
	return nil
}

// The routing header, which a client sends back before the magic: a magic and a version, the
// length, and the content of an earlier <edge_routing>.
const (
	routingMagic  = "ED\x00\x01"
	routingHeader = len(routingMagic) + 3
	maxRouting    = 1 << 10
)

// skipRouting reads the routing header, if there is one. The handshake's hash does not include it.
func (f *FrameReader) skipRouting(ctx context.Context) error {
	if err := f.fill(ctx, len(routingMagic)); err != nil {
		return err
	}
	if string(f.pending[:len(routingMagic)]) != routingMagic {
		return nil
	}
	if err := f.fill(ctx, routingHeader); err != nil {
		return err
	}
	size := int(f.pending[4])<<16 | int(f.pending[5])<<8 | int(f.pending[6])
	if size > maxRouting {
		return fmt.Errorf("routing header of %d bytes, at most %d are allowed: %w", size, maxRouting, errFrame)
	}
	if err := f.fill(ctx, routingHeader+size); err != nil {
		return err
	}
	f.pending = f.pending[routingHeader+size:]
	return nil
}

// Preamble reads the first bytes of a connection: a magic and the version of the token
// dictionary. They are part of the handshake's hash. A routing header before them is skipped.
func (f *FrameReader) Preamble(ctx context.Context) ([]byte, error) {
	want := socket.WAConnHeader
	if err := f.skipRouting(ctx); err != nil {
		return nil, err
	}
	if err := f.fill(ctx, len(want)); err != nil {
		return nil, err
	}
	got := f.pending[:len(want)]
	f.pending = f.pending[len(want):]
	if string(got) != string(want) {
		return nil, fmt.Errorf("connection header %s: %w", hex.EncodeToString(got), errFrame)
	}
	return want, nil
}

// Frame returns the next frame's content. It is valid until the next call.
func (f *FrameReader) Frame(ctx context.Context) ([]byte, error) {
	if err := f.fill(ctx, frameHeader); err != nil {
		return nil, err
	}
	size := int(f.pending[0])<<16 | int(f.pending[1])<<8 | int(f.pending[2])
	if size > maxFrame {
		return nil, fmt.Errorf("frame of %d bytes, at most %d are allowed: %w", size, maxFrame, errFrame)
	}
	if err := f.fill(ctx, frameHeader+size); err != nil {
		return nil, err
	}
	content := f.pending[frameHeader : frameHeader+size]
	f.pending = f.pending[frameHeader+size:]
	return content, nil
}

// WebSocket reads the binary messages of a WebSocket; any other ends the stream.
func WebSocket(ws *websocket.Conn) Source {
	return func(ctx context.Context) ([]byte, error) {
		kind, data, err := ws.Read(ctx)
		if err != nil {
			return nil, err
		}
		if kind != websocket.MessageBinary {
			return nil, fmt.Errorf("text message: %w", errFrame)
		}
		return data, nil
	}
}

// PackFrame prepends the length. Every frame is one WebSocket message, because
// whatsmeow misreads a frame split over two.
func PackFrame(content []byte) ([]byte, error) {
	if len(content) >= socket.FrameMaxSize {
		return nil, fmt.Errorf("frame of %d bytes: %w", len(content), errFrame)
	}
	n := len(content)
	return append([]byte{byte(n >> 16), byte(n >> 8), byte(n)}, content...), nil
}
