package network

import (
	"encoding/json"
	"time"

	"postern/sandbox/handset"
	"postern/sandbox/network/posts"
	"postern/sandbox/network/wire"
	"postern/sandbox/phone"
	"postern/store"
)

// savedAccount is a stored account.
type savedAccount struct {
	LID      string   `json:"lid"`
	PushName string   `json:"push_name,omitempty"`
	Added    bool     `json:"added,omitempty"`
	Last     uint16   `json:"last_device,omitempty"`
	Asked    []string `json:"asked,omitempty"`
	profile
}

// savedDevice is a stored linked device.
type savedDevice struct {
	Noise        []byte    `json:"noise"`
	Identity     []byte    `json:"identity"`
	Registration uint32    `json:"registration_id"`
	SignedID     uint32    `json:"signed_pre_key_id"`
	Signed       []byte    `json:"signed_pre_key"`
	Signature    []byte    `json:"signature"`
	Linked       time.Time `json:"linked"`
}

func deviceKey(d *device) []byte { return store.Key(d.account.lid.User, byte(0), byte(d.id)) }

func (p *persistence) putJSON(bucket string, key []byte, v any) {
	raw, err := json.Marshal(v)
	if err != nil {
		p.log.Error("a record cannot be encoded", "bucket", bucket, "error", err)
		return
	}
	p.change(bucket, key, raw)
}

func (p *persistence) account(a *account) {
	if p.file != nil {
		p.putJSON(bucketAccount, []byte(a.pn.User), savedAccount{a.lid.User, a.pushName, a.added, a.last, a.asked, a.profile})
	}
}

func (p *persistence) device(d *device) {
	if p.file == nil {
		return
	}
	k := d.keys
	p.putJSON(bucketDevice, deviceKey(d), savedDevice{
		k.Noise[:], k.Identity[:], k.Registration, k.SignedPreKey.ID, k.SignedPreKey.Pub[:], k.Signature[:], d.linked,
	})
	p.preKeys(d, d.preKeys)
}

func (p *persistence) removeDevice(d *device) {
	if p.file == nil {
		return
	}
	p.change(bucketDevice, deviceKey(d), nil)
	for _, key := range d.preKeys {
		p.usedPreKey(d, key.ID)
	}
	for _, q := range d.queue {
		p.dequeue(d, q)
	}
}

func (p *persistence) preKeys(d *device, added []handset.PreKey) {
	if p.file == nil {
		return
	}
	for _, key := range added {
		p.change(bucketPreKey, store.Key(deviceKey(d), key.ID), key.Pub[:])
	}
}

func (p *persistence) usedPreKey(d *device, id uint32) {
	if p.file != nil {
		p.change(bucketPreKey, store.Key(deviceKey(d), id), nil)
	}
}

func (p *persistence) enqueue(d *device, q *queued) {
	if p.file == nil {
		return
	}
	raw, err := wire.Encode(q.node)
	if err != nil {
		p.log.Error("a stanza cannot be saved", "device", d.lid(), "error", err)
		return
	}
	p.change(bucketQueue, store.Key(deviceKey(d), q.seq), raw)
}

func (p *persistence) dequeue(d *device, q *queued) {
	if p.file != nil {
		p.change(bucketQueue, store.Key(deviceKey(d), q.seq), nil)
	}
}

// phone marks a phone's keys as changed; the commit reads them.
func (p *persistence) phone(phone *phone.Phone) {
	if p.file == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.phones[phone] = struct{}{}
	p.kick()
}

// handset reads the state of a phone that was not created yet in this process.
func (p *persistence) handset(number string) (state []byte) {
	if p.file == nil {
		return nil
	}
	err := p.file.View(func(tx *store.Tx) (err error) {
		state, err = tx.Get(bucketHandset, []byte(number))
		return err
	})
	if err != nil {
		p.log.Error("the keys of a phone cannot be read, it starts with new ones", "number", number, "error", err)
		return nil
	}
	return state
}

// picture saves an account's picture, or deletes it if there is none.
func (p *persistence) picture(a *account, data []byte) {
	if p.file == nil {
		return
	}
	if len(data) == 0 {
		data = nil // deletes
	}
	p.change(bucketPicture, []byte(a.pn.User), data)
}

// post saves a post of a channel.
func (p *persistence) post(key, value []byte) {
	if p.file != nil {
		p.change(posts.Bucket, key, value)
	}
}

const bucketGroup = "sandbox_group"

// group saves a group, or deletes it if it has no members. The caller holds s.mu.
func (p *persistence) group(g *group) {
	switch {
	case p.file == nil:
	case len(g.Members) == 0:
		p.change(bucketGroup, []byte(g.jid.User), nil)
	default:
		p.putJSON(bucketGroup, []byte(g.jid.User), g)
	}
}
