package network

import (
	"crypto/sha256"
	"encoding/base64"
	"maps"
	"slices"
	"strings"
	"time"

	waBinary "go.mau.fi/whatsmeow/binary"
	"go.mau.fi/whatsmeow/types"

	"postern/sandbox/handset"
	"postern/sandbox/network/wire"
)

const (
	// maxQueue is the longest queue of one device; beyond it the oldest stanza is
	// dropped with a warning.
	maxQueue = 100_000
	// maxPreKeys is how many pre-keys one device may upload.
	maxPreKeys = 5_000
)

// device is a linked companion: its registration and its queue. The server's mutex
// guards it.
type device struct {
	account *account
	id      uint16
	keys    deviceKeys
	preKeys []handset.PreKey // uploaded and unused, oldest first
	queue   []*queued        // not acknowledged, oldest first
	nextSeq uint64
	conn    *conn // the live session; nil while offline
	active  bool  // the session requested its stanzas
	quiet   bool  // it gets none all the same, see Quieten
	linked  time.Time
	wishes  wishes // of history; lost by a restart
	greeted bool   // it has received the history, or was linked by an earlier process
}

// deviceKeys is what identifies a device. It does not change.
type deviceKeys struct {
	Noise        [32]byte
	Identity     [32]byte
	Registration uint32
	SignedPreKey handset.PreKey
	Signature    [64]byte
}

// queued is a stanza that a device has to acknowledge.
type queued struct {
	seq  uint64
	key  ackKey
	node waBinary.Node
	sent bool // in the current session
}

// ackKey identifies an acknowledgement. Messages are acknowledged by a receipt or an
// ack, everything else by an ack of its class.
type ackKey struct{ class, id string }

func (d *device) lid() types.JID { return d.account.deviceLID(d.id) }

func (d *device) pn() types.JID { return d.account.devicePN(d.id) }

// Device is the public state of a linked device.
type Device struct {
	ID       uint16
	Online   bool // it has a session
	Queued   int  // stanzas not acknowledged
	PreKeys  int  // uploaded and unused
	LinkedAt time.Time
}

// Devices lists the linked devices of an account by id, and returns its name.
func (s *Server) Devices(of types.JID) (pushName string, devices []Device) {
	s.mu.Lock()
	defer s.mu.Unlock()
	a := s.accountOf(of)
	if a == nil {
		return "", nil
	}
	for _, d := range a.sorted() {
		devices = append(devices, Device{d.id, d.conn != nil, len(d.queue), len(d.preKeys), d.linked})
	}
	return a.pushName, devices
}

// takeBundle uses up one pre-key.
func (d *device) takeBundle() (b handset.Bundle, used *handset.PreKey) {
	b = handset.Bundle{
		RegistrationID: d.keys.Registration, Identity: d.keys.Identity,
		SignedPreKey: d.keys.SignedPreKey, SignedSignature: d.keys.Signature,
	}
	if len(d.preKeys) > 0 {
		first := d.preKeys[0]
		d.preKeys = d.preKeys[1:]
		b.OneTime = &first
	}
	return b, b.OneTime
}

// enqueue stores a stanza until the device acknowledges it, and sends it if the device
// is connected. The caller holds s.mu.
func (s *Server) enqueue(d *device, n waBinary.Node) {
	if len(d.queue) >= maxQueue {
		s.log.Warn("too many stanzas wait for a device, the oldest is lost; connect its instance, or unlink it", "device", d.lid())
		s.unqueue(d, 0)
	}
	d.nextSeq++
	q := &queued{seq: d.nextSeq, key: ackKey{n.Tag, wire.Attr(&n, "id")}, node: n}
	d.queue = append(d.queue, q)
	s.persist.enqueue(d, q)
	if d.conn != nil && d.active {
		q.sent = true
		d.conn.send(n)
	}
}

// acknowledge removes the stanza that the device has acknowledged.
func (s *Server) acknowledge(d *device, key ackKey) {
	if i := slices.IndexFunc(d.queue, func(q *queued) bool { return q.key == key }); i >= 0 {
		s.unqueue(d, i)
	}
}

func (s *Server) unqueue(d *device, i int) {
	s.persist.dequeue(d, d.queue[i])
	if i == 0 {
		d.queue[0] = nil
		d.queue = d.queue[1:]
		return
	}
	d.queue = slices.Delete(d.queue, i, i+1)
}

// activate sends the queue, enclosed by the two notices by which clients count, and
// later stanzas at once.
func (s *Server) activate(d *device) {
	if d.conn == nil || d.active {
		return
	}
	d.active = true
	counts := map[string]int{}
	for _, q := range d.queue {
		counts[q.node.Tag]++
	}
	d.conn.send(bulletin(waBinary.Node{Tag: "offline_preview", Attrs: waBinary.Attrs{
		"count": len(d.queue), "message": counts["message"], "receipt": counts["receipt"],
		"notification": counts["notification"], "appdata": 0,
	}}))
	for _, q := range d.queue {
		q.sent = true
		d.conn.send(offline(q.node))
	}
	d.conn.send(bulletin(waBinary.Node{Tag: "offline", Attrs: waBinary.Attrs{"count": len(d.queue)}}))
}

// offline marks a stanza from the queue.
func offline(n waBinary.Node) waBinary.Node {
	attrs := make(waBinary.Attrs, len(n.Attrs)+1)
	maps.Copy(attrs, n.Attrs)
	attrs["offline"] = "0"
	n.Attrs = attrs
	return n
}

// staleHash returns the hash of the device lists that a sender should have used, "" if
// it did: clients then fetch the lists again. Addresses have the form of the message's.
func (s *Server) staleHash(d *device, n waBinary.Node) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	participants, ok := n.GetOptionalChildByTag("participants")
	if to := wire.JID(&n, "to"); ok && to.Server == types.GroupServer {
		return s.staleGroupHash(to, n)
	}
	chat := s.accountOf(wire.JID(&n, "to").ToNonAD())
	if !ok || chat == nil {
		return ""
	}
	form := (*account).deviceLID
	if wire.JID(&n, "to").Server == types.DefaultUserServer {
		form = (*account).devicePN
	}
	used := []types.JID{form(d.account, d.id)}
	for _, target := range participants.GetChildren() {
		used = append(used, wire.JID(&target, "jid"))
	}
	current := d.account.devicesAs(form)
	if chat != d.account {
		current = append(current, chat.devicesAs(form)...)
	}
	if hash := deviceHash(current); hash != deviceHash(used) {
		return hash
	}
	return ""
}

// deviceHash is the participant list hash, version 2.
func deviceHash(devices []types.JID) string {
	names := make([]string, 0, len(devices))
	for _, jid := range devices {
		names = append(names, jid.ADString())
	}
	slices.Sort(names)
	sum := sha256.Sum256([]byte(strings.Join(names, "")))
	return "2:" + base64.RawStdEncoding.EncodeToString(sum[:6])
}

// deviceList is the account's devices in LID form, device 0 first.
func (a *account) deviceList() []types.JID { return a.devicesAs((*account).deviceLID) }

// devicesAs is the account's devices in one of the two forms, device 0 first.
func (a *account) devicesAs(form func(*account, uint16) types.JID) []types.JID {
	list := []types.JID{form(a, 0)}
	for _, d := range a.sorted() {
		list = append(list, form(a, d.id))
	}
	return list
}

// staleGroupHash is staleHash for a message to a group, whose sender includes its hash.
// The caller holds s.mu.
func (s *Server) staleGroupHash(group types.JID, n waBinary.Node) string {
	if hash := deviceHash(s.groupDevices(group)); hash != wire.Attr(&n, "phash") {
		return hash
	}
	return ""
}
