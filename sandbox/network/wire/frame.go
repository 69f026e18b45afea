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
	// maxFrame bounds what a client may send at once, packed and unpacked. The largest
	// legitimate frame is a long text with a long quote, once for each device of its reader.
	maxFrame    = 4 << 20
	frameHeader = 3
	// MaxMessage bounds a WebSocket message, in bytes: several frames may share one.
	MaxMessage = 2 * maxFrame
)

var errFrame = errors.New("malformed frame")

// Source returns the next piece of the byte stream, however it was cut.
type Source func(ctx context.Context) ([]byte, error)

// FrameReader cuts a byte stream into frames. It belongs to one goroutine.
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

// Preamble reads the bytes that begin a connection: a magic and the token dictionary's
// version. They take part in the handshake's hash.
func (f *FrameReader) Preamble(ctx context.Context) ([]byte, error) {
	want := socket.WAConnHeader
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

// PackFrame puts the length in front. Every frame is a WebSocket message of its own:
// whatsmeow reads a frame that is split over two messages wrongly.
func PackFrame(content []byte) ([]byte, error) {
	if len(content) >= socket.FrameMaxSize {
		return nil, fmt.Errorf("frame of %d bytes: %w", len(content), errFrame)
	}
	n := len(content)
	return append([]byte{byte(n >> 16), byte(n >> 8), byte(n)}, content...), nil
}
