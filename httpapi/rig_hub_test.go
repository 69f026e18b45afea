package httpapi

import (
	"crypto/sha256"
	"net/http"
	"time"

	"github.com/google/uuid"

	"postern/console/feed"
	"postern/httpapi/sockets"
)

// recordingHub records the clients that it served.
type recordingHub struct {
	err      error
	user     uuid.UUID
	instance int64
	viewer   feed.Viewer
	stream   sockets.Stream
	revoked  []int64
}

func (h *recordingHub) OriginAllowed(origin, _ string) bool { return origin != "https://evil.example" }

func (h *recordingHub) RevokeInstance(id int64) { h.revoked = append(h.revoked, id) }

func (h *recordingHub) DropInstance(id int64) { h.revoked = append(h.revoked, id) }

func (*recordingHub) Revoke([sha256.Size]byte) {}

func (*recordingHub) Renew([sha256.Size]byte, time.Time) {}

func (h *recordingHub) ServeGlobal(w http.ResponseWriter, _ *http.Request, user uuid.UUID, s sockets.Stream) error {
	h.user, h.stream = user, s
	if h.err == nil {
		w.WriteHeader(http.StatusSwitchingProtocols)
	}
	return h.err
}

func (h *recordingHub) ServeInstance(w http.ResponseWriter, _ *http.Request, id int64, s sockets.Stream) error {
	h.instance, h.stream = id, s
	if h.err == nil {
		w.WriteHeader(http.StatusSwitchingProtocols)
	}
	return h.err
}

func (h *recordingHub) ServeConsole(w http.ResponseWriter, _ *http.Request, v feed.Viewer, s sockets.Stream) error {
	h.viewer, h.stream = v, s
	if h.err == nil {
		w.WriteHeader(http.StatusSwitchingProtocols)
	}
	return h.err
}
