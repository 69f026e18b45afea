package sandbox

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"

	"postern/sandbox/handset"
	"postern/store"
)

var authorityKey = []byte("authority")

var errSaved = errors.New("damaged record")

// loadAuthority reads the authority, or makes it when the file is new or there is none.
func (p *persistence) loadAuthority() (*authority, error) {
	if p.file == nil {
		return newAuthority()
	}
	var saved savedAuthority
	var found bool
	err := p.file.View(func(tx *store.Tx) (err error) {
		saved, found, err = store.GetJSON[savedAuthority](tx, bucketAuthority, authorityKey)
		return err
	})
	if errors.Is(err, store.ErrDamaged) {
		p.log.Error("the sandbox's authority is damaged and made anew; clients of another process need its certificate again", "error", err)
		return p.createAuthority()
	}
	if err != nil {
		return nil, fmt.Errorf("read the sandbox's authority: %w", err)
	}
	if found {
		return saved.restore()
	}
	return p.createAuthority()
}

func (p *persistence) createAuthority() (*authority, error) {
	a, err := newAuthority()
	if err != nil {
		return nil, err
	}
	saved, err := a.save()
	if err != nil {
		return nil, err
	}
	err = p.file.Update(context.Background(), func(tx *store.Tx) error {
		return store.PutJSON(tx, bucketAuthority, authorityKey, saved)
	})
	if err != nil {
		return nil, fmt.Errorf("save the sandbox's authority: %w", err)
	}
	return a, nil
}

// load reads accounts, devices, pre-keys and queues into a server that is not running yet.
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
			{bucketAppState, s.loadAppState},
		}
		for _, step := range steps {
			err := tx.Scan(step.bucket, store.Range{}, func(k, v []byte) (bool, error) {
				if err := step.add(k, v); err != nil {
					s.log.Error("a saved record was left out", "bucket", step.bucket, "error", err)
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
	node, err := decodeStanza(v)
	if err != nil {
		return fmt.Errorf("queued stanza: %w", err)
	}
	d.nextSeq = max(d.nextSeq, binary.BigEndian.Uint64(rest))
	d.queue = append(d.queue, &queued{seq: binary.BigEndian.Uint64(rest), key: ackKey{node.Tag, attr(node, "id")}, node: *node})
	return nil
}
