package migrate

import (
	"context"
	"errors"
	"fmt"
	"time"

	"postern/migrate/table"
	"postern/whatsapp/device"
)

// Tables of the client library's store that belong to no one device.
const (
	versionTable = "whatsmeow_version"
	deviceTable  = "whatsmeow_device"
	lidTable     = "whatsmeow_lid_map"
)

// Schemas of the client library's store that are understood. With 8 the LID map came.
const (
	firstSchema = 8
	lastSchema  = 15
)

// part is a table with what belongs to devices.
type part struct {
	table, owner string // the column with the JID of the device
	what         string // in words, for the report
	add          func(i *device.Image, r *table.Row) error
}

// parts returns all of them. The rules are those of the image.
func parts(now time.Time) []part {
	return []part{
		{"whatsmeow_identity_keys", "our_jid", "identities", func(i *device.Image, r *table.Row) error {
			return i.AddIdentity(r.Text("their_id"), r.Bytes("identity"))
		}},
		{"whatsmeow_sessions", "our_jid", "sessions", func(i *device.Image, r *table.Row) error {
			return i.AddSession(r.Text("their_id"), r.Bytes("session"))
		}},
		{"whatsmeow_pre_keys", "jid", "pre-keys", func(i *device.Image, r *table.Row) error {
			return i.AddPreKey(small(r.Int("key_id")), r.Bytes("key"), r.Bool("uploaded"))
		}},
		{"whatsmeow_sender_keys", "our_jid", "sender keys", func(i *device.Image, r *table.Row) error {
			return i.AddSenderKey(r.Text("chat_id"), r.Text("sender_id"), r.Bytes("sender_key"))
		}},
		{"whatsmeow_app_state_sync_keys", "jid", "app state keys", func(i *device.Image, r *table.Row) error {
			return i.AddAppStateKey(r.Bytes("key_id"), r.Bytes("key_data"), r.Bytes("fingerprint"), r.Int("timestamp"))
		}},
		{"whatsmeow_app_state_version", "jid", "app state versions", func(i *device.Image, r *table.Row) error {
			return i.AddAppStateVersion(r.Text("name"), uint64(max(0, r.Int("version"))), r.Bytes("hash")) //nolint:gosec // not negative
		}},
		{"whatsmeow_app_state_mutation_macs", "jid", "app state MACs", func(i *device.Image, r *table.Row) error {
			return i.AddMutationMAC(r.Text("name"), uint64(max(0, r.Int("version"))), r.Bytes("index_mac"), r.Bytes("value_mac")) //nolint:gosec // as above
		}},
		{"whatsmeow_contacts", "our_jid", "contacts of the device", func(i *device.Image, r *table.Row) error {
			return i.AddContact(r.Text("their_jid"), r.Text("first_name"), r.Text("full_name"), r.Text("push_name"), r.Text("business_name"), r.Text("redacted_phone"))
		}},
		{"whatsmeow_chat_settings", "our_jid", "chat settings", func(i *device.Image, r *table.Row) error {
			return i.AddChatSettings(r.Text("chat_jid"), r.Int("muted_until"), r.Bool("pinned"), r.Bool("archived"))
		}},
		{"whatsmeow_message_secrets", "our_jid", "message secrets", func(i *device.Image, r *table.Row) error {
			return i.AddMessageSecret(r.Text("chat_jid"), r.Text("sender_jid"), r.Text("message_id"), r.Bytes("key"), now)
		}},
		{"whatsmeow_privacy_tokens", "our_jid", "privacy tokens", func(i *device.Image, r *table.Row) error {
			return i.AddPrivacyToken(r.Text("their_jid"), r.Bytes("token"), r.Int("timestamp"), r.Int("sender_timestamp"))
		}},
		{"whatsmeow_nct_salt", "our_jid", "NCT salt", func(i *device.Image, r *table.Row) error {
			return i.SetNCTSalt(r.Bytes("salt"))
		}},
		{"whatsmeow_event_buffer", "our_jid", "received messages that are known", func(i *device.Image, r *table.Row) error {
			return i.AddBufferedEvent(r.Bytes("ciphertext_hash"), r.Bytes("plaintext"), time.Unix(r.Int("server_timestamp"), 0), time.UnixMilli(r.Int("insert_timestamp")))
		}},
		{"whatsmeow_retry_buffer", "our_jid", "sent messages that may be asked for again", func(i *device.Image, r *table.Row) error {
			return i.AddOutgoing(r.Text("chat_jid"), r.Text("message_id"), r.Text("format"), r.Bytes("plaintext"), time.UnixMilli(r.Int("timestamp")))
		}},
	}
}

// small is n as an id, 0 when it is none.
func small(n int64) uint32 {
	if n < 0 || n > 1<<32-1 {
		return 0
	}
	return uint32(n)
}

// checkSchema refuses a store of another schema than those that are understood.
func checkSchema(ctx context.Context, s *sources) error {
	if !s.has(deviceTable) {
		return fmt.Errorf("there is no table %s: this is not the store of a program on the whatsmeow library, or only a part of it was given; give each file or dump with its own --from", deviceTable)
	}
	version, found := int64(0), false
	err := s.rows(ctx, versionTable, func(r *table.Row) error {
		version, found = r.Int("version"), true
		return r.Err()
	})
	switch {
	case err != nil:
		return err
	case !found:
		return fmt.Errorf("the table %s is missing or empty, so the schema of the store is unknown; dump the whole database", versionTable)
	case version < firstSchema:
		return fmt.Errorf("the store has the schema %d, older than %d; run a newer release of the old program once to upgrade it", version, firstSchema)
	case version > lastSchema:
		return fmt.Errorf("the store has the schema %d, newer than %d, which this release of Postern supports; use a newer release", version, lastSchema)
	}
	return nil
}

// readDevices calls fn with the credentials of each device.
func readDevices(ctx context.Context, s *sources, fn func(device.Credentials, *table.Row) error) error {
	return s.rows(ctx, deviceTable, func(r *table.Row) error {
		c := device.Credentials{
			JID: r.Text("jid"), LID: r.Text("lid"), RegistrationID: small(r.Int("registration_id")),
			Noise: r.Bytes("noise_key"), Identity: r.Bytes("identity_key"),
			SignedPreKey: r.Bytes("signed_pre_key"), SignedPreKeyID: small(r.Int("signed_pre_key_id")), Signature: r.Bytes("signed_pre_key_sig"),
			AdvSecret: r.Bytes("adv_key"), Details: r.Bytes("adv_details"),
			AccountSignature: r.Bytes("adv_account_sig"), AccountSignatureKey: r.Bytes("adv_account_sig_key"), DeviceSignature: r.Bytes("adv_device_sig"),
			Platform: r.Text("platform"), BusinessName: r.Text("business_name"), PushName: r.Text("push_name"),
			FacebookUUID: r.Text("facebook_uuid"), LIDMigrationTimestamp: r.Int("lid_migration_ts"), CompanionMetaNonce: r.Text("companion_meta_nonce"),
		}
		if r.Err() != nil {
			return r.Err()
		}
		return fn(c, r)
	})
}

// fillDevices adds the rows of all parts to the devices of a group, by JID.
func fillDevices(ctx context.Context, s *sources, group map[string]*Account, now time.Time) error {
	for _, p := range parts(now) {
		counts := map[*Account]int{}
		err := s.rows(ctx, p.table, func(r *table.Row) error {
			a := group[r.Text(p.owner)]
			if a == nil {
				return nil
			}
			err := p.add(a.Device, r)
			if err = errors.Join(r.Err(), err); err != nil {
				a.leave(p.table, fmt.Errorf("%s: %w", r.At, err))
				return nil
			}
			counts[a]++
			return nil
		})
		if err != nil {
			return err
		}
		for a, n := range counts {
			a.count(p.what, n)
		}
	}
	return nil
}

// fillPairs adds the LID map, which all devices share, to one account.
func fillPairs(ctx context.Context, s *sources, a *Account) error {
	n := 0
	err := s.rows(ctx, lidTable, func(r *table.Row) error {
		if err := errors.Join(r.Err(), a.Device.AddLIDPair(r.Text("lid"), r.Text("pn"))); err != nil {
			a.leave(lidTable, fmt.Errorf("%s: %w", r.At, err))
			return nil
		}
		n++
		return nil
	})
	a.count("pairs of LID and number, of all devices", n)
	return err
}
