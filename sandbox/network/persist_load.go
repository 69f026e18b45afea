package network

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"go.mau.fi/whatsmeow/types"

	"postern/sandbox/handset"
	"postern/sandbox/network/appstate"
	"postern/sandbox/network/posts"
	"postern/sandbox/network/wire"
	"postern/store"
)

var errSaved = errors.New("damaged record")

// load loads accounts, devices, pre-keys and queues into a server that is not running
// yet.
func (s *Server) load() error {
	if s.persist.file == nil {
		return nil
	}
	return s.persist.file.View(func(tx *store.Tx) error {
		steps := []struct {
			bucket string
			add    func(k, v []byte) error
		}{
			{bucketAccount, s.loadAccount},
			{bucketPicture, s.loadPicture},
			{bucketGroup, s.loadGroup},
			{bucketDevice, s.loadDevice},
			{bucketPreKey, s.loadPreKey},
			{bucketQueue, s.loadQueued},
			{posts.Bucket, s.posts.Load},
			{appstate.Bucket, s.appStates.Load},
		}
		for _, step := range steps {
			err := tx.Scan(step.bucket, store.Range{}, func(k, v []byte) (bool, error) {
				if err := step.add(k, v); err != nil {
					s.log.Error("saved record ignored; delete the file of sandbox.path to start again", "bucket", step.bucket, "error", err)
				}
				return true, nil
			})
			if err != nil {
				return fmt.Errorf("load %s: %w", step.bucket, err)
			}
		}
		return nil
	})
}

func (s *Server) loadAccount(k, v []byte) error {
	var saved savedAccount
	if err := json.Unmarshal(v, &saved); err != nil {
		return fmt.Errorf("account: %w", err)
	}
	a := newAccount(string(k), saved.LID)
	a.pushName, a.added, a.last, a.profile = saved.PushName, saved.Added, saved.Last, saved.profile
	a.asked = saved.Asked
	for _, number := range a.asked {
		s.registered[number] = spelling{account: a}
	}
	s.byPN[a.pn.User], s.byLID[a.lid.User] = a, a
	return nil
}

// cutDevice splits a key into its device, which may be missing, and the rest.
func (s *Server) cutDevice(k []byte) (a *account, id uint16, rest []byte, err error) {
	lid, rest, ok := bytes.Cut(k, []byte{0})
	if !ok || len(rest) == 0 {
		return nil, 0, nil, fmt.Errorf("key: %w", errSaved)
	}
	a, ok = s.byLID[string(lid)]
	if !ok {
		return nil, 0, nil, fmt.Errorf("device of an unknown account: %w", errSaved)
	}
	return a, uint16(rest[0]), rest[1:], nil
}

func (s *Server) loadDevice(k, v []byte) error {
	a, id, _, err := s.cutDevice(k)
	if err != nil {
		return err
	}
	var saved savedDevice
	if err := json.Unmarshal(v, &saved); err != nil {
		return fmt.Errorf("device: %w", err)
	}
	if len(saved.Noise) != 32 || len(saved.Identity) != 32 || len(saved.Signed) != 32 || len(saved.Signature) != 64 {
		return fmt.Errorf("keys of device: %w", errSaved)
	}
	a.devices[id] = &device{account: a, id: id, linked: saved.Linked, keys: deviceKeys{
		Noise: [32]byte(saved.Noise), Identity: [32]byte(saved.Identity), Registration: saved.Registration,
		SignedPreKey: handset.PreKey{ID: saved.SignedID, Pub: [32]byte(saved.Signed)},
		Signature:    [64]byte(saved.Signature),
	}}
	return nil
}

func (s *Server) loadPreKey(k, v []byte) error {
	a, id, rest, err := s.cutDevice(k)
	if err != nil {
		return err
	}
	d, ok := a.devices[id]
	if !ok || len(rest) != 4 || len(v) != 32 {
		return fmt.Errorf("pre-key: %w", errSaved)
	}
	d.preKeys = append(d.preKeys, handset.PreKey{ID: binary.BigEndian.Uint32(rest), Pub: [32]byte(v)})
	return nil
}

func (s *Server) loadQueued(k, v []byte) error {
	a, id, rest, err := s.cutDevice(k)
	if err != nil {
		return err
	}
	d, ok := a.devices[id]
	if !ok || len(rest) != 8 {
		return fmt.Errorf("queued stanza: %w", errSaved)
	}
	node, err := wire.Decode(v)
	if err != nil {
		return fmt.Errorf("queued stanza: %w", err)
	}
	d.nextSeq = max(d.nextSeq, binary.BigEndian.Uint64(rest))
	d.queue = append(d.queue, &queued{seq: binary.BigEndian.Uint64(rest), key: ackKey{node.Tag, wire.Attr(node, "id")}, node: *node})
	return nil
}

func (s *Server) loadPicture(k, v []byte) error {
	a, ok := s.byPN[string(k)]
	if !ok || a.profile.Picture == "" {
		return fmt.Errorf("picture without an account: %w", errSaved)
	}
	s.media.Keep(a.profile.Picture, bytes.Clone(v))
	return nil
}

// loadGroup loads a group after the accounts, without members that have no account.
func (s *Server) loadGroup(k, v []byte) error {
	g := &group{jid: types.NewJID(string(k), types.GroupServer)}
	if err := json.Unmarshal(v, g); err != nil {
		return fmt.Errorf("group: %w", err)
	}
	unknown := func(lid string) bool { return s.byLID[lid] == nil }
	g.Members = slices.DeleteFunc(g.Members, func(m member) bool { return unknown(m.LID) })
	g.Requests = slices.DeleteFunc(g.Requests, func(r joinRequest) bool { return unknown(r.LID) })
	if len(g.Members) == 0 {
		return fmt.Errorf("group without members: %w", errSaved)
	}
	s.groups[g.jid.User] = g
	return nil
}
