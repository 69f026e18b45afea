package sandbox

import (
	"context"
	"fmt"
	"slices"
	"time"

	"go.mau.fi/whatsmeow/appstate"
	waBinary "go.mau.fi/whatsmeow/binary"
	"go.mau.fi/whatsmeow/proto/waE2E"
	"go.mau.fi/whatsmeow/types"
	"google.golang.org/protobuf/proto"

	"postern/sandbox/handset"
)

// linkedDevice is what stays the same of a linked device.
type linkedDevice struct {
	lid      types.JID
	identity [32]byte
}

// linkedDevices lists the devices of an account.
func (s *Server) linkedDevices(p *Phone) []linkedDevice {
	s.mu.Lock()
	defer s.mu.Unlock()
	var linked []linkedDevice
	if a := s.byPN[p.Number()]; a != nil {
		for _, d := range a.sorted() {
			linked = append(linked, linkedDevice{d.lid(), d.keys.Identity})
		}
	}
	return linked
}

// changeState lets a phone change its account's state: devices that never saw any get the
// key first, then fn runs with the state locked, then the devices but except are told.
func (s *Server) changeState(ctx context.Context, p *Phone, name appstate.WAPatchName, except uint16, fn func(*appState, []linkedDevice) error) error {
	a := s.appStates.account(p.Number(), s.persist)
	a.acting.Lock()
	defer a.acting.Unlock()
	linked := s.linkedDevices(p)
	if err := s.shareKey(ctx, p, a, linked); err != nil {
		return err
	}
	a.mu.Lock()
	err := fn(a, linked)
	version := a.collections[name].version
	// Who has not read the collection yet is told by that read: a client that is told before
	// it stored the key reads in vain, and takes the change for a part of its first read.
	told := slices.DeleteFunc(linked, func(d linkedDevice) bool {
		_, held := a.shares[d.lid.Device].Base[name]
		return held
	})
	a.mu.Unlock()
	if err != nil {
		return err
	}
	for _, d := range told {
		if d.lid.Device != except {
			s.announce(d.lid, name, version)
		}
	}
	return nil
}

// greet is what a phone does when a device of its account logs in: it gives it the key,
// without which a client can change nothing. One that has the key, and was cut off before it
// had read everything, gets it again: clients read only when they get a key or are told of
// a change.
func (s *Server) greet(c *conn, d linkedDevice, p *Phone) {
	a := s.appStates.account(p.Number(), s.persist)
	a.acting.Lock()
	defer a.acting.Unlock()
	a.mu.Lock()
	given, before := a.shares[d.lid.Device]
	unread := before && len(given.Base) > 0
	a.mu.Unlock()
	err := s.shareKey(c.ctx, p, a, s.linkedDevices(p))
	if err == nil && unread {
		a.mu.Lock()
		message := a.keyShare()
		a.mu.Unlock()
		err = p.sendPeer(c.ctx, d.lid, message)
	}
	if err != nil {
		c.log.Debug("the app state key was not shared, the next act tries again", "error", err)
	}
}

// StateRead reports whether every linked device of a phone has read the state of its
// account. A change that comes earlier is a part of that first read, which clients do not
// tell as a change.
func (s *Server) StateRead(p *Phone) bool {
	a := s.appStates.account(p.Number(), s.persist)
	linked := s.linkedDevices(p)
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, d := range linked {
		if given, ok := a.shares[d.lid.Device]; !ok || len(given.Base) > 0 {
			return false
		}
	}
	return true
}

// shareKey gives the key to the devices that have not got it. The caller holds a.acting.
func (s *Server) shareKey(ctx context.Context, p *Phone, a *appState, linked []linkedDevice) error {
	a.mu.Lock()
	err := a.begin(ctx, p.PushName())
	message, unshared := a.keyShare(), a.unshared(linked)
	a.mu.Unlock()
	if err != nil {
		return err
	}
	for _, d := range unshared {
		a.mu.Lock()
		a.given(d) // before it is sent: the device may read at once
		a.mu.Unlock()
		if err := p.sendPeer(ctx, d.lid, message); err != nil {
			a.mu.Lock()
			a.withdrawn(d)
			a.mu.Unlock()
			return fmt.Errorf("share app state key with %s: %w", d.lid, err)
		}
	}
	return nil
}

// unshared lists the devices without the key, and forgets those that are not linked any more.
func (a *appState) unshared(linked []linkedDevice) []linkedDevice {
	var without []linkedDevice
	gone := map[uint16]bool{}
	for id := range a.shares {
		gone[id] = true
	}
	for _, d := range linked {
		given, ok := a.shares[d.lid.Device]
		if ok && slices.Equal(given.Identity, d.identity[:]) {
			gone[d.lid.Device] = false
		} else {
			without = append(without, d)
		}
	}
	for id, remove := range gone {
		if remove {
			delete(a.shares, id)
			a.saveShare(id)
		}
	}
	return without
}

func (a *appState) given(d linkedDevice) {
	base := map[appstate.WAPatchName]uint64{}
	for name, c := range a.collections {
		base[name] = c.version
	}
	a.shares[d.lid.Device] = &share{d.identity[:], base}
	a.saveShare(d.lid.Device)
}

func (a *appState) withdrawn(d linkedDevice) {
	delete(a.shares, d.lid.Device)
	a.saveShare(d.lid.Device)
}

func (a *appState) keyShare() *waE2E.ProtocolMessage {
	return &waE2E.ProtocolMessage{
		Type: waE2E.ProtocolMessage_APP_STATE_SYNC_KEY_SHARE.Enum(),
		AppStateSyncKeyShare: &waE2E.AppStateSyncKeyShare{Keys: []*waE2E.AppStateSyncKey{{
			KeyID: &waE2E.AppStateSyncKeyId{KeyID: a.keyID},
			KeyData: &waE2E.AppStateSyncKeyData{
				KeyData: a.key.Data, Timestamp: new(a.key.Timestamp),
				Fingerprint: &waE2E.AppStateSyncKeyFingerprint{RawID: new(uint32(1)), CurrentIndex: new(uint32(0))},
			},
		}}},
	}
}

// announce tells a device that a collection has a newer version.
func (s *Server) announce(device types.JID, name appstate.WAPatchName, version uint64) {
	n := waBinary.Node{Tag: "notification", Attrs: waBinary.Attrs{
		"type": "server_sync", "from": types.ServerJID, "id": messageID(), "t": time.Now().Unix(),
	}, Content: []waBinary.Node{{Tag: "collection", Attrs: waBinary.Attrs{"name": string(name), "version": version}}}}
	s.queueFor(device, n)
}

// queueFor queues a stanza for one linked device, if it is still there.
func (s *Server) queueFor(device types.JID, n waBinary.Node) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if a := s.accountOf(device.ToNonAD()); a != nil && !s.closed {
		if d, ok := a.devices[device.Device]; ok {
			s.enqueue(d, n)
		}
	}
}

// sealFor encrypts for one device, with a new session when there is none.
func (p *Phone) sealFor(h *handset.Handset, device types.JID, plaintext []byte) (waBinary.Node, error) {
	var bundle *handset.Bundle
	if !h.HasSession(device) {
		fetched, ok := p.net.bundleOf(device)
		if !ok {
			return waBinary.Node{}, fmt.Errorf("peer message to %s: %w", device, errNoKeys)
		}
		bundle = &fetched
	}
	kind, ciphertext, err := h.Encrypt(device, bundle, plaintext)
	if err != nil {
		return waBinary.Node{}, err
	}
	return waBinary.Node{Tag: "enc", Attrs: waBinary.Attrs{"v": "2", "type": kind}, Content: ciphertext}, nil
}

// sendPeer sends one of the phone's own linked devices what only devices of one account
// tell each other. Errors: ErrPhoneClosed, errNoKeys, or the server's.
func (p *Phone) sendPeer(ctx context.Context, device types.JID, m *waE2E.ProtocolMessage) error {
	h, err := p.handset()
	if err != nil {
		return err
	}
	message := &waE2E.Message{ProtocolMessage: m}
	plaintext, err := proto.Marshal(message)
	if err != nil {
		return fmt.Errorf("encode protocol message: %w", err)
	}
	p.sending.Lock()
	defer p.sending.Unlock()
	id := messageID()
	p.mu.Lock()
	closed := p.closed
	p.sent.add(sentMessage{id: id, chat: p.lid, message: message})
	p.mu.Unlock()
	if closed {
		return ErrPhoneClosed
	}
	enc, err := p.sealFor(h, device, plaintext)
	if err != nil {
		return err
	}
	p.save()
	return p.SendNode(ctx, waBinary.Node{
		Tag: "message", Content: []waBinary.Node{enc},
		Attrs: waBinary.Attrs{"id": id, "type": "text", "category": "peer", "to": device},
	})
}
