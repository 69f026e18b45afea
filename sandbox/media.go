package sandbox

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
)

const (
	mediaHost = "mmg.whatsapp.net"
	// maxMedia bounds one file, maxMediaTotal all of them: the oldest go first.
	maxMedia      = 128 << 20
	maxMediaTotal = 1 << 30
	// maxInMemory is the largest file that is not on the disk.
	maxInMemory = 1 << 20
)

// mediaStore keeps encrypted media; it does not survive a restart.
type mediaStore struct {
	folder string // of large files; empty: the system's for temporary ones

	mu    sync.Mutex // guards everything below
	files map[string]sealedFile
	again map[string]string // ids of what phones uploaded again, and of the files
	order []string          // of files, oldest first
	total int64
}

// sealedFile is one encrypted file.
type sealedFile struct {
	size int64
	data []byte   // nil: the file is on the disk
	file *os.File // without a name, where the system allows that: nothing is left of it after a kill
	gone bool     // at WhatsApp; phones have it
}

func (f *sealedFile) reader() io.ReadSeeker {
	if f.file == nil {
		return bytes.NewReader(f.data)
	}
	return io.NewSectionReader(f.file, 0, f.size)
}

// drop frees the disk. Whoever reads the file is cut off.
func (f *sealedFile) drop() {
	if f.file != nil {
		_ = f.file.Close()
		_ = os.Remove(f.file.Name()) // where an open file cannot be removed
	}
}

// mediaFolder is where the large files of a sandbox with this data file are.
func mediaFolder(path string) string {
	if path == "" {
		return ""
	}
	return filepath.Dir(path)
}

func newMediaStore(folder string) *mediaStore {
	return &mediaStore{folder: folder, files: map[string]sealedFile{}, again: map[string]string{}}
}

func newMediaID() string { return hex.EncodeToString(randomBytes(16)) }

func (m *mediaStore) put(data []byte) (id string) {
	id = newMediaID()
	m.keep(id, data)
	return id
}

// keep stores a file under an id that nothing else has.
func (m *mediaStore) keep(id string, data []byte) {
	m.add(id, sealedFile{data: data, size: int64(len(data))})
}

func (m *mediaStore) add(id string, f sealedFile) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.files[id] = f
	m.order = append(m.order, id)
	m.total += f.size
	for m.total > maxMediaTotal {
		m.remove(m.order[0])
	}
}

// remove forgets a file. The caller holds m.mu.
func (m *mediaStore) remove(id string) {
	f := m.files[id]
	f.drop()
	m.total -= f.size
	delete(m.files, id)
	m.order = slices.DeleteFunc(m.order, func(other string) bool { return other == id })
	maps.DeleteFunc(m.again, func(_, of string) bool { return of == id })
}

// get finds a file that WhatsApp has.
func (m *mediaStore) get(id string) (f sealedFile, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if of, again := m.again[id]; again {
		f, ok = m.files[of]
		return f, ok
	}
	f, ok = m.files[id]
	return f, ok && !f.gone
}

// close forgets all files.
func (m *mediaStore) close() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for len(m.order) > 0 {
		m.remove(m.order[0])
	}
}

// receive reads a file, to the disk when it is large.
func (m *mediaStore) receive(body io.Reader) (f sealedFile, err error) {
	f.data, err = io.ReadAll(io.LimitReader(body, maxInMemory+1))
	if f.size = int64(len(f.data)); err != nil || f.size <= maxInMemory {
		return f, err
	}
	if f.file, err = os.CreateTemp(m.folder, "sandbox-media-*"); err != nil {
		return f, fmt.Errorf("%w: %w", errMediaDisk, err)
	}
	_ = os.Remove(f.file.Name())
	if f.size, err = io.Copy(f.file, io.MultiReader(bytes.NewReader(f.data), body)); err != nil {
		f.drop()
	}
	f.data = nil
	return f, err
}

var errMediaDisk = errors.New("large media need a folder that can be written to")

// upload takes POST /mms/<type>/<token>.
func (m *mediaStore) upload(w http.ResponseWriter, r *http.Request) {
	file, err := m.receive(http.MaxBytesReader(w, r.Body, maxMedia))
	var tooLarge *http.MaxBytesError
	var disk *os.PathError
	switch {
	case errors.As(err, &tooLarge):
		http.Error(w, "the file is too large", http.StatusRequestEntityTooLarge)
		return
	case errors.As(err, &disk):
		http.Error(w, err.Error(), http.StatusInsufficientStorage)
		return
	case err != nil:
		http.Error(w, "the upload ended early", http.StatusBadRequest)
		return
	}
	id := newMediaID()
	m.add(id, file)
	path := mediaPath(id)
	w.Header().Set("Content-Type", "application/json")
	answer := map[string]string{"url": "https://" + mediaHost + path, "direct_path": path}
	_ = json.NewEncoder(w).Encode(answer)
}

// mediaPath contains a query because clients append "&hash=" to it.
func mediaPath(id string) string { return fmt.Sprintf("/v/%s?ccb=1", id) }

// mediaID is the id in a direct path or a media URL.
func mediaID(path string) string {
	u, err := url.Parse(path)
	if err != nil {
		return ""
	}
	return strings.TrimPrefix(u.Path, "/v/")
}

// download serves what mediaPath names.
func (m *mediaStore) download(w http.ResponseWriter, r *http.Request) {
	file, ok := m.get(r.PathValue("id"))
	if !ok {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Header().Set("Content-Length", strconv.FormatInt(file.size, 10))
	_, _ = io.Copy(w, file.reader())
}

// delete takes DELETE /mms/<type>/<token>, by which a client says that it has a piece of
// history. The path of the file is in the query.
func (m *mediaStore) delete(_ http.ResponseWriter, r *http.Request) {
	path, err := base64.RawURLEncoding.DecodeString(r.URL.Query().Get("d_md"))
	if err == nil {
		m.forget(string(path))
	}
}

func (m *mediaStore) forget(path string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.remove(mediaID(path))
}

// PutMedia stores encrypted media as an upload would, and returns its URL and direct path.
func (s *Server) PutMedia(data []byte) (mediaURL, directPath string) {
	path := mediaPath(s.media.put(data))
	return "https://" + mediaHost + path, path
}

// Media returns the encrypted bytes behind a direct path or a media URL.
func (s *Server) Media(path string) ([]byte, bool) {
	file, ok := s.media.get(mediaID(path))
	if !ok {
		return nil, false
	}
	data, err := io.ReadAll(file.reader())
	return data, err == nil
}

// ForgetMedia removes what is behind a direct path or a media URL, as WhatsApp does with
// files after some weeks. Phones that had the file keep it.
func (s *Server) ForgetMedia(path string) {
	s.media.mu.Lock()
	defer s.media.mu.Unlock()
	id := mediaID(path)
	if f, ok := s.media.files[id]; ok {
		f.gone = true
		s.media.files[id] = f
	}
}

// LoseMedia removes a file as ForgetMedia does, and from the phones too.
func (s *Server) LoseMedia(path string) { s.media.forget(path) }
