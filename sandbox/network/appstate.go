package network

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"go.mau.fi/whatsmeow"
	wa "go.mau.fi/whatsmeow/appstate"
	waBinary "go.mau.fi/whatsmeow/binary"
	"go.mau.fi/whatsmeow/proto/waE2E"
	"go.mau.fi/whatsmeow/proto/waServerSync"
	"go.mau.fi/whatsmeow/types"
	"google.golang.org/protobuf/proto"

	"postern/sandbox/network/appstate"
	"postern/sandbox/network/wire"
	"postern/sandbox/phone"
)

// syncIQ answers requests about app state.
func syncIQ(key iqKey) (iqHandler, bool) {
	if key == (iqKey{"w:sync:app:state", "set", "sync"}) {
		return syncState, true
	}
	return nil, false
}

// syncState applies changes of collections and returns the changes that a device lacks.
func syncState(s *Server, c *conn, d *device, n *waBinary.Node) (waBinary.Node, error) {
	request := wire.FirstChild(n)
	s.mu.Lock()
	refusal := s.faults.StateError
	s.mu.Unlock()
	answers := make([]waBinary.Node, 0, len(request.GetChildren()))
	for _, asked := range request.GetChildrenByTag("collection") {
		name := wa.WAPatchName(wire.Attr(&asked, "name"))
		a := s.appStates.Of(d.account.pn.User)
		if !appstate.Known(name) {
			return waBinary.Node{}, errIQ{400, "bad-request"}
		}
		if refusal != 0 {
			a.Refused(d.id, name)
			return waBinary.Node{}, errIQ{refusal, "service-unavailable"}
		}
		from, err := versionOf(&asked)
		if err != nil {
			return waBinary.Node{}, errIQ{400, "bad-request"}
		}
		var answer waBinary.Node
		if patch, ok := asked.GetOptionalChildByTag("patch"); ok {
			answer, err = s.takePatch(c.ctx, d, a, name, from, wire.Content(patch))
		} else {
			answer, err = s.givePatches(d, a, name, from)
		}
		if err != nil {
			return waBinary.Node{}, err
		}
		answers = append(answers, answer)
	}
	return waBinary.Node{Tag: "sync", Content: answers}, nil
}

// versionOf returns the version that a device has; without one it starts from nothing.
func versionOf(collection *waBinary.Node) (uint64, error) {
	text := wire.Attr(collection, "version")
	if text == "" {
		return 0, nil
	}
	return strconv.ParseUint(text, 10, 64)
}

// givePatches returns the changes after a version.
func (s *Server) givePatches(d *device, a *appstate.State, name wa.WAPatchName, from uint64) (waBinary.Node, error) {
	lacks, err := a.Give(d.id, name, from)
	answer := waBinary.Node{Tag: "collection", Attrs: waBinary.Attrs{
		"name": string(name), "version": lacks.Version, "has_more_patches": lacks.More,
	}}
	if err != nil {
		return answer, err
	}
	if lacks.Snapshot != nil {
		snapshot, err := s.snapshotNode(lacks.Snapshot)
		answer.Content = []waBinary.Node{snapshot}
		return answer, err
	}
	var patches []waBinary.Node
	for _, patch := range lacks.Patches {
		patches = append(patches, waBinary.Node{Tag: "patch", Content: patch})
	}
	if len(patches) > 0 {
		answer.Content = []waBinary.Node{{Tag: "patches", Content: patches}}
	}
	if lacks.Announce > 0 {
		s.announce(d.lid(), name, lacks.Announce)
	}
	return answer, nil
}

func (s *Server) snapshotNode(raw []byte) (waBinary.Node, error) {
	file, err := s.media.Seal(raw, whatsmeow.MediaAppState)
	if err != nil {
		return waBinary.Node{}, err
	}
	reference, err := proto.Marshal(&waServerSync.ExternalBlobReference{
		MediaKey: file.Key, DirectPath: new(file.Path), FileSizeBytes: new(file.Size),
		FileSHA256: file.Hash, FileEncSHA256: file.EncHash,
	})
	if err != nil {
		return waBinary.Node{}, fmt.Errorf("encode snapshot reference: %w", err)
	}
	return waBinary.Node{Tag: "snapshot", Content: reference}, nil
}

// takePatch applies a change made by a linked device, and notifies the account's
// others. If it is not based on the newest version, the answer contains the missing
// changes.
func (s *Server) takePatch(ctx context.Context, d *device, a *appstate.State, name wa.WAPatchName, from uint64, raw []byte) (waBinary.Node, error) {
	if s.takeConflict(d) {
		return s.conflictNode(d, a, name, from)
	}
	s.mu.Lock()
	p := s.phoneOf(d.account)
	s.mu.Unlock()
	var version uint64
	var mutations []wa.Mutation
	err := s.changeState(ctx, p, d.id, func(a *appstate.State, linked []appstate.Device) (notice appstate.Notice, err error) {
		mutations, notice, err = a.Take(ctx, name, from, raw, linked)
		version = notice.Version
		return notice, err
	})
	switch {
	case errors.Is(err, appstate.ErrConflict):
		return s.conflictNode(d, a, name, from)
	case errors.Is(err, appstate.ErrPatch), errors.Is(err, appstate.ErrFull):
		return waBinary.Node{}, errIQ{400, "bad-request"}
	case err != nil:
		return waBinary.Node{}, err
	}
	for _, m := range mutations {
		if m.Index[0] == wa.IndexSettingPushName {
			_ = s.Rename(p.JID(), m.Action.GetPushNameSetting().GetName()) // ignored by a closing server
		}
	}
	return waBinary.Node{Tag: "collection", Attrs: waBinary.Attrs{"name": string(name), "version": version}}, nil
}

func (s *Server) conflictNode(d *device, a *appstate.State, name wa.WAPatchName, from uint64) (waBinary.Node, error) {
	answer, err := s.givePatches(d, a, name, from)
	answer.Attrs["type"] = "error"
	answer.Content = append(answer.GetChildren(), waBinary.Node{
		Tag: "error", Attrs: waBinary.Attrs{"code": 409, "text": "conflict"},
	})
	return answer, err
}

// linkedDevices lists the devices of an account.
func (s *Server) linkedDevices(p *phone.Phone) []appstate.Device {
	s.mu.Lock()
	defer s.mu.Unlock()
	var linked []appstate.Device
	if a := s.byPN[p.Number()]; a != nil {
		for _, d := range a.sorted() {
			linked = append(linked, d.stateDevice())
		}
	}
	return linked
}

func (d *device) stateDevice() appstate.Device {
	return appstate.Device{LID: d.lid(), Identity: d.keys.Identity}
}

// changeState changes an account's state: devices without the key get it first, then fn
// makes the change, then all devices but the one that made it are notified.
func (s *Server) changeState(ctx context.Context, p *phone.Phone, by uint16, fn func(*appstate.State, []appstate.Device) (appstate.Notice, error)) error {
	a := s.appStates.Of(p.Number())
	a.Acting.Lock()
	defer a.Acting.Unlock()
	linked := s.linkedDevices(p)
	if err := s.shareKey(ctx, p, a, linked); err != nil {
		return err
	}
	notice, err := fn(a, linked)
	if err != nil {
		return err
	}
	for _, d := range notice.Devices {
		if d.LID.Device != by {
			s.announce(d.LID, notice.Name, notice.Version)
		}
	}
	return nil
}

// ChangeState applies a change of the phone and notifies the linked devices. Errors:
// appstate.ErrFull, those of phone.Phone.SendPeer, or of encoding.
func (s *Server) ChangeState(ctx context.Context, p *phone.Phone, info wa.PatchInfo) error {
	return s.changeState(ctx, p, 0, func(a *appstate.State, linked []appstate.Device) (appstate.Notice, error) {
		return a.Change(ctx, info, linked)
	})
}

// DamageState sends each linked device the change once with a wrong signature, and
// changes nothing: the next real change heals it. Errors as for ChangeState.
func (s *Server) DamageState(ctx context.Context, p *phone.Phone, info wa.PatchInfo) error {
	return s.changeState(ctx, p, 0, func(a *appstate.State, linked []appstate.Device) (appstate.Notice, error) {
		return a.Damage(ctx, info, linked)
	})
}

// SpoilState makes a change after which the server's copy of the collection does not
// verify, until the phone sends its own. Errors as for ChangeState.
func (s *Server) SpoilState(ctx context.Context, p *phone.Phone, info wa.PatchInfo) error {
	return s.changeState(ctx, p, 0, func(a *appstate.State, linked []appstate.Device) (appstate.Notice, error) {
		return a.Spoil(ctx, info, linked)
	})
}

// RekeyState makes a change with a new key, which linked devices must request. Errors
// as for ChangeState.
func (s *Server) RekeyState(ctx context.Context, p *phone.Phone, info wa.PatchInfo) error {
	return s.changeState(ctx, p, 0, func(a *appstate.State, linked []appstate.Device) (appstate.Notice, error) {
		return a.ChangeUnderNewKey(ctx, info, linked)
	})
}

// ConflictState refuses the next app state changes of the account's devices, as if
// another device had been first each time; 0 ends it. Errors: ErrClosed,
// phone.ErrNoAccount.
func (s *Server) ConflictState(of types.JID, times int) error {
	return s.with(of, func(a *account) { a.stateConflicts = times })
}

// takeConflict counts one change and reports whether to refuse it.
func (s *Server) takeConflict(d *device) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if d.account.stateConflicts == 0 {
		return false
	}
	d.account.stateConflicts--
	return true
}

// StateKeys implements phone.Network.
func (s *Server) StateKeys(p *phone.Phone) *waE2E.ProtocolMessage {
	return s.appStates.Of(p.Number()).KeyShare()
}

// StateCopy implements phone.Network.
func (s *Server) StateCopy(p *phone.Phone, name wa.WAPatchName) ([]byte, error) {
	return s.appStates.Of(p.Number()).Copy(context.Background(), name)
}

// ResetState implements phone.Network.
func (s *Server) ResetState(p *phone.Phone) {
	s.Unlink(p.Number())
	s.appStates.Of(p.Number()).Reset()
}

// ShareStateKey sends the key of the account's state to the linked devices without it.
// Errors: those of phone.Phone.SendPeer.
func (s *Server) ShareStateKey(ctx context.Context, p *phone.Phone) error {
	a := s.appStates.Of(p.Number())
	a.Acting.Lock()
	defer a.Acting.Unlock()
	return s.shareKey(ctx, p, a, s.linkedDevices(p))
}

// StateOf returns the state that the devices of a phone's account share. Changes made
// in it cause no notification.
func (s *Server) StateOf(p *phone.Phone) *appstate.State { return s.appStates.Of(p.Number()) }

// greet is what a phone does when a device of its account logs in: it sends the key,
// without which a client cannot change anything. A device that has the key, but lost
// its connection before it had read everything, gets it again: clients read only when
// they receive a key or a notification.
func (s *Server) greet(c *conn, d appstate.Device, p *phone.Phone) {
	a := s.appStates.Of(p.Number())
	a.Acting.Lock()
	defer a.Acting.Unlock()
	read, given := a.Read(d.LID.Device)
	err := s.shareKey(c.ctx, p, a, s.linkedDevices(p))
	if err == nil && given && !read {
		err = p.SendPeer(c.ctx, d.LID, a.KeyShare())
	}
	if past := s.sendPast(c.ctx, p, d.LID.Device); past != nil {
		c.log.Debug("history not sent", "error", past)
	}
	if err != nil {
		c.log.Debug("app state key not shared, the next act tries again", "error", err)
	}
}

// StateRead reports whether every linked device of a phone has read the state of its
// account. Clients do not report an earlier change, which is part of that first read.
func (s *Server) StateRead(p *phone.Phone) bool {
	a := s.appStates.Of(p.Number())
	for _, d := range s.linkedDevices(p) {
		if read, _ := a.Read(d.LID.Device); !read {
			return false
		}
	}
	return true
}

// shareKey sends the key to the devices without it. The caller holds a.Acting.
func (s *Server) shareKey(ctx context.Context, p *phone.Phone, a *appstate.State, linked []appstate.Device) error {
	if err := a.Begin(ctx, p.PushName()); err != nil {
		return err
	}
	message := a.KeyShare()
	for _, d := range a.Unshared(linked) {
		a.Given(d)
		if err := p.SendPeer(ctx, d.LID, message); err != nil {
			a.Withdrawn(d)
			return fmt.Errorf("share app state key with %s: %w", d.LID, err)
		}
	}
	return nil
}

// announce notifies a device of a newer version of a collection.
func (s *Server) announce(device types.JID, name wa.WAPatchName, version uint64) {
	n := waBinary.Node{Tag: "notification", Attrs: waBinary.Attrs{
		"type": "server_sync", "from": types.ServerJID, "id": phone.MessageID(), "t": time.Now().Unix(),
	}, Content: []waBinary.Node{{Tag: "collection", Attrs: waBinary.Attrs{"name": string(name), "version": version}}}}
	s.QueueFor(device, n)
}

// QueueFor queues a stanza for one linked device, if it is still linked.
func (s *Server) QueueFor(device types.JID, n waBinary.Node) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if a := s.accountOf(device.ToNonAD()); a != nil && !s.closed {
		if d, ok := a.devices[device.Device]; ok {
			s.enqueue(d, n)
		}
	}
}
