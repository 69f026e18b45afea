package device

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"go.mau.fi/whatsmeow/types"

	"postern/event"
	"postern/store"
)

// Export is a complete device for transfer to another data file.
type Export struct {
	Record   json.RawMessage
	Sessions map[string][]byte // by Signal address, serialised by the library
	Entries  []Entry           // all other records
	Pairs    [][2]string       // LID and phone of the people it has sessions with
}

// Entry is a record of a device, without its instance.
type Entry struct {
	Key   []byte `json:"k"`
	Value []byte `json:"v"`
}

// ErrNoDevice is returned for an instance that is not paired.
var ErrNoDevice = errors.New("the instance is not paired: there is no device")

// exported are the kinds of records of an Entry.
const exported = "IPGgKVMCHXTNABYO"

// Export reads the device of an instance once the sessions of its last messages are in
// the file. The device must not connect in the meantime, nor later unless the export is
// discarded: its keys would be used twice.
func (c *Container) Export(ctx context.Context, instance int64) (e *Export, err error) {
	if err := c.flightsOf(instance).settle(ctx); err != nil {
		return nil, fmt.Errorf("device of instance %d: export: %w", instance, err)
	}
	e = &Export{Sessions: map[string][]byte{}}
	err = c.store.View(func(tx *store.Tx) error {
		if e.Record, err = tx.Get(deviceBucket, recordKey(instance)); err != nil {
			return err
		}
		var r record
		if e.Record != nil {
			err = decode(e.Record, &r)
		}
		if err != nil {
			return err
		}
		if e.Record == nil || r.Aside != 0 {
			return ErrNoDevice
		}
		all, err := direct{tx, instance}.list(nil, 0)
		if err != nil {
			return err
		}
		for _, p := range all {
			kind, rest := p.key[0], string(p.key[1:])
			switch {
			case kind == 'S':
				session, err := c.decodeSession(p.value)
				if err == nil && session != nil { // the library replaces an unreadable one
					e.Sessions[rest] = session
				}
			case strings.IndexByte(exported, kind) >= 0, kind == nextPreKeyKey[0]:
				e.Entries = append(e.Entries, Entry{p.key, p.value})
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("device of instance %d: export: %w", instance, err)
	}
	e.Pairs = c.lids.pairsOf(e.Sessions)
	return e, nil
}

// pairsOf returns the known pairs of the people with one of these Signal addresses.
func (m *lidMap) pairsOf(addresses map[string][]byte) (pairs [][2]string) {
	seen := map[string]bool{}
	for address := range addresses {
		user, _, _ := strings.Cut(address, ":")
		jid := types.NewJID(user, types.DefaultUserServer)
		if lid, is := strings.CutSuffix(user, "_1"); is {
			jid = types.NewJID(lid, types.HiddenUserServer)
		}
		forms := m.forms(jid)
		if len(forms) < 2 {
			continue
		}
		lid, phone := forms[0], forms[1]
		if jid.Server == types.DefaultUserServer {
			lid, phone = phone, lid
		}
		if !seen[lid.User] {
			seen[lid.User] = true
			pairs = append(pairs, [2]string{lid.User, phone.User})
		}
	}
	return pairs
}

// NewImageOf returns an image of an exported device. Its error names the invalid part.
func NewImageOf(e *Export) (*Image, error) {
	i := &Image{writes: map[string][]byte{}, sessions: map[string][]byte{}, nextID: 1, weak: true}
	if err := json.Unmarshal(e.Record, &i.rec); err != nil {
		return nil, fmt.Errorf("the record of the device: %w", err)
	}
	if _, err := i.rec.device(); err != nil {
		return nil, fmt.Errorf("the record of the device: %w", err)
	}
	if _, err := accountJID(i.rec.JID.String()); err != nil {
		return nil, err
	}
	if _, err := event.ParseNetwork(string(i.rec.Network)); err != nil {
		return nil, fmt.Errorf("the record of the device: %w", err)
	}
	i.rec.Aside = 0
	for address, session := range e.Sessions {
		if err := i.AddSession(address, session); err != nil {
			return nil, fmt.Errorf("the session with %.100q: %w", address, err)
		}
	}
	for _, p := range e.Pairs {
		if err := i.AddLIDPair(p[0], p[1]); err != nil {
			return nil, err
		}
	}
	for _, x := range e.Entries {
		switch {
		case len(x.Key) == 1 && x.Key[0] == nextPreKeyKey[0] && len(x.Value) == 4:
			if err := i.PreKeysFrom(max(nextOf(x.Value), 1)); err != nil {
				return nil, err
			}
		case len(x.Key) == 0 || len(x.Key) > 2*maxName+10 || strings.IndexByte(exported, x.Key[0]) < 0:
			return nil, fmt.Errorf("a record with the key %.20x, which no device has", x.Key)
		default:
			i.put(x.Key, x.Value)
		}
	}
	return i, nil
}
