package mediahost

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"io"
	"maps"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
)

const (
	// Name is the host's name on the network; the TLS certificate is for it too.
	Name = "mmg.whatsapp.net"
	// maxMedia bounds one file, maxMediaTotal all of them: the oldest go first.
	maxMedia      = 128 << 20
	maxMediaTotal = 1 << 30
	// maxInMemory is the largest file that is not on the disk.
	maxInMemory = 1 << 20
)

// Host keeps encrypted media and serves them by HTTP. Its methods are safe for concurrent use.
type Host struct {
	// Refusal returns the status that answers downloads, 0 for none. It is set
	// before Handle; nil: none is refused.
	Refusal func() int

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

// New makes a host that keeps its large files in a folder; empty means the system's for
// temporary ones. The caller closes it.
func New(folder string) *Host {
	return &Host{folder: folder, files: map[string]sealedFile{}, again: map[string]string{}}
}

func newID() string {
	var raw [16]byte
	_, _ = rand.Read(raw[:]) // crypto/rand never fails
	return hex.EncodeToString(raw[:])
}

// Put stores a file and returns its id.
func (h *Host) Put(data []byte) (id string) {
	id = newID()
	h.Keep(id, data)
	return id
}

// Keep stores a file under an id that nothing else has.
func (h *Host) Keep(id string, data []byte) {
	h.add(id, sealedFile{data: data, size: int64(len(data))})
}

func (h *Host) add(id string, f sealedFile) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.files[id] = f
	h.order = append(h.order, id)
	h.total += f.size
	for h.total > maxMediaTotal {
		h.remove(h.order[0])
	}
}

// remove forgets a file. The caller holds h.mu.
func (h *Host) remove(id string) {
	f := h.files[id]
	f.drop()
	h.total -= f.size
	delete(h.files, id)
	h.order = slices.DeleteFunc(h.order, func(other string) bool { return other == id })
	maps.DeleteFunc(h.again, func(_, of string) bool { return of == id })
}

// get finds a file that WhatsApp has.
func (h *Host) get(id string) (f sealedFile, ok bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if of, again := h.again[id]; again {
		f, ok = h.files[of]
		return f, ok
	}
	f, ok = h.files[id]
	return f, ok && !f.gone
}

// Close forgets all files.
func (h *Host) Close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for len(h.order) > 0 {
		h.remove(h.order[0])
	}
}

// Path is the direct path of a file. It contains a query because clients append "&hash=" to it.
func Path(id string) string { return fmt.Sprintf("/v/%s?ccb=1", id) }

// idOf is the id in a direct path or a media URL.
func idOf(path string) string {
	u, err := url.Parse(path)
	if err != nil {
		return ""
	}
	return strings.TrimPrefix(u.Path, "/v/")
}

// URL is where a direct path is served.
func URL(path string) string { return "https://" + Name + path }

// File returns the encrypted bytes behind a direct path or a media URL that WhatsApp has.
func (h *Host) File(path string) ([]byte, bool) {
	f, ok := h.get(idOf(path))
	if !ok {
		return nil, false
	}
	data, err := io.ReadAll(f.reader())
	return data, err == nil
}

// Forget removes what is behind a direct path or a media URL, as WhatsApp does with files after
// some weeks. Phones that had the file keep it.
func (h *Host) Forget(path string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	id := idOf(path)
	if f, ok := h.files[id]; ok {
		f.gone = true
		h.files[id] = f
	}
}

// Lose removes a file as Forget does, and from the phones too.
func (h *Host) Lose(path string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.remove(idOf(path))
}

// Again makes a file that is gone, or is not, available under a new path; false when phones have
// lost it too.
func (h *Host) Again(path string) (newPath string, ok bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if _, ok = h.files[idOf(path)]; !ok {
		return "", false
	}
	id := newID()
	h.again[id] = idOf(path)
	return Path(id), true
}
