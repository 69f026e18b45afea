package device

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	wastore "go.mau.fi/whatsmeow/store"
	"go.mau.fi/whatsmeow/types"
)

// The universe of the model test is small, so that operations meet.
var (
	modelUsers  = []string{"49151", "4915", "11", "22", "22_1"} // 4915 begins 49151
	modelGroups = []string{"1@g.us", "1@g.us\x00", "2@g.us"}
	modelNames  = []string{"regular", "regular_low", "regular\x00", "a"}
	modelMACs   = []string{"m", "m\x00", "mm", "m\x00\x00\x00\x00\x00\x00\x00\x01", ""}
	modelIDs    = []string{"A", "A\x00", "AB"}
)

// An operation works on both sides and describes what it saw.
type operation func(ctx context.Context, s wastore.AllStores) string

type generator struct{ *rand.Rand }

func pick[T any](g generator, all []T) T { return all[g.IntN(len(all))] }

func (g generator) address() string {
	return fmt.Sprintf("%s%s:%d", pick(g, modelUsers), pick(g, []string{"", "_1"}), g.IntN(3))
}

func (g generator) phone() types.JID {
	return types.JID{User: pick(g, modelUsers[:4]), Server: types.DefaultUserServer, Device: uint16(g.IntN(2))}
}

func (g generator) lid() types.JID {
	return types.JID{User: pick(g, modelUsers[:4]), Server: types.HiddenUserServer, Device: uint16(g.IntN(2))}
}

func (g generator) jid() types.JID {
	if g.IntN(2) == 0 {
		return g.phone()
	}
	return g.lid()
}

func (g generator) bytes() []byte     { return []byte(fmt.Sprintf("v%d", g.IntN(6))) }
func (g generator) hash() [32]byte    { return [32]byte{byte(g.IntN(3))} }
func (g generator) moment() time.Time { return time.Unix(1_700_000_000+int64(g.IntN(5)), 0) }

func saw(values ...any) string {
	for i, v := range values {
		if err, ok := v.(error); ok {
			values[i] = err != nil
		}
	}
	return fmt.Sprintf("%#v", values)
}

// transactional returns an operation that the library may do while it decrypts.
func (g generator) transactional() operation {
	address, user, group, value := g.address(), pick(g, modelUsers), pick(g, modelGroups), g.bytes()
	identity, id, hash, at := [32]byte{byte(g.IntN(3))}, pick(g, modelIDs), g.hash(), g.moment()
	jid, other, pn, lid := g.jid(), g.jid(), g.phone(), g.lid()
	preKey, count := uint32(g.IntN(12)), uint32(g.IntN(4))
	return pick(g, []operation{
		func(ctx context.Context, s wastore.AllStores) string {
			return saw(s.PutIdentity(ctx, address, identity))
		},
		func(ctx context.Context, s wastore.AllStores) string {
			return saw(s.IsTrustedIdentity(ctx, address, identity))
		},
		func(ctx context.Context, s wastore.AllStores) string { return saw(s.DeleteIdentity(ctx, address)) },
		func(ctx context.Context, s wastore.AllStores) string { return saw(s.DeleteAllIdentities(ctx, user)) },
		func(ctx context.Context, s wastore.AllStores) string { return saw(s.PutSession(ctx, address, value)) },
		func(ctx context.Context, s wastore.AllStores) string { return saw(s.GetSession(ctx, address)) },
		func(ctx context.Context, s wastore.AllStores) string { return saw(s.HasSession(ctx, address)) },
		func(ctx context.Context, s wastore.AllStores) string {
			return saw(s.GetManySessions(ctx, []string{address, user + ":0", user + "_1:0"}))
		},
		func(ctx context.Context, s wastore.AllStores) string {
			return saw(s.PutManySessions(ctx, map[string][]byte{address: value, user + ":0": value}))
		},
		func(ctx context.Context, s wastore.AllStores) string { return saw(s.DeleteSession(ctx, address)) },
		func(ctx context.Context, s wastore.AllStores) string { return saw(s.DeleteAllSessions(ctx, user)) },
		func(ctx context.Context, s wastore.AllStores) string { return saw(s.MigratePNToLID(ctx, pn, lid)) },
		func(ctx context.Context, s wastore.AllStores) string {
			return saw(s.PutSenderKey(ctx, group, address, value))
		},
		func(ctx context.Context, s wastore.AllStores) string { return saw(s.GetSenderKey(ctx, group, address)) },
		func(ctx context.Context, s wastore.AllStores) string {
			ks, err := s.GetOrGenPreKeys(ctx, count)
			ids := []uint32{}
			for _, k := range ks {
				ids = append(ids, k.KeyID)
			}
			return saw(ids, err)
		},
		func(ctx context.Context, s wastore.AllStores) string {
			k, err := s.GenOnePreKey(ctx)
			return saw(k.KeyID, err)
		},
		func(ctx context.Context, s wastore.AllStores) string {
			k, err := s.GetPreKey(ctx, preKey)
			return saw(k == nil, err)
		},
		func(ctx context.Context, s wastore.AllStores) string { return saw(s.RemovePreKey(ctx, preKey)) },
		func(ctx context.Context, s wastore.AllStores) string {
			return saw(s.MarkPreKeysAsUploaded(ctx, preKey))
		},
		func(ctx context.Context, s wastore.AllStores) string { return saw(s.UploadedPreKeyCount(ctx)) },
		func(ctx context.Context, s wastore.AllStores) string {
			return saw(s.PutMessageSecret(ctx, jid, other, id, value))
		},
		func(ctx context.Context, s wastore.AllStores) string {
			return saw(s.GetMessageSecret(ctx, jid, other, id))
		},
		func(ctx context.Context, s wastore.AllStores) string {
			return saw(s.PutBufferedEvent(ctx, hash, value, at))
		},
		func(ctx context.Context, s wastore.AllStores) string {
			return saw(s.ClearBufferedEventPlaintext(ctx, hash))
		},
		func(ctx context.Context, s wastore.AllStores) string {
			e, err := s.GetBufferedEvent(ctx, hash)
			if e != nil {
				e.InsertTime = time.Time{}
			}
			return saw(e == nil, fmt.Sprintf("%+v", e), err)
		},
	})
}

// other returns an operation that the library does outside of decryptions too.
func (g generator) plain() operation {
	name, mac, mac2, value := pick(g, modelNames), []byte(pick(g, modelMACs)), []byte(pick(g, modelMACs)), g.bytes()
	version, id, at := uint64(g.IntN(4)), pick(g, modelIDs), g.moment()
	jid, other, pn, pn2, lid, lid2 := g.jid(), g.jid(), g.phone(), g.phone(), g.lid(), g.lid()
	text, yes := string(value), g.IntN(2) == 0
	until := pick(g, []time.Time{{}, wastore.MutedForever, at})
	token := wastore.PrivacyToken{User: jid.ToNonAD(), Token: value, Timestamp: at}
	if yes {
		token.SenderTimestamp = at
	}
	key := wastore.AppStateSyncKey{Data: value, Fingerprint: mac, Timestamp: at.Unix()}
	return pick(g, []operation{
		func(ctx context.Context, s wastore.AllStores) string { return saw(s.PutAppStateSyncKey(ctx, mac, key)) },
		func(ctx context.Context, s wastore.AllStores) string {
			k, err := s.GetAppStateSyncKey(ctx, mac)
			return saw(fmt.Sprintf("%+v", k), err)
		},
		func(ctx context.Context, s wastore.AllStores) string { return saw(s.GetLatestAppStateSyncKeyID(ctx)) },
		func(ctx context.Context, s wastore.AllStores) string {
			return saw(s.PutAppStateVersion(ctx, name, version, [128]byte{byte(version)}))
		},
		func(ctx context.Context, s wastore.AllStores) string { return saw(s.GetAppStateVersion(ctx, name)) },
		func(ctx context.Context, s wastore.AllStores) string { return saw(s.DeleteAppStateVersion(ctx, name)) },
		func(ctx context.Context, s wastore.AllStores) string {
			return saw(s.PutAppStateMutationMACs(ctx, name, version, []wastore.AppStateMutationMAC{{IndexMAC: mac, ValueMAC: value}, {IndexMAC: mac2, ValueMAC: mac}}))
		},
		func(ctx context.Context, s wastore.AllStores) string {
			return saw(s.DeleteAppStateMutationMACs(ctx, name, [][]byte{mac, mac2}))
		},
		func(ctx context.Context, s wastore.AllStores) string {
			return saw(s.GetAppStateMutationMAC(ctx, name, mac))
		},
		func(ctx context.Context, s wastore.AllStores) string { return saw(s.PutPushName(ctx, jid, text)) },
		func(ctx context.Context, s wastore.AllStores) string { return saw(s.PutBusinessName(ctx, jid, text)) },
		func(ctx context.Context, s wastore.AllStores) string {
			return saw(s.PutContactName(ctx, jid, text, id))
		},
		func(ctx context.Context, s wastore.AllStores) string {
			return saw(s.PutAllContactNames(ctx, []wastore.ContactEntry{{JID: jid, FirstName: text}, {JID: other, FullName: text}}))
		},
		func(ctx context.Context, s wastore.AllStores) string {
			return saw(s.PutManyRedactedPhones(ctx, []wastore.RedactedPhoneEntry{{JID: jid, RedactedPhone: text}, {JID: other, RedactedPhone: id}}))
		},
		func(ctx context.Context, s wastore.AllStores) string { return saw(s.GetContact(ctx, jid)) },
		func(ctx context.Context, s wastore.AllStores) string { return saw(s.PutMutedUntil(ctx, jid, until)) },
		func(ctx context.Context, s wastore.AllStores) string { return saw(s.PutPinned(ctx, jid, yes)) },
		func(ctx context.Context, s wastore.AllStores) string { return saw(s.PutArchived(ctx, jid, yes)) },
		func(ctx context.Context, s wastore.AllStores) string {
			c, err := s.GetChatSettings(ctx, jid)
			return saw(fmt.Sprint(c), err)
		},
		func(ctx context.Context, s wastore.AllStores) string {
			return saw(s.PutMessageSecrets(ctx, []wastore.MessageSecretInsert{{Chat: jid, Sender: other, ID: id, Secret: value}, {Chat: other, Sender: jid, ID: id, Secret: mac}}))
		},
		func(ctx context.Context, s wastore.AllStores) string { return saw(s.PutPrivacyTokens(ctx, token)) },
		func(ctx context.Context, s wastore.AllStores) string {
			t, err := s.GetPrivacyToken(ctx, jid)
			return saw(fmt.Sprintf("%+v", t), err)
		},
		func(ctx context.Context, s wastore.AllStores) string {
			return saw(s.DeleteExpiredPrivacyTokens(ctx, at))
		},
		func(ctx context.Context, s wastore.AllStores) string { return saw(s.PutNCTSalt(ctx, value)) },
		func(ctx context.Context, s wastore.AllStores) string { return saw(s.DeleteNCTSalt(ctx)) },
		func(ctx context.Context, s wastore.AllStores) string {
			return saw(s.AddOutgoingEvent(ctx, jid, id, text, mac))
		},
		func(ctx context.Context, s wastore.AllStores) string {
			return saw(s.GetOutgoingEvent(ctx, jid, other, id))
		},
		func(ctx context.Context, s wastore.AllStores) string { return saw(s.PutLIDMapping(ctx, lid, jid)) },
		func(ctx context.Context, s wastore.AllStores) string {
			return saw(s.PutManyLIDMappings(ctx, []wastore.LIDMapping{{LID: lid, PN: pn}, {LID: lid, PN: pn2}, {LID: jid, PN: pn}, {LID: lid2, PN: pn2}}))
		},
		func(ctx context.Context, s wastore.AllStores) string { return saw(s.GetPNForLID(ctx, jid)) },
		func(ctx context.Context, s wastore.AllStores) string { return saw(s.GetLIDForPN(ctx, jid)) },
	})
}

var errDecrypt = errors.New("cannot decrypt")

// decryption returns a DoDecryptionTxn with some operations, which ends well,
// with an error or with a panic.
func (g generator) decryption() operation {
	steps := make([]operation, g.IntN(7))
	for i := range steps {
		steps[i] = g.transactional()
	}
	end := g.IntN(4)
	return func(ctx context.Context, s wastore.AllStores) (seen string) {
		defer func() {
			if v := recover(); v != nil {
				seen += fmt.Sprintf(" panic(%v)", v)
			}
		}()
		err := s.DoDecryptionTxn(ctx, func(ctx context.Context) error {
			for _, step := range steps {
				seen += step(ctx, s) + "\n"
			}
			switch end {
			case 0:
				return errDecrypt
			case 1:
				panic("in a decryption")
			}
			return nil
		})
		return seen + fmt.Sprint(err)
	}
}

func (g generator) operation() operation {
	switch g.IntN(10) {
	case 0, 1, 2:
		return g.decryption()
	case 3, 4, 5, 6:
		return g.transactional()
	}
	return g.plain()
}

// everything reads all that can be in the universe of the test.
func everything(t *testing.T, s wastore.AllStores) (all []string) {
	ctx := t.Context()
	add := func(what string, values ...any) { all = append(all, what+" "+saw(values...)) }
	for _, user := range modelUsers {
		for _, suffix := range []string{":0", ":1", ":2", "_1:0", "_1:1", "_1:2", "_1_1:0"} {
			a := user + suffix
			session, err := s.GetSession(ctx, a)
			add("session "+a, session, err)
			for i := range 3 {
				trusted, err := s.IsTrustedIdentity(ctx, a, [32]byte{byte(i)})
				add("identity "+a, i, trusted, err)
			}
			for _, group := range modelGroups {
				key, err := s.GetSenderKey(ctx, group, a)
				add("sender key "+a+group, key, err)
			}
		}
	}
	n, err := s.UploadedPreKeyCount(ctx)
	add("uploaded", n, err)
	for id := range uint32(2000) {
		k, err := s.GetPreKey(ctx, id)
		add(fmt.Sprint("pre-key ", id), k == nil, err)
	}
	for _, name := range modelNames {
		version, hash, err := s.GetAppStateVersion(ctx, name)
		add("version "+name, version, hash, err)
		for _, mac := range modelMACs {
			value, err := s.GetAppStateMutationMAC(ctx, name, []byte(mac))
			add("mac "+name+mac, value, err)
		}
	}
	keys, err := s.GetAllAppStateSyncKeys(ctx)
	for _, k := range keys {
		add("app state key", *k, err)
	}
	contacts, err := s.GetAllContacts(ctx)
	add("contacts", contacts, err)
	salt, err := s.GetNCTSalt(ctx)
	add("salt", salt, err)
	return all
}

func TestStoresDoWhatTheReferenceDoes(t *testing.T) {
	for seed := range uint64(4) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			g := generator{rand.New(rand.NewPCG(seed, 7))}
			file := newFile(t)
			real, ref := file.stores(t, 1), newReference()
			for i := range 2500 {
				op := g.operation()
				if got, want := op(t.Context(), real), op(t.Context(), ref); got != want {
					t.Fatalf("operation %d saw\n%s\nwant\n%s", i, got, want)
				}
				if i%500 != 499 {
					continue
				}
				file.reopen(t)
				real = file.stores(t, 1)
				ref.reopened()
				got, want := everything(t, real), everything(t, ref)
				if !slices.Equal(got, want) {
					t.Fatalf("after operation %d the file has\n%v\nwant\n%v", i, difference(got, want), difference(want, got))
				}
			}
		})
	}
}

func difference(a, b []string) []string {
	return slices.DeleteFunc(slices.Clone(a), func(s string) bool { return slices.Contains(b, s) })
}
