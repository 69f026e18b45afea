package link

import (
	"context"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"postern/event"
	"postern/store"
	"postern/store/schema"
)

// ErrInvalid reports a token that is malformed, forged, revoked or of another secret.
var ErrInvalid = errors.New("invalid link")

const (
	bucket  = "media_link"
	label   = "postern media links"
	version = 1

	signed  = 1 + 4*8 // bytes that the tag covers
	tagSize = 16
)

// generation is the value of the bucket.
type generation struct {
	Number    uint64     `json:"generation"`
	RevokedAt event.Time `json:"revokedAt"`
}

// Buckets returns the buckets of this package.
func Buckets() []schema.Bucket {
	return []schema.Bucket{
		{Name: bucket, Owner: "media/link", Key: "instance id", Value: "JSON: the generation of the instance's links, and when it began", Needs: schema.References(schema.JSONOf[generation](8), "the links of an instance are invalid: revoke them once more"), Of: schema.FirstID},
	}
}

// Forget deletes the records of an instance, in the commit that deletes the instance.
func Forget(tx *store.Tx, instance int64) error { return tx.Delete(bucket, store.Key(instance)) }

// Claim is what a valid token says.
type Claim struct {
	Instance, Message int64
	Expires           time.Time
}

// Links makes and checks tokens. It is safe for concurrent use.
type Links struct {
	store *store.Store
	owner func(tx *store.Tx, instance int64) error
	key   []byte
}

// Open returns the links of a program's secret. owner reports in a commit whether an
// instance exists: nil, or the error of Revoke.
func Open(s *store.Store, secret []byte, owner func(tx *store.Tx, instance int64) error) (*Links, error) {
	key, err := hkdf.Key(sha256.New, secret, nil, label, sha256.Size)
	if err != nil {
		return nil, fmt.Errorf("links: derive the key: %w", err)
	}
	return &Links{s, owner, key}, nil
}

// Token returns a token in a transaction. An error means that the generation of the
// instance cannot be read.
func (l *Links) Token(tx *store.Tx, c Claim) (string, error) {
	g, _, err := store.GetJSON[generation](tx, bucket, store.Key(c.Instance))
	if err != nil {
		return "", err
	}
	raw := make([]byte, 0, signed+tagSize)
	raw = append(raw, version)
	for _, n := range []uint64{uint64(c.Instance), uint64(c.Message), uint64(c.Expires.Unix()), g.Number} { //nolint:gosec // read back as they are
		raw = binary.BigEndian.AppendUint64(raw, n)
	}
	return encoding().EncodeToString(append(raw, l.tag(raw)...)), nil
}

// New is Token outside a transaction.
func (l *Links) New(c Claim) (token string, err error) {
	err = l.store.View(func(tx *store.Tx) error {
		token, err = l.Token(tx, c)
		return err
	})
	return token, err
}

// Read returns what a token says. The caller checks its expiry and whether instance and
// message still exist. Errors: ErrInvalid.
func (l *Links) Read(token string) (c Claim, err error) {
	raw, err := encoding().DecodeString(token)
	if err != nil || len(raw) != signed+tagSize || raw[0] != version || !hmac.Equal(raw[signed:], l.tag(raw[:signed])) {
		return c, ErrInvalid
	}
	number := func(i int) int64 { return int64(binary.BigEndian.Uint64(raw[1+8*i:])) } //nolint:gosec // as Token wrote it
	c = Claim{number(0), number(1), time.Unix(number(2), 0).UTC()}
	err = l.store.View(func(tx *store.Tx) error {
		g, _, err := store.GetJSON[generation](tx, bucket, store.Key(c.Instance))
		if err == nil && g.Number != uint64(number(3)) { //nolint:gosec // as Token wrote it
			err = ErrInvalid
		}
		return err
	})
	return c, err
}

// Revoke makes the tokens of an instance invalid that were made before, and returns when
// it did.
func (l *Links) Revoke(ctx context.Context, instance int64) (at event.Time, err error) {
	err = l.store.Update(ctx, func(tx *store.Tx) error {
		if err := l.owner(tx, instance); err != nil {
			return err
		}
		former, _, err := store.GetJSON[generation](tx, bucket, store.Key(instance))
		if err != nil && !errors.Is(err, store.ErrDamaged) {
			return err
		}
		at = event.At(tx.Now())
		g := generation{max(former.Number+1, uint64(tx.Now().UnixMilli())), at} //nolint:gosec // after 1970
		return store.PutJSON(tx, bucket, store.Key(instance), g)
	})
	return at, err
}

func (l *Links) tag(raw []byte) []byte {
	mac := hmac.New(sha256.New, l.key)
	mac.Write(raw)
	return mac.Sum(nil)[:tagSize]
}

// encoding accepts one text for each token.
func encoding() *base64.Encoding { return base64.RawURLEncoding.Strict() }
