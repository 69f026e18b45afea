package mediahost

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
)

// Handle adds the host's routes: uploads, downloads, and a client's confirmation that
// it has a piece of history.
func (h *Host) Handle(mux *http.ServeMux) {
	mux.HandleFunc("POST /mms/{type}/{token}", h.upload)
	mux.HandleFunc("POST /newsletter/{type}/{token}", h.uploadPlain)
	mux.HandleFunc("DELETE /mms/{type}/{token}", h.delete)
	mux.HandleFunc("GET /v/{id}", h.download)
}

// receive reads a file, to the disk if it is large.
func (h *Host) receive(body io.Reader) (f sealedFile, err error) {
	f.data, err = io.ReadAll(io.LimitReader(body, maxInMemory+1))
	if f.size = int64(len(f.data)); err != nil || f.size <= maxInMemory {
		return f, err
	}
	if f.file, err = h.create(); err != nil {
		return f, fmt.Errorf("%w: %w", errMediaDisk, err)
	}
	if f.size, err = io.Copy(f.file, io.MultiReader(bytes.NewReader(f.data), body)); err != nil {
		f.drop()
	}
	f.data = nil
	return f, err
}

var errMediaDisk = errors.New("large media need a writable folder")

// upload takes POST /mms/<type>/<token>.
func (h *Host) upload(w http.ResponseWriter, r *http.Request) {
	h.take(w, r, func(file sealedFile) (map[string]string, error) {
		id := newID()
		h.add(id, file)
		path := Path(id)
		return map[string]string{"url": URL(path), "direct_path": path}, nil
	})
}

// take receives the file of an upload, and answers with what store returns. A file that store refuses is
// dropped.
func (h *Host) take(w http.ResponseWriter, r *http.Request, store func(sealedFile) (map[string]string, error)) {
	file, err := h.receive(http.MaxBytesReader(w, r.Body, maxMedia))
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
	answer, err := store(file)
	if err != nil {
		file.drop()
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	h.mu.Lock()
	h.taken++
	h.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(answer)
}

// download serves a file by its Path.
func (h *Host) download(w http.ResponseWriter, r *http.Request) {
	if h.Refusal != nil {
		if status := h.Refusal(); status != 0 {
			http.Error(w, "no downloads now", status)
			return
		}
	}
	file, ok := h.get(r.PathValue("id"))
	if !ok {
		http.NotFound(w, r)
		return
	}
	from, err := file.open()
	if err != nil {
		http.NotFound(w, r)
		return
	}
	defer from.Close()
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Header().Set("Content-Length", strconv.FormatInt(file.size, 10))
	_, _ = io.Copy(w, from)
}

// delete takes DELETE /mms/<type>/<token>, by which a client confirms that it has a
// piece of history. The path of the file is in the query.
func (h *Host) delete(_ http.ResponseWriter, r *http.Request) {
	path, err := base64.RawURLEncoding.DecodeString(r.URL.Query().Get("d_md"))
	if err == nil {
		h.Lose(string(path))
	}
}
