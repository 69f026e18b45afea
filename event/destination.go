package event

import (
	"crypto/sha256"
	"encoding/binary"
	"maps"
	"slices"
	"time"
)

// Target is a kind of destination of instance events.
type Target string

// The targets.
const (
	TargetWebhook  Target = "webhook"  // the webhook of the instance
	TargetGlobal   Target = "global"   // the global webhook
	TargetEndpoint Target = "endpoint" // a further endpoint of the instance
)

// Order is what a destination may rely on.
type Order string

// The orders.
const (
	OrderNone     Order = "none"     // events arrive as fast as possible
	OrderChat     Order = "chat"     // those of one chat in the order of their commits
	OrderInstance Order = "instance" // those of one instance in that order
)

// Destination is where an event goes, and how.
type Destination struct {
	Target   Target
	Endpoint string // id of a further endpoint, else empty
	URL      string

	// What the consumer chose beyond the old way; the zero values are the old way.
	Headers map[string]string // further ones, by name as it was given
	Secrets []string          // signing secrets (whsec_…), the newest first; none: not signed
	WithID  bool              // webhook-id is sent: signed, durable, or both

	Body []byte // where it differs from that of the event; nil: it does not

	// A durable destination's event goes through the file.
	Durable bool
	Order   Order
	MaxAge  time.Duration // after which it is given up
}

// Access returns a digest of the URL and the headers: two destinations with the same
// one are the same receiver. It is never 0.
func (d Destination) Access() uint64 {
	h := sha256.New()
	write := func(text string) {
		_, _ = h.Write(binary.BigEndian.AppendUint32(nil, uint32(len(text))))
		_, _ = h.Write([]byte(text))
	}
	write(d.URL)
	for _, name := range slices.Sorted(maps.Keys(d.Headers)) {
		write(name)
		write(d.Headers[name])
	}
	return max(binary.BigEndian.Uint64(h.Sum(nil)), 1)
}
