package files

import (
	"errors"
	"io"
	"net/http"
	"os"
	"time"

	"postern/httpapi/rest"
)

const (
	stallTimeout = 30 * time.Second // a client that takes nothing for so long is disconnected
	sendPiece    = 1 << 20          // of a file, by the kernel
	copyPiece    = 32 << 10         // through memory
)

// stream writes a file to the client. By plain HTTP/1 the kernel copies it.
type stream struct {
	*rest.Response

	plain bool // no TLS
}

// ReadFrom implements io.ReaderFrom.
func (s *stream) ReadFrom(r io.Reader) (n int64, err error) {
	direct, ok := s.ResponseWriter.(io.ReaderFrom)
	limited, bounded := r.(*io.LimitedReader)
	if remote, is := source(r).(interface{ Expect(n int64) }); is {
		remote.Expect(limited.N)
	}
	if !ok || !bounded || !s.plain {
		return s.copy(r)
	}
	deadline := http.NewResponseController(s.ResponseWriter)
	for limited.N > 0 {
		_ = deadline.SetWriteDeadline(time.Now().Add(stallTimeout))
		piece := &io.LimitedReader{R: limited.R, N: min(limited.N, sendPiece)}
		wrote, err := direct.ReadFrom(piece)
		n, limited.N = n+wrote, limited.N-wrote
		if wrote > 0 && errors.Is(err, os.ErrDeadlineExceeded) {
			continue // slow
		}
		if err != nil || wrote == 0 {
			s.Lost = err != nil
			return n, err
		}
	}
	return n, nil
}

// source returns what a bounded reader reads from; nil for another one.
func source(r io.Reader) io.Reader {
	if limited, is := r.(*io.LimitedReader); is {
		return limited.R
	}
	return nil
}

func (s *stream) copy(r io.Reader) (n int64, err error) {
	deadline := http.NewResponseController(s.ResponseWriter)
	buffer := make([]byte, copyPiece)
	for {
		read, err := r.Read(buffer)
		if read > 0 {
			_ = deadline.SetWriteDeadline(time.Now().Add(stallTimeout))
			wrote, err := s.ResponseWriter.Write(buffer[:read])
			n += int64(wrote)
			if err != nil {
				s.Lost = true
				return n, err
			}
		}
		if errors.Is(err, io.EOF) {
			return n, nil
		}
		if err != nil {
			return n, err
		}
	}
}
