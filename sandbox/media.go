package sandbox

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
)

const (
	mediaHost = "mmg.whatsapp.net"
	// maxMedia bounds one file, maxMediaTotal all of them: the oldest go first.
	maxMedia      = 128 << 20
	maxMediaTotal = 512 << 20
)

// mediaStore keeps encrypted media in memory; it does not survive a restart.
type mediaStore struct {
	mu    sync.Mutex // guards everything below
	files map[string][]byte
	order []string // oldest first
	total int
}

func newMediaStore() *mediaStore { return &mediaStore{files: map[string][]byte{}} }

func (m *mediaStore) put(data []byte) (id string) {
	var raw [16]byte
	_, _ = rand.Read(raw[:]) // crypto/rand never fails
	id = hex.EncodeToString(raw[:])
	m.keep(id, data)
	return id
}

// keep stores a file under an id that nothing else has.
func (m *mediaStore) keep(id string, data []byte) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.files[id] = data
	m.order = append(m.order, id)
	m.total += len(data)
	for m.total > maxMediaTotal {
		oldest := m.order[0]
		m.order = m.order[1:]
		m.total -= len(m.files[oldest])
		delete(m.files, oldest)
	}
}

func (m *mediaStore) get(id string) ([]byte, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	data, ok := m.files[id]
	return data, ok
}

// upload takes POST /mms/<type>/<token>.
func (m *mediaStore) upload(w http.ResponseWriter, r *http.Request) {
	data, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxMedia))
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		http.Error(w, "the file is too large", http.StatusRequestEntityTooLarge)
		return
	case err != nil:
		http.Error(w, "the upload ended early", http.StatusBadRequest)
		return
	}
	path := mediaPath(m.put(data))
	w.Header().Set("Content-Type", "application/json")
	answer := map[string]string{"url": "https://" + mediaHost + path, "direct_path": path}
	_ = json.NewEncoder(w).Encode(answer)
}

// mediaPath contains a query because clients append "&hash=" to it.
func mediaPath(id string) string { return fmt.Sprintf("/v/%s?ccb=1", id) }

// download serves what mediaPath names.
func (m *mediaStore) download(w http.ResponseWriter, r *http.Request) {
	data, ok := m.get(r.PathValue("id"))
	if !ok {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	_, _ = w.Write(data)
}

// PutMedia stores encrypted media as an upload would, and returns its URL and direct path.
func (s *Server) PutMedia(data []byte) (mediaURL, directPath string) {
	path := mediaPath(s.media.put(data))
	return "https://" + mediaHost + path, path
}

// Media returns the encrypted bytes behind a direct path or a media URL.
func (s *Server) Media(path string) ([]byte, bool) {
	u, err := url.Parse(path)
	if err != nil {
		return nil, false
	}
	return s.media.get(strings.TrimPrefix(u.Path, "/v/"))
}

// ForgetMedia removes what is behind a direct path or a media URL, as WhatsApp does with
// files after some weeks.
func (s *Server) ForgetMedia(path string) {
	u, err := url.Parse(path)
	if err != nil {
		return
	}
	id := strings.TrimPrefix(u.Path, "/v/")
	s.media.mu.Lock()
	defer s.media.mu.Unlock()
	s.media.total -= len(s.media.files[id])
	delete(s.media.files, id)
}
