package standby

import (
	"bufio"
	"encoding/binary"
	"net"
	"net/http"
	"sync"
	"time"
)

// socketWriter is the answer to a request that may become a WebSocket to the owner.
type socketWriter struct{ http.ResponseWriter }

// Hijack implements http.Hijacker.
func (w socketWriter) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	c, rw, err := http.NewResponseController(w.ResponseWriter).Hijack()
	if err != nil {
		return nil, nil, err
	}
	return &socket{Conn: c}, rw, nil
}

// Unwrap is called by http.ResponseController.
func (w socketWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// socket is the connection of a client whose WebSocket leads to the owner. It follows the
// frames that the owner sends, so that a client whose owner is lost gets a close frame.
type socket struct {
	net.Conn

	mu     sync.Mutex
	head   []byte // of the frame that has begun, incomplete
	rest   uint64 // bytes of its payload that are still to come
	closed bool   // a close frame was sent
}

// opClose is the first byte of an unfragmented close frame.
const opClose = 0x88

// serviceRestart is a close frame with the status 1012.
var serviceRestart = []byte{opClose, 2, 1012 >> 8, 1012 & 0xFF}

// closeWait bounds the write of a close frame to a client that reads nothing.
const closeWait = time.Second

// Write implements net.Conn.
func (s *socket) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n, err := s.Conn.Write(p)
	s.follow(p[:n])
	return n, err
}

// follow notes where the frames in p begin and end. The caller holds s.mu.
func (s *socket) follow(p []byte) {
	for len(p) > 0 {
		if s.rest > 0 {
			skip := min(s.rest, uint64(len(p)))
			s.rest, p = s.rest-skip, p[skip:]
			continue
		}
		s.head, p = append(s.head, p[0]), p[1:]
		if length, complete := payloadOf(s.head); complete {
			s.closed = s.closed || s.head[0] == opClose
			s.head, s.rest = s.head[:0], length
		}
	}
}

// payloadOf returns the length of the payload that follows a complete head of a frame of a
// server, which has no mask.
func payloadOf(head []byte) (length uint64, complete bool) {
	if len(head) < 2 {
		return 0, false
	}
	switch length = uint64(head[1] & 0x7F); length {
	case 126:
		if len(head) < 4 {
			return 0, false
		}
		return uint64(binary.BigEndian.Uint16(head[2:])), true
	case 127:
		if len(head) < 10 {
			return 0, false
		}
		return binary.BigEndian.Uint64(head[2:]), true
	}
	return length, true
}

// Close closes the connection. A client that got no close frame gets one with the status
// 1012, unless a frame is incomplete.
func (s *socket) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed && s.rest == 0 && len(s.head) == 0 {
		_ = s.SetWriteDeadline(time.Now().Add(closeWait))
		_, _ = s.Conn.Write(serviceRestart) // the client may be gone
	}
	s.closed = true
	return s.Conn.Close()
}
