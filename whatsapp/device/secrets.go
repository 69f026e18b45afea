package device

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"slices"
	"time"

	wastore "go.mau.fi/whatsmeow/store"
	"go.mau.fi/whatsmeow/types"

	"postern/store"
)

func secretPrefix(chat types.JID, id types.MessageID) []byte {
	return store.Key(byte('X'), sized(chat.ToNonAD().String()), sized(id))
}

// PutMessageSecret implements [wastore.MsgSecretStore]. The first secret of a received
// message is kept. Inside [Container.Sending] it waits for the sessions, and replaces
// that of an earlier attempt, whose message had another one.
func (a *account) PutMessageSecret(ctx context.Context, chat, sender types.JID, id types.MessageID, secret []byte) error {
	return a.PutMessageSecrets(ctx, []wastore.MessageSecretInsert{{Chat: chat, Sender: sender, ID: id, Secret: secret}})
}

// PutMessageSecrets implements [wastore.MsgSecretStore].
func (a *account) PutMessageSecrets(ctx context.Context, inserts []wastore.MessageSecretInsert) error {
	if len(inserts) == 0 {
		return nil
	}
	now := uint64(max(0, a.c.store.Now().Unix()))
	own := sendingOf(ctx) != nil
	if rides(ctx) && !own {
		return a.secretsLater(ctx, inserts, now)
	}
	return a.writeLater(ctx, func(x access) error {
		for _, in := range inserts {
			key := secretKey(in)
			known, err := x.get(key)
			if err != nil {
				return err
			}
			if known != nil && !own {
				continue
			}
			if err := x.put(key, store.Key(now, in.Secret)); err != nil {
				return err
			}
		}
		return nil
	})
}

// secretsLater lets the secrets of a received message ride on its commit.
func (a *account) secretsLater(ctx context.Context, inserts []wastore.MessageSecretInsert, now uint64) error {
	writes := map[string][]byte{}
	for _, in := range inserts {
		key := secretKey(in)
		known, err := a.get(ctx, key)
		if err != nil {
			return err
		}
		if known == nil {
			writes[string(key)] = store.Key(now, in.Secret)
		}
	}
	if len(writes) == 0 {
		return nil
	}
	return a.flights.board(a.instance, writes, true)
}

func secretKey(in wastore.MessageSecretInsert) []byte {
	return store.Key(secretPrefix(in.Chat, in.ID), in.Sender.ToNonAD().String())
}

// GetMessageSecret looks under the phone number and the LID of chat and sender, and
// returns the sender under which the secret is stored.
func (a *account) GetMessageSecret(ctx context.Context, chat, sender types.JID, id types.MessageID) (secret []byte, stored types.JID, err error) {
	if err := a.settle(ctx); err != nil {
		return nil, types.EmptyJID, err
	}
	err = a.read(ctx, func(x reader) error {
		for _, c := range a.c.lids.forms(chat.ToNonAD()) {
			for _, s := range a.c.lids.forms(sender.ToNonAD()) {
				raw, err := x.get(store.Key(secretPrefix(c, id), s.String()))
				if err != nil {
					return err
				}
				if len(raw) >= 8 {
					secret, stored = raw[8:], s
					return nil
				}
			}
		}
		return nil
	})
	return secret, stored, err
}

// privacyToken is the stored form of wastore.PrivacyToken.
type privacyToken struct {
	Token  []byte `json:"token"`
	At     int64  `json:"at"` // Unix seconds
	SentAt int64  `json:"sentAt,omitempty"`
}

func tokenKey(user types.JID) []byte { return store.Key(byte('T'), user.ToNonAD().String()) }

// PutPrivacyTokens stores tokens that are not older than the stored ones. A token
// without the sender's time keeps the stored time.
func (a *account) PutPrivacyTokens(ctx context.Context, tokens ...wastore.PrivacyToken) error {
	if len(tokens) == 0 {
		return nil
	}
	err := a.write(ctx, func(x access) error {
		for _, t := range tokens {
			if err := putToken(x, t); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil {
		a.c.trusted(a.instance)
	}
	return err
}

func putToken(x access, t wastore.PrivacyToken) error {
	known, found, err := storedToken(x, t.User)
	if err != nil || found && t.Timestamp.Unix() < known.At {
		return err
	}
	fresh := privacyToken{Token: t.Token, At: t.Timestamp.Unix(), SentAt: known.SentAt}
	if !t.SenderTimestamp.IsZero() {
		fresh.SentAt = t.SenderTimestamp.Unix()
	}
	raw, err := json.Marshal(fresh)
	if err != nil {
		return err
	}
	return x.put(tokenKey(t.User), raw)
}

func storedToken(x reader, user types.JID) (t privacyToken, found bool, err error) {
	raw, err := x.get(tokenKey(user))
	if err != nil {
		return t, false, err
	}
	return readToken(raw)
}

func readToken(raw []byte) (t privacyToken, found bool, err error) {
	if raw == nil {
		return t, false, nil
	}
	return t, true, decode(raw, &t)
}

// GetPrivacyToken looks under the phone number and the LID of the user and returns the
// newer token, nil if there is none.
func (a *account) GetPrivacyToken(ctx context.Context, user types.JID) (token *wastore.PrivacyToken, err error) {
	var newest privacyToken
	for _, form := range a.c.lids.forms(user.ToNonAD()) {
		raw, err := a.recall(ctx, tokenKey(form))
		if err != nil {
			return nil, err
		}
		t, found, err := readToken(raw)
		if err != nil {
			return nil, err
		}
		if !found || token != nil && t.At <= newest.At {
			continue
		}
		newest = t
		token = &wastore.PrivacyToken{User: user.ToNonAD(), Token: t.Token, Timestamp: time.Unix(t.At, 0)}
		if t.SentAt != 0 {
			token.SenderTimestamp = time.Unix(t.SentAt, 0)
		}
	}
	return token, nil
}

// DeleteExpiredPrivacyTokens removes the tokens older than cutoff.
func (a *account) DeleteExpiredPrivacyTokens(ctx context.Context, cutoff time.Time) (int64, error) {
	return a.prune(ctx, []byte{'T'}, func(raw []byte) bool {
		var t privacyToken
		return decode(raw, &t) == nil && t.At < cutoff.Unix()
	})
}

var saltKey = []byte{'N'}

// PutNCTSalt implements [wastore.NCTSaltStore].
func (a *account) PutNCTSalt(ctx context.Context, salt []byte) error {
	return a.putChanged(ctx, saltKey, salt)
}

// GetNCTSalt implements [wastore.NCTSaltStore].
func (a *account) GetNCTSalt(ctx context.Context) ([]byte, error) {
	salt, err := a.recall(ctx, saltKey)
	return slices.Clone(salt), err
}

// DeleteNCTSalt implements [wastore.NCTSaltStore].
func (a *account) DeleteNCTSalt(ctx context.Context) error { return a.remove(ctx, saltKey) }

// pruneStep is how many records one commit of prune removes at most.
const pruneStep = 500

// prune removes the records of a kind with old values, in small commits.
func (a *account) prune(ctx context.Context, prefix []byte, old func(value []byte) bool) (removed int64, err error) {
	var after []byte
	for {
		var keys [][]byte
		last, err := a.oldKeys(prefix, after, old, &keys)
		if err != nil {
			return removed, err
		}
		if len(keys) > 0 {
			n, err := a.removeOld(ctx, keys, old)
			if err != nil {
				return removed, err
			}
			removed += n
		}
		if last == nil {
			return removed, nil
		}
		after = last
	}
}

// removeOld removes the records that are still old: one may have been renewed since.
func (a *account) removeOld(ctx context.Context, keys [][]byte, old func(value []byte) bool) (n int64, err error) {
	defer a.flights.known.change()()
	err = a.c.store.Update(ctx, func(tx *store.Tx) error {
		n = 0
		for _, k := range keys {
			v, err := tx.Get(deviceBucket, k)
			if err != nil {
				return err
			}
			if v == nil || !old(v) {
				continue
			}
			if err := tx.Delete(deviceBucket, k); err != nil {
				return err
			}
			n++
		}
		return nil
	})
	return n, err
}

// oldKeys collects the old ones of some records after the given key. It returns the
// last key that it read, nil at the end.
func (a *account) oldKeys(prefix, after []byte, old func(value []byte) bool, keys *[][]byte) (last []byte, err error) {
	r := store.Range{Prefix: store.Key(a.instance, prefix), Limit: pruneStep}
	if after != nil {
		r.From = append(bytes.Clone(after), 0)
	}
	seen := 0
	err = a.c.store.View(func(tx *store.Tx) error {
		return tx.Scan(deviceBucket, r, func(k, v []byte) (bool, error) {
			seen++
			last = k
			if old(v) {
				*keys = append(*keys, k)
			}
			return true, nil
		})
	})
	if seen < pruneStep {
		last = nil
	}
	return last, err
}

// olderThan is for values that begin with a time as a big-endian number.
func olderThan(limit int64) func([]byte) bool {
	return func(v []byte) bool { return len(v) >= 8 && int64(binary.BigEndian.Uint64(v)) < limit }
}
