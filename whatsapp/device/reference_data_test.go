package device

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	wastore "go.mau.fi/whatsmeow/store"
	"go.mau.fi/whatsmeow/types"
)

func (s *refState) PutAppStateSyncKey(_ context.Context, id []byte, key wastore.AppStateSyncKey) error {
	if known, found := s.appKeys[string(id)]; !found || key.Timestamp > known.Timestamp {
		s.appKeys[string(id)] = key
	}
	return nil
}

func (s *refState) GetAppStateSyncKey(_ context.Context, id []byte) (*wastore.AppStateSyncKey, error) {
	if k, found := s.appKeys[string(id)]; found {
		return &k, nil
	}
	return nil, nil
}

// appKeyIDs are the ids, newest first.
func (s *refState) appKeyIDs() []string {
	ids := slices.Sorted(maps.Keys(s.appKeys))
	slices.SortStableFunc(ids, func(a, b string) int { return cmp.Compare(s.appKeys[b].Timestamp, s.appKeys[a].Timestamp) })
	return ids
}

func (s *refState) GetLatestAppStateSyncKeyID(context.Context) ([]byte, error) {
	if ids := s.appKeyIDs(); len(ids) > 0 {
		return []byte(ids[0]), nil
	}
	return nil, nil
}

func (s *refState) GetAllAppStateSyncKeys(context.Context) (all []*wastore.AppStateSyncKey, _ error) {
	for _, id := range s.appKeyIDs() {
		k := s.appKeys[id]
		all = append(all, &k)
	}
	return all, nil
}

func (s *refState) PutAppStateVersion(_ context.Context, name string, version uint64, hash [128]byte) error {
	if version == 0 {
		return errors.New("version 0")
	}
	s.versions[name] = refVersion{version, hash}
	return nil
}

func (s *refState) GetAppStateVersion(_ context.Context, name string) (uint64, [128]byte, error) {
	return s.versions[name].version, s.versions[name].hash, nil
}

func (s *refState) DeleteAppStateVersion(_ context.Context, name string) error {
	delete(s.versions, name)
	maps.DeleteFunc(s.macs, func(k refMAC, _ []byte) bool { return k.name == name })
	return nil
}

func (s *refState) PutAppStateMutationMACs(_ context.Context, name string, version uint64, all []wastore.AppStateMutationMAC) error {
	for _, m := range all {
		s.macs[refMAC{name, string(m.IndexMAC), version}] = m.ValueMAC
	}
	return nil
}

func (s *refState) DeleteAppStateMutationMACs(_ context.Context, name string, indexMACs [][]byte) error {
	for _, mac := range indexMACs {
		maps.DeleteFunc(s.macs, func(k refMAC, _ []byte) bool { return k.name == name && k.index == string(mac) })
	}
	return nil
}

func (s *refState) GetAppStateMutationMAC(_ context.Context, name string, index []byte) (value []byte, _ error) {
	var newest uint64
	for k, v := range s.macs {
		if k.name == name && k.index == string(index) && k.version >= newest {
			newest, value = k.version, v
		}
	}
	return value, nil
}

func (s *refState) changeContact(user types.JID, fn func(*types.ContactInfo)) (before types.ContactInfo, changed bool) {
	before = s.contacts[user]
	after := before
	if fn(&after); after == before {
		return before, false
	}
	after.Found = true
	s.contacts[user] = after
	return before, true
}

func (s *refState) PutPushName(_ context.Context, user types.JID, name string) (bool, string, error) {
	if before, changed := s.changeContact(user, func(c *types.ContactInfo) { c.PushName = name }); changed {
		return true, before.PushName, nil
	}
	return false, "", nil
}

func (s *refState) PutBusinessName(_ context.Context, user types.JID, name string) (bool, string, error) {
	if before, changed := s.changeContact(user, func(c *types.ContactInfo) { c.BusinessName = name }); changed {
		return true, before.BusinessName, nil
	}
	return false, "", nil
}

func (s *refState) PutContactName(_ context.Context, user types.JID, first, full string) error {
	s.changeContact(user, func(c *types.ContactInfo) { c.FirstName, c.FullName = first, full })
	return nil
}

func (s *refState) PutAllContactNames(_ context.Context, all []wastore.ContactEntry) error {
	for _, e := range all {
		s.changeContact(e.JID, func(c *types.ContactInfo) { c.FirstName, c.FullName, c.Found = e.FirstName, e.FullName, true })
	}
	return nil
}

func (s *refState) PutManyRedactedPhones(_ context.Context, all []wastore.RedactedPhoneEntry) error {
	for _, e := range all {
		s.changeContact(e.JID, func(c *types.ContactInfo) { c.RedactedPhone = e.RedactedPhone })
	}
	return nil
}

func (s *refState) GetContact(_ context.Context, user types.JID) (types.ContactInfo, error) {
	return s.contacts[user], nil
}

func (s *refState) GetAllContacts(context.Context) (map[types.JID]types.ContactInfo, error) {
	return maps.Clone(s.contacts), nil
}

func (s *refState) changeChat(chat types.JID, fn func(*types.LocalChatSettings)) error {
	c := s.chats[chat]
	c.Found = true
	fn(&c)
	s.chats[chat] = c
	return nil
}

func (s *refState) PutMutedUntil(_ context.Context, chat types.JID, until time.Time) error {
	return s.changeChat(chat, func(c *types.LocalChatSettings) { c.MutedUntil = until })
}

func (s *refState) PutPinned(_ context.Context, chat types.JID, pinned bool) error {
	return s.changeChat(chat, func(c *types.LocalChatSettings) { c.Pinned = pinned })
}

func (s *refState) PutArchived(_ context.Context, chat types.JID, archived bool) error {
	return s.changeChat(chat, func(c *types.LocalChatSettings) { c.Archived = archived })
}

func (s *refState) GetChatSettings(_ context.Context, chat types.JID) (types.LocalChatSettings, error) {
	return s.chats[chat], nil
}

func (s *refState) PutMessageSecret(ctx context.Context, chat, sender types.JID, id types.MessageID, secret []byte) error {
	return s.PutMessageSecrets(ctx, []wastore.MessageSecretInsert{{Chat: chat, Sender: sender, ID: id, Secret: secret}})
}

func (s *refState) PutMessageSecrets(_ context.Context, all []wastore.MessageSecretInsert) error {
	for _, m := range all {
		key := refSecret{m.Chat.ToNonAD(), m.Sender.ToNonAD(), m.ID}
		if _, found := s.secrets[key]; !found {
			s.secrets[key] = m.Secret
		}
	}
	return nil
}

func (r *reference) GetMessageSecret(_ context.Context, chat, sender types.JID, id types.MessageID) ([]byte, types.JID, error) {
	for _, c := range r.forms(chat.ToNonAD()) {
		for _, s := range r.forms(sender.ToNonAD()) {
			if secret, found := r.secrets[refSecret{c, s, id}]; found {
				return secret, s, nil
			}
		}
	}
	return nil, types.JID{}, nil
}

func (s *refState) PutPrivacyTokens(_ context.Context, all ...wastore.PrivacyToken) error {
	for _, t := range all {
		known, found := s.tokens[t.User]
		if found && t.Timestamp.Before(known.Timestamp) {
			continue
		}
		if t.SenderTimestamp.IsZero() {
			t.SenderTimestamp = known.SenderTimestamp
		}
		s.tokens[t.User] = t
	}
	return nil
}

func (r *reference) GetPrivacyToken(_ context.Context, user types.JID) (newest *wastore.PrivacyToken, _ error) {
	for _, form := range r.forms(user.ToNonAD()) {
		if t, found := r.tokens[form]; found && (newest == nil || t.Timestamp.After(newest.Timestamp)) {
			t.User = user.ToNonAD()
			newest = &t
		}
	}
	return newest, nil
}

func (s *refState) DeleteExpiredPrivacyTokens(_ context.Context, cutoff time.Time) (int64, error) {
	before := len(s.tokens)
	maps.DeleteFunc(s.tokens, func(_ types.JID, t wastore.PrivacyToken) bool { return t.Timestamp.Before(cutoff) })
	return int64(before - len(s.tokens)), nil
}

func (s *refState) PutNCTSalt(_ context.Context, salt []byte) error {
	s.salt = salt
	return nil
}
func (s *refState) GetNCTSalt(context.Context) ([]byte, error) { return s.salt, nil }
func (s *refState) DeleteNCTSalt(context.Context) error        { s.salt = nil; return nil }

func (s *refState) GetBufferedEvent(_ context.Context, hash [32]byte) (*wastore.BufferedEvent, error) {
	if e, found := s.buffered[hash]; found {
		return &e, nil
	}
	return nil, nil
}

func (s *refState) PutBufferedEvent(_ context.Context, hash [32]byte, text []byte, server time.Time) error {
	s.buffered[hash] = wastore.BufferedEvent{Plaintext: bytes.Clone(text), InsertTime: time.Now(), ServerTime: server}
	return nil
}

func (s *refState) ClearBufferedEventPlaintext(_ context.Context, hash [32]byte) error {
	if e, found := s.buffered[hash]; found {
		e.Plaintext = nil
		s.buffered[hash] = e
	}
	return nil
}

// The reference keeps everything; pruning has tests of its own.
func (s *refState) DeleteOldBufferedHashes(context.Context) error { return nil }
func (s *refState) DeleteOldOutgoingEvents(context.Context) error { return nil }

func (s *refState) AddOutgoingEvent(_ context.Context, chat types.JID, id types.MessageID, format string, text []byte) error {
	s.outgoing[refOutgoing{chat, id}] = refText{format, text}
	return nil
}

func (s *refState) GetOutgoingEvent(_ context.Context, chat, alt types.JID, id types.MessageID) (string, []byte, error) {
	for _, c := range []types.JID{chat, alt} {
		if t, found := s.outgoing[refOutgoing{c, id}]; found {
			return t.format, t.text, nil
		}
	}
	return "", nil, ErrNoOutgoing
}

// referenceLIDs is the LID map of the reference, which no decryption rolls back.
type referenceLIDs struct {
	lids map[string]string // by phone
	pns  map[string]string // by LID
}

func (l *referenceLIDs) PutLIDMapping(_ context.Context, lid, pn types.JID) error {
	if lid.Server != types.HiddenUserServer || pn.Server != types.DefaultUserServer {
		return errors.New("not a pair")
	}
	delete(l.pns, l.lids[pn.User])
	delete(l.lids, l.pns[lid.User])
	l.lids[pn.User], l.pns[lid.User] = lid.User, pn.User
	return nil
}

func (l *referenceLIDs) PutManyLIDMappings(ctx context.Context, all []wastore.LIDMapping) error {
	for _, m := range all {
		_ = l.PutLIDMapping(ctx, m.LID, m.PN) // pairs that are none are left out
	}
	return nil
}

func (l *referenceLIDs) GetPNForLID(_ context.Context, lid types.JID) (types.JID, error) {
	if lid.Server != types.HiddenUserServer {
		return types.JID{}, errors.New("not a LID")
	}
	return other(l.pns[lid.User], types.DefaultUserServer, lid), nil
}

func (l *referenceLIDs) GetLIDForPN(_ context.Context, pn types.JID) (types.JID, error) {
	if pn.Server != types.DefaultUserServer {
		return types.JID{}, errors.New("not a phone number")
	}
	return other(l.lids[pn.User], types.HiddenUserServer, pn), nil
}

func (l *referenceLIDs) GetManyLIDsForPNs(ctx context.Context, pns []types.JID) (map[types.JID]types.JID, error) {
	found := map[types.JID]types.JID{}
	for _, pn := range pns {
		if lid, err := l.GetLIDForPN(ctx, pn); err == nil && !lid.IsEmpty() {
			found[pn] = lid
		}
	}
	return found, nil
}

func (l *referenceLIDs) forms(jid types.JID) []types.JID {
	all := []types.JID{jid}
	if lid := l.lids[jid.User]; lid != "" && jid.Server == types.DefaultUserServer {
		all = append(all, types.JID{User: lid, Server: types.HiddenUserServer})
	}
	if pn := l.pns[jid.User]; pn != "" && jid.Server == types.HiddenUserServer {
		all = append(all, types.JID{User: pn, Server: types.DefaultUserServer})
	}
	return all
}
