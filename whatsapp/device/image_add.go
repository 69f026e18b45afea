package device

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"
	"unicode/utf8"

	senderkey "go.mau.fi/libsignal/groups/state/record"
	"go.mau.fi/whatsmeow/proto/waE2E"
	wastore "go.mau.fi/whatsmeow/store"
	"go.mau.fi/whatsmeow/types"
	"google.golang.org/protobuf/proto"

	"postern/store"
)

// maxName is the longest address, id or name in a key.
const maxName = 1024

// named checks an address, id or name.
func named(what, name string) error {
	if name == "" || len(name) > maxName || !utf8.ValidString(name) {
		return fmt.Errorf("%s must have 1 to %d bytes of UTF-8", what, maxName)
	}
	return nil
}

func sizedAs(what string, value []byte, size int) error {
	if len(value) != size {
		return fmt.Errorf("%s must have %d bytes, not %d", what, size, len(value))
	}
	return nil
}

func parseJID(text string) (types.JID, error) {
	if err := named("a JID", text); err != nil {
		return types.JID{}, err
	}
	jid, err := types.ParseJID(text)
	if err != nil || jid.Server == "" {
		return jid, fmt.Errorf("%.100q is not a JID", text)
	}
	return jid, nil
}

func (i *Image) put(key, value []byte) { i.writes[string(key)] = value }

func (i *Image) putJSON(key []byte, v any) error {
	raw, err := json.Marshal(v)
	if err == nil {
		i.put(key, raw)
	}
	return err
}

// AddIdentity adds the identity key of a Signal address.
func (i *Image) AddIdentity(address string, key []byte) error {
	if err := errors.Join(named("an address", address), sizedAs("an identity key", key, 32)); err != nil {
		return err
	}
	i.put(identityKey(address), key)
	return nil
}

// AddSession adds the session for a Signal address, serialised by the library.
func (i *Image) AddSession(address string, session []byte) error {
	if err := named("an address", address); err != nil {
		return err
	}
	if err := careful(func() error { _, err := parseSession(session); return err }); err != nil {
		return err
	}
	i.sessions[address] = session
	return nil
}

// AddSenderKey adds the sender key of a user in a group, serialised by the library.
func (i *Image) AddSenderKey(chat, user string, key []byte) error {
	if err := errors.Join(named("a group", chat), named("a sender", user)); err != nil {
		return err
	}
	err := careful(func() error {
		s := wastore.SignalProtobufSerializer
		_, err := senderkey.NewSenderKeyFromBytes(key, s.SenderKeyRecord, s.SenderKeyState)
		return err
	})
	if err != nil {
		return fmt.Errorf("device: read a sender key: %w", err)
	}
	i.put(senderKeyKey(chat, user), key)
	i.put(senderKeyUser(chat, user), []byte{})
	return nil
}

// careful returns a panic of fn as an error: the Signal library does not validate its
// own records.
func careful(fn func() error) (err error) {
	defer func() {
		if recover() != nil {
			err = errors.New("device: invalid record of the Signal library")
		}
	}()
	return fn()
}

// AddPreKey adds a private pre-key. New ids continue above it.
func (i *Image) AddPreKey(id uint32, key []byte, uploaded bool) error {
	if id == 0 || id > maxPreKeyID {
		return fmt.Errorf("the id of a pre-key must be 1 to %d", maxPreKeyID)
	}
	if err := sizedAs("a pre-key", key, 32); err != nil {
		return err
	}
	raw := append([]byte{0}, key...)
	if uploaded {
		raw[0] = 1
	}
	i.put(preKeyKey(id), raw)
	return i.PreKeysFrom(id + 1)
}

// PreKeysFrom sets the next pre-key id to at least id. Ids wrap after the last one.
func (i *Image) PreKeysFrom(id uint32) error {
	switch {
	case id == 0 || id > maxPreKeyID+1:
		return fmt.Errorf("the next id of pre-keys must be 1 to %d", maxPreKeyID+1)
	case id == maxPreKeyID+1:
		i.nextID = 1
	case id > i.nextID:
		i.nextID = id
	}
	return nil
}

// AddAppStateKey adds an app state key.
func (i *Image) AddAppStateKey(id, data, fingerprint []byte, timestamp int64) error {
	if len(id) == 0 || len(id) > maxName || len(data) == 0 {
		return errors.New("an app state key must have an id and data")
	}
	return i.putJSON(appStateKeyKey(id), wastore.AppStateSyncKey{Data: data, Fingerprint: fingerprint, Timestamp: timestamp})
}

// Fingerprint returns the fingerprint of an app state key in the form for
// AddAppStateKey.
func Fingerprint(rawID, currentIndex uint32, deviceIndexes []uint32) ([]byte, error) {
	return proto.Marshal(&waE2E.AppStateSyncKeyFingerprint{RawID: &rawID, CurrentIndex: &currentIndex, DeviceIndexes: deviceIndexes})
}

// AddAppStateVersion adds the version of an app state collection and the hash of its
// content. Version 0 means unknown and is not stored.
func (i *Image) AddAppStateVersion(name string, version uint64, hash []byte) error {
	if err := errors.Join(named("a collection", name), sizedAs("the hash of a collection", hash, 128)); err != nil || version == 0 {
		return err
	}
	i.put(versionKey(name), store.Key(version, hash))
	return nil
}

// AddMutationMAC adds a MAC of an app state collection.
func (i *Image) AddMutationMAC(name string, version uint64, index, value []byte) error {
	if err := errors.Join(named("a collection", name), sizedAs("the MAC of an index", index, 32), sizedAs("the MAC of a value", value, 32)); err != nil {
		return err
	}
	i.put(store.Key(macPrefix(name, index), version), value)
	return nil
}

// AddContact adds the names of a contact.
func (i *Image) AddContact(jid, first, full, push, business, redactedPhone string) error {
	user, err := parseJID(jid)
	if err != nil {
		return err
	}
	return i.putJSON(contactKey(user), types.ContactInfo{
		Found: true, FirstName: first, FullName: full, PushName: push, BusinessName: business, RedactedPhone: redactedPhone,
	})
}

// AddChatSettings adds the settings of a chat. mutedUntil is in Unix seconds, 0 for not
// muted and -1 for forever.
func (i *Image) AddChatSettings(jid string, mutedUntil int64, pinned, archived bool) error {
	chat, err := parseJID(jid)
	if err != nil {
		return err
	}
	return i.putJSON(chatKey(chat), chatSettings{MutedUntil: mutedUntil, Pinned: pinned, Archived: archived})
}

// AddMessageSecret adds the secret of a message. It expires like one stored at that
// time.
func (i *Image) AddMessageSecret(chat, sender, id string, secret []byte, at time.Time) error {
	in, err := parseJID(chat)
	if err != nil {
		return err
	}
	from, err := parseJID(sender)
	if err != nil {
		return err
	}
	if err := named("the id of a message", id); err != nil {
		return err
	}
	if len(secret) == 0 {
		return errors.New("the secret of a message must not be empty")
	}
	key := secretKey(wastore.MessageSecretInsert{Chat: in, Sender: from, ID: id})
	i.put(key, store.Key(uint64(max(0, at.Unix())), secret)) //nolint:gosec // not negative
	return nil
}

// AddPrivacyToken adds the privacy token of a person. sent and at are in Unix seconds;
// sent 0: none was sent.
func (i *Image) AddPrivacyToken(jid string, token []byte, at, sent int64) error {
	user, err := parseJID(jid)
	if err != nil {
		return err
	}
	return i.putJSON(tokenKey(user), privacyToken{Token: token, At: at, SentAt: sent})
}

// SetNCTSalt adds the NCT salt.
func (i *Image) SetNCTSalt(salt []byte) error {
	if len(salt) == 0 {
		return errors.New("the NCT salt must not be empty")
	}
	i.put(saltKey, salt)
	return nil
}

// AddLIDPair adds the LID and the phone number of one person, each without its server.
func (i *Image) AddLIDPair(lid, phone string) error {
	if err := errors.Join(named("a LID", lid), named("a phone number", phone)); err != nil {
		return err
	}
	i.pairs = append(i.pairs, lidPair{lid, phone})
	return nil
}

// AddBufferedEvent adds a received message by the hash of its ciphertext, with its
// plaintext if it was not handled yet, else nil.
func (i *Image) AddBufferedEvent(hash, plaintext []byte, server, inserted time.Time) error {
	if err := sizedAs("the hash of a ciphertext", hash, 32); err != nil {
		return err
	}
	i.put(bufferedKey([32]byte(hash)), encodeBuffered(inserted, server, plaintext))
	return nil
}

// AddOutgoing adds a sent message that its recipient may request again.
func (i *Image) AddOutgoing(chat, id, format string, plaintext []byte, at time.Time) error {
	to, err := parseJID(chat)
	if err != nil {
		return err
	}
	if err := named("the id of a message", id); err != nil {
		return err
	}
	if err := named("the format of a message", format); err != nil {
		return err
	}
	i.put(outgoingKey(to, id), store.Key(at.UnixMilli(), format, byte(0), plaintext))
	return nil
}
