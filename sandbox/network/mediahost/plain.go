package mediahost

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"hash"
	"io"
	"net/http"
	"strings"
)

// Files of channels are not encrypted. Their upload has a path of its own, and its answer a handle,
// which the post of the file repeats.

// uploadPlain takes POST /newsletter/newsletter-<type>/<token>, where the token is the SHA-256 of the
// file.
func (h *Host) uploadPlain(w http.ResponseWriter, r *http.Request) {
	token, err := base64.URLEncoding.DecodeString(r.PathValue("token"))
	if _, plain := strings.CutPrefix(r.PathValue("type"), "newsletter-"); !plain || err != nil || len(token) != sha256.Size {
		http.Error(w, "not an upload for a channel", http.StatusBadRequest)
		return
	}
	sum := hashing{r.Body, sha256.New()}
	r.Body = &sum
	h.take(w, r, func(file sealedFile) (map[string]string, error) {
		if !bytes.Equal(sum.Sum(nil), token) {
			return nil, errors.New("the token is not the hash of the file")
		}
		id := newID()
		h.add(id, file)
		return map[string]string{"url": URL(Path(id)), "direct_path": Path(id), "handle": h.handle(id)}, nil
	})
}

// hashing hashes what is read.
type hashing struct {
	io.ReadCloser
	hash.Hash
}

// Read implements io.Reader.
func (s *hashing) Read(p []byte) (n int, err error) {
	n, err = s.ReadCloser.Read(p)
	_, _ = s.Write(p[:n])
	return n, err
}

// handle makes the handle of a file. The host forgets it when it ends.
func (h *Host) handle(id string) string {
	h.mu.Lock()
	defer h.mu.Unlock()
	handle := "1:" + newID()
	h.handles[handle] = id
	return handle
}

// Upload returns a file of a channel by the handle of its upload.
func (h *Host) Upload(handle string) (path string, file []byte, ok bool) {
	h.mu.Lock()
	id, known := h.handles[handle]
	h.mu.Unlock()
	if !known {
		return "", nil, false
	}
	file, ok = h.File(Path(id))
	return Path(id), file, ok
}

// PutPlain stores a file of a channel. It has no keys.
func (h *Host) PutPlain(data []byte) Sealed {
	sum := sha256.Sum256(data)
	s := Sealed{Path: Path(h.Put(data)), Hash: sum[:], Size: uint64(len(data))}
	s.URL = URL(s.Path)
	return s
}
