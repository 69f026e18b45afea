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
	"time"
)

const (
	// Name is the host's name on the network, which the TLS certificate includes.
	Name = "mmg.whatsapp.net"
	// maxMedia is the largest file, maxMediaTotal the largest sum: the oldest are
	// removed first.
	maxMedia      = 128 << 20
	maxMediaTotal = 1 << 30
	// maxMediaAge is how long a file is kept.
	maxMediaAge = 30 * 24 * time.Hour
	// maxInMemory is the largest file kept in memory.
	maxInMemory = 1 << 20
)

// Host stores media, encrypted but those of channels, and serves them by HTTP. Its methods may be called from
// any goroutine.
type Host struct {
	// Refusal returns the status for downloads, 0 to serve them. It is set before
	// Handle; nil: serve all.
	Refusal func() int

	folder string // of the files; empty: files end with the host

	mu      sync.Mutex // guards everything below
	files   map[string]sealedFile
	again   map[string]string // ids of repeated uploads, with the ids of the files
	handles map[string]string // ids of the files of channels, by the handle of their upload
	order   []string          // of files, oldest first
	total   int64
	taken   int // uploads by clients
}

// sealedFile is one file as it was uploaded: encrypted, or in the clear for a channel.
type sealedFile struct {
	size int64
	at   time.Time // time of its upload
	data []byte    // nil: on the disk
	file *os.File  // unlinked if the system allows it, so that a kill leaves nothing
	path string    // of a kept file; empty: not kept
	gone bool      // removed from WhatsApp; phones have it
}

// open returns a reader of the file. The caller closes it.
func (f *sealedFile) open() (io.ReadCloser, error) {
	switch {
	case f.path != "":
		return os.Open(f.path)
	case f.file != nil:
		return io.NopCloser(io.NewSectionReader(f.file, 0, f.size)), nil
	default:
		return io.NopCloser(bytes.NewReader(f.data)), nil
	}
}

// drop frees the disk. Its readers fail.
func (f *sealedFile) drop() {
	if f.file != nil {
		_ = f.file.Close()
		_ = os.Remove(f.file.Name()) // for systems that cannot remove an open file
	}
	if f.path != "" {
		_ = os.Remove(f.path)
	}
}

// New returns a host that keeps files beyond Close in a folder, which is created when
// needed, and loads those that are there. With an empty name files end with the host,
// and large ones are in the system's temporary folder. The folder must not be used
// otherwise. The caller closes the host.
func New(folder string) (*Host, error) {
	h := &Host{folder: folder, files: map[string]sealedFile{}, again: map[string]string{}, handles: map[string]string{}}
	if folder == "" {
		return h, nil
	}
	if err := h.load(); err != nil {
		return nil, fmt.Errorf("media of the sandbox: %w", err)
	}
	return h, nil
}

func newID() string {
	var raw [16]byte
	_, _ = rand.Read(raw[:]) // crypto/rand never fails
	return hex.EncodeToString(raw[:])
}

// Taken returns the number of uploads by clients.
func (h *Host) Taken() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.taken
}

// Put stores a file and returns its id.
func (h *Host) Put(data []byte) (id string) {
	id = newID()
	h.Keep(id, data)
	return id
}

// Keep stores a file under an unused id.
func (h *Host) Keep(id string, data []byte) {
	h.add(id, sealedFile{data: data, size: int64(len(data))})
}

// add adds a file, replacing one of its id.
func (h *Host) add(id string, f sealedFile) {
	f.at = time.Now()
	h.store(id, &f)
	h.mu.Lock()
	defer h.mu.Unlock()
	if old, twice := h.files[id]; twice {
		if old.path != f.path {
			old.drop()
		}
		h.total -= old.size
		h.order = slices.DeleteFunc(h.order, func(other string) bool { return other == id })
	}
	h.files[id] = f
	h.order = append(h.order, id)
	h.total += f.size
	h.prune()
}

// prune removes files beyond the limits. The caller holds h.mu.
func (h *Host) prune() {
	for len(h.order) > 0 && (h.total > maxMediaTotal || time.Since(h.files[h.order[0]].at) > maxMediaAge) {
		h.remove(h.order[0])
	}
}

// remove deletes a file. The caller holds h.mu.
func (h *Host) remove(id string) {
	f := h.files[id]
	f.drop()
	h.total -= f.size
	delete(h.files, id)
	h.order = slices.DeleteFunc(h.order, func(other string) bool { return other == id })
	maps.DeleteFunc(h.again, func(_, of string) bool { return of == id })
	maps.DeleteFunc(h.handles, func(_, of string) bool { return of == id })
}

// get returns a file that WhatsApp has.
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

// Close deletes all files that are not kept.
func (h *Host) Close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for id, f := range h.files {
		f.path = "" // kept
		h.files[id] = f
	}
	for len(h.order) > 0 {
		h.remove(h.order[0])
	}
}

// Path returns the direct path of a file. It contains a query because clients append
// "&hash=" to it.
func Path(id string) string { return fmt.Sprintf("/v/%s?ccb=1", id) }

// idOf returns the id in a direct path or a media URL.
func idOf(path string) string {
	u, err := url.Parse(path)
	if err != nil {
		return ""
	}
	return strings.TrimPrefix(u.Path, "/v/")
}

// URL returns the URL of a direct path.
func URL(path string) string { return "https://" + Name + path }

// File returns the encrypted bytes at a direct path or a media URL that WhatsApp has.
func (h *Host) File(path string) ([]byte, bool) {
	f, ok := h.get(idOf(path))
	if !ok {
		return nil, false
	}
	r, err := f.open()
	if err != nil {
		return nil, false
	}
	defer r.Close()
	data, err := io.ReadAll(r)
	return data, err == nil
}

// Forget removes the file at a direct path or a media URL, like WhatsApp after some
// weeks. Phones that have the file keep it.
func (h *Host) Forget(path string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	id := idOf(path)
	if f, ok := h.files[id]; ok && !f.gone {
		f.gone = true
		f.rename(goneSuffix)
		h.files[id] = f
	}
}

// Lose removes a file like Forget, and also from the phones.
func (h *Host) Lose(path string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.remove(idOf(path))
}

// Again makes a file, removed or not, available at a new path; false if phones have
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
