package device

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"

	wastore "go.mau.fi/whatsmeow/store"
	"go.mau.fi/whatsmeow/types"
	"go.mau.fi/whatsmeow/util/keys"
)

// reference is the expected behaviour of the stores, on plain maps: no file, no
// overlay, no cache, one goroutine. After a failed decryption a copy is restored.
type reference struct {
	refState
	referenceLIDs
}

type refState struct {
	identities map[string][32]byte
	sessions   map[string][]byte
	preKeys    map[uint32]refPreKey
	nextPreKey uint32
	senderKeys map[[2]string][]byte // group, user
	migrated   map[[2]string]bool
	appKeys    map[string]wastore.AppStateSyncKey
	versions   map[string]refVersion
	macs       map[refMAC][]byte
	contacts   map[types.JID]types.ContactInfo
	chats      map[types.JID]types.LocalChatSettings
	secrets    map[refSecret][]byte
	tokens     map[types.JID]wastore.PrivacyToken
	salt       []byte
	buffered   map[[32]byte]wastore.BufferedEvent
	outgoing   map[refOutgoing]refText
}

type (
	refPreKey struct {
		key      *keys.PreKey
		uploaded bool
	}
	refVersion struct {
		version uint64
		hash    [128]byte
	}
	refMAC struct {
		name, index string
		version     uint64
	}
	refSecret struct {
		chat, sender types.JID
		id           string
	}
	refOutgoing struct {
		chat types.JID
		id   string
	}
	refText struct {
		format string
		text   []byte
	}
)

var _ wastore.AllStores = (*reference)(nil)

func newReference() *reference {
	return &reference{
		refState: refState{
			identities: map[string][32]byte{}, sessions: map[string][]byte{}, preKeys: map[uint32]refPreKey{}, nextPreKey: 1,
			senderKeys: map[[2]string][]byte{}, migrated: map[[2]string]bool{}, appKeys: map[string]wastore.AppStateSyncKey{},
			versions: map[string]refVersion{}, macs: map[refMAC][]byte{}, contacts: map[types.JID]types.ContactInfo{},
			chats: map[types.JID]types.LocalChatSettings{}, secrets: map[refSecret][]byte{}, tokens: map[types.JID]wastore.PrivacyToken{},
			buffered: map[[32]byte]wastore.BufferedEvent{}, outgoing: map[refOutgoing]refText{},
		},
		referenceLIDs: referenceLIDs{lids: map[string]string{}, pns: map[string]string{}},
	}
}

// reopened simulates a restart of the program, which loses only memory.
func (r *reference) reopened() { r.migrated = map[[2]string]bool{} }

func (s refState) clone() refState {
	s.identities, s.sessions, s.preKeys = maps.Clone(s.identities), maps.Clone(s.sessions), maps.Clone(s.preKeys)
	s.senderKeys, s.migrated, s.appKeys = maps.Clone(s.senderKeys), maps.Clone(s.migrated), maps.Clone(s.appKeys)
	s.versions, s.macs, s.contacts = maps.Clone(s.versions), maps.Clone(s.macs), maps.Clone(s.contacts)
	s.chats, s.secrets, s.tokens = maps.Clone(s.chats), maps.Clone(s.secrets), maps.Clone(s.tokens)
	s.buffered, s.outgoing = maps.Clone(s.buffered), maps.Clone(s.outgoing)
	return s
}

func (r *reference) DoDecryptionTxn(ctx context.Context, fn func(context.Context) error) error {
	before, done := r.clone(), false
	defer func() {
		if !done {
			r.refState = before
		}
	}()
	err := fn(ctx)
	done = err == nil
	return err
}

func (s *refState) PutIdentity(_ context.Context, address string, key [32]byte) error {
	s.identities[address] = key
	return nil
}

func (s *refState) IsTrustedIdentity(_ context.Context, address string, key [32]byte) (bool, error) {
	known, found := s.identities[address]
	return !found || known == key, nil
}

func (s *refState) DeleteIdentity(_ context.Context, address string) error {
	delete(s.identities, address)
	return nil
}

func ofUser(user, address string) bool {
	return strings.HasPrefix(address, user+":") || strings.HasPrefix(address, user+"_1:")
}

func (s *refState) DeleteAllIdentities(_ context.Context, user string) error {
	maps.DeleteFunc(s.identities, func(a string, _ [32]byte) bool { return ofUser(user, a) })
	return nil
}

func (s *refState) GetSession(_ context.Context, address string) ([]byte, error) {
	return s.sessions[address], nil
}

func (s *refState) HasSession(_ context.Context, address string) (bool, error) {
	_, found := s.sessions[address]
	return found, nil
}

func (s *refState) GetManySessions(_ context.Context, addresses []string) (map[string][]byte, error) {
	all := map[string][]byte{}
	for _, a := range addresses {
		all[a] = s.sessions[a]
	}
	return all, nil
}

func (s *refState) PutSession(_ context.Context, address string, session []byte) error {
	s.sessions[address] = session
	return nil
}

func (s *refState) PutManySessions(_ context.Context, sessions map[string][]byte) error {
	maps.Copy(s.sessions, sessions)
	return nil
}

func (s *refState) DeleteSession(_ context.Context, address string) error {
	delete(s.sessions, address)
	return nil
}

func (s *refState) DeleteAllSessions(_ context.Context, user string) error {
	maps.DeleteFunc(s.sessions, func(a string, _ []byte) bool { return ofUser(user, a) })
	return nil
}

func (s *refState) MigratePNToLID(_ context.Context, pn, lid types.JID) error {
	from, to := pn.SignalAddressUser()+":", lid.SignalAddressUser()+":"
	if s.migrated[[2]string{from, to}] {
		return nil
	}
	s.migrated[[2]string{from, to}] = true
	for a, v := range maps.Clone(s.sessions) {
		if device, ok := strings.CutPrefix(a, from); ok {
			delete(s.sessions, a)
			s.sessions[to+device] = v
		}
	}
	for a, v := range maps.Clone(s.identities) {
		if device, ok := strings.CutPrefix(a, from); ok {
			delete(s.identities, a)
			s.identities[to+device] = v
		}
	}
	for k, v := range maps.Clone(s.senderKeys) {
		if device, ok := strings.CutPrefix(k[1], from); ok {
			delete(s.senderKeys, k)
			s.senderKeys[[2]string{k[0], to + device}] = v
		}
	}
	return nil
}

func (s *refState) generate(uploaded bool) *keys.PreKey {
	k := keys.NewPreKey(s.nextPreKey)
	s.preKeys[k.KeyID] = refPreKey{k, uploaded}
	if s.nextPreKey++; s.nextPreKey > maxPreKeyID {
		s.nextPreKey = 1
	}
	return k
}

func (s *refState) GetOrGenPreKeys(_ context.Context, count uint32) (all []*keys.PreKey, _ error) {
	for _, id := range slices.Sorted(maps.Keys(s.preKeys)) {
		if k := s.preKeys[id]; !k.uploaded && len(all) < int(count) {
			all = append(all, k.key)
		}
	}
	for len(all) < int(count) {
		all = append(all, s.generate(false))
	}
	slices.SortFunc(all, func(a, b *keys.PreKey) int { return cmp.Compare(a.KeyID, b.KeyID) })
	return all, nil
}

func (s *refState) GenOnePreKey(context.Context) (*keys.PreKey, error) { return s.generate(true), nil }

func (s *refState) GetPreKey(_ context.Context, id uint32) (*keys.PreKey, error) {
	return s.preKeys[id].key, nil
}

func (s *refState) RemovePreKey(_ context.Context, id uint32) error {
	delete(s.preKeys, id)
	return nil
}

func (s *refState) MarkPreKeysAsUploaded(_ context.Context, upTo uint32) error {
	for id, k := range s.preKeys {
		s.preKeys[id] = refPreKey{k.key, k.uploaded || id <= upTo}
	}
	return nil
}

func (s *refState) UploadedPreKeyCount(context.Context) (n int, _ error) {
	for _, k := range s.preKeys {
		if k.uploaded {
			n++
		}
	}
	return n, nil
}

func (s *refState) PutSenderKey(_ context.Context, group, user string, session []byte) error {
	s.senderKeys[[2]string{group, user}] = session
	return nil
}

func (s *refState) GetSenderKey(_ context.Context, group, user string) ([]byte, error) {
	return s.senderKeys[[2]string{group, user}], nil
}
