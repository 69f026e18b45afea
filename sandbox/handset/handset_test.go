package handset

import (
	"crypto/hmac"
	"crypto/sha256"
	"errors"
	"log/slog"
	"os"
	"slices"
	"testing"

	"go.mau.fi/libsignal/ecc"
	"go.mau.fi/whatsmeow/proto/waAdv"
	"go.mau.fi/whatsmeow/types"
	"go.mau.fi/whatsmeow/util/keys"
	"google.golang.org/protobuf/proto"
)

func TestMain(m *testing.M) {
	SetLogger(slog.New(slog.DiscardHandler))
	os.Exit(m.Run())
}

func newHandset(t testing.TB, user string) *Handset {
	t.Helper()
	h, err := New(types.NewJID(user, types.DefaultUserServer), types.NewJID("9"+user, types.HiddenUserServer))
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func bundleOf(t testing.TB, h *Handset) *Bundle {
	t.Helper()
	b, err := h.Bundle()
	if err != nil {
		t.Fatal(err)
	}
	return &b
}

func encrypt(t testing.TB, from, to *Handset, bundle *Bundle, text string) (string, []byte) {
	t.Helper()
	kind, sealed, err := from.Encrypt(to.LID(), bundle, []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return kind, sealed
}

func exchangeText(t testing.TB, from, to *Handset, bundle *Bundle, text string) string {
	t.Helper()
	kind, sealed := encrypt(t, from, to, bundle, text)
	plain, err := to.Decrypt(from.LID(), kind, sealed)
	if err != nil || string(plain) != text {
		t.Fatalf("decrypted %q, %v; want %q", plain, err, text)
	}
	return kind
}

func TestTwoHandsetsTalkBothWays(t *testing.T) {
	a, b := newHandset(t, "5511"), newHandset(t, "5522")
	if kind := exchangeText(t, a, b, bundleOf(t, b), "first"); kind != EncPreKey {
		t.Errorf("the first message is %s", kind)
	}
	exchangeText(t, b, a, nil, "answer")
	if kind := exchangeText(t, a, b, nil, "second"); kind != EncMessage {
		t.Errorf("after an answer the message is %s", kind)
	}
}

func TestStateSurvivesARestartInMidConversation(t *testing.T) {
	a, b := newHandset(t, "5511"), newHandset(t, "5522")
	handedOut := bundleOf(t, b)
	exchangeText(t, a, b, bundleOf(t, b), "first")
	state, err := b.State()
	if err != nil {
		t.Fatal(err)
	}
	restored, err := Restore(state)
	if err != nil {
		t.Fatal(err)
	}
	exchangeText(t, restored, a, nil, "from the restored one")
	exchangeText(t, a, restored, nil, "to the restored one")
	exchangeText(t, newHandset(t, "5533"), restored, handedOut, "with a pre-key of before")
}

func TestOnlyAnotherMessageReusesAKey(t *testing.T) {
	a, b := newHandset(t, "5511"), newHandset(t, "5522")
	exchangeText(t, a, b, bundleOf(t, b), "first")
	exchangeText(t, b, a, nil, "answer")
	before, err := a.State()
	if err != nil {
		t.Fatal(err)
	}
	kind, sealed := encrypt(t, a, b, nil, "second")
	older, err := Restore(before)
	if err != nil {
		t.Fatal(err)
	}
	_, other := encrypt(t, older, b, nil, "with the key of the second")
	decrypts := func(sealed []byte, want error, reused int) {
		t.Helper()
		if _, err := b.Decrypt(a.LID(), kind, sealed); !errors.Is(err, want) {
			t.Errorf("it is decrypted with %v, want %v", err, want)
		}
		if n := b.Reused(); n != reused {
			t.Errorf("%d messages have the key of another, want %d", n, reused)
		}
	}
	decrypts(sealed, nil, 0)
	decrypts(sealed, ErrDuplicate, 0)
	decrypts(other, ErrDuplicate, 1)
	for range mostRecent {
		exchangeText(t, a, b, nil, "later")
	}
	if n := len(b.latest.hashes); n != mostRecent || len(b.latest.order) != mostRecent {
		t.Errorf("%d ciphertexts are remembered, want %d", n, mostRecent)
	}
}

func TestTamperedCiphertextKeepsTheSession(t *testing.T) {
	a, b := newHandset(t, "5511"), newHandset(t, "5522")
	kind, sealed := encrypt(t, a, b, bundleOf(t, b), "text")
	broken := slices.Clone(sealed)
	broken[len(broken)-12] ^= 1
	if plain, err := b.Decrypt(a.LID(), kind, broken); err == nil {
		t.Fatalf("tampered ciphertext gave %q", plain)
	}
	if _, err := b.Decrypt(a.LID(), kind, sealed); err != nil {
		t.Fatalf("the intact one after it: %v", err)
	}
	if _, err := b.Decrypt(a.LID(), kind, sealed); !errors.Is(err, ErrDuplicate) {
		t.Errorf("the same again: %v, want ErrDuplicate", err)
	}
}

func TestEncryptWithoutSessionOrBundleIsRefused(t *testing.T) {
	a, b := newHandset(t, "5511"), newHandset(t, "5522")
	if _, _, err := a.Encrypt(b.LID(), nil, []byte("x")); !errors.Is(err, ErrNoSession) {
		t.Errorf("error %v, want ErrNoSession", err)
	}
}

func TestSignedDeviceIsVerifiedOnBothSides(t *testing.T) {
	h, companion, secret := newHandset(t, "5511"), keys.NewKeyPair(), make([]byte, 32)
	sealed, err := h.SignDevice(*companion.Pub, secret, 3)
	if err != nil {
		t.Fatal(err)
	}
	var envelope waAdv.ADVSignedDeviceIdentityHMAC
	var signed waAdv.ADVSignedDeviceIdentity
	if err := errors.Join(proto.Unmarshal(sealed, &envelope), proto.Unmarshal(envelope.GetDetails(), &signed)); err != nil {
		t.Fatal(err)
	}
	mac := hmac.New(sha256.New, secret)
	mac.Write(envelope.GetDetails())
	if !hmac.Equal(mac.Sum(nil), envelope.GetHMAC()) {
		t.Error("HMAC does not match")
	}
	message := slices.Concat([]byte{6, 0}, signed.GetDetails(), companion.Pub[:])
	if !verified([32]byte(signed.GetAccountSignatureKey()), message, signed.GetAccountSignature()) {
		t.Error("account signature does not match")
	}
	message = slices.Concat([]byte{6, 1}, signed.GetDetails(), companion.Pub[:], signed.GetAccountSignatureKey())
	signature := ecc.CalculateSignature(ecc.NewDjbECPrivateKey(*companion.Priv), message)
	signed.DeviceSignature, signed.AccountSignatureKey = signature[:], nil
	answer, err := proto.Marshal(&signed)
	if err != nil {
		t.Fatal(err)
	}
	if err := h.VerifyDevice(answer, *companion.Pub); err != nil {
		t.Error(err)
	}
	if err := h.VerifyDevice(answer, *keys.NewKeyPair().Pub); !errors.Is(err, ErrIdentity) {
		t.Errorf("another identity: %v, want ErrIdentity", err)
	}
}

func TestQRRoundTrip(t *testing.T) {
	q := QR{Ref: "2@abc", NoisePub: [32]byte{1}, IdentityPub: [32]byte{2}, AdvSecret: make([]byte, 32), ClientType: "1"}
	got, err := ParseQR(q.String())
	if err != nil || got.String() != q.String() {
		t.Errorf("got %v, %v", got, err)
	}
}

func FuzzParseQR(f *testing.F) {
	f.Add(QR{Ref: "r", AdvSecret: make([]byte, 32), ClientType: "1"}.String())
	f.Add(qrPrefix + ",,,,")
	f.Fuzz(func(t *testing.T, text string) {
		q, err := ParseQR(text)
		if err != nil && !errors.Is(err, ErrQR) {
			t.Errorf("error %v is not ErrQR", err)
		}
		if err == nil && q.String() != text {
			t.Errorf("%q reads back as %q", text, q)
		}
	})
}

func FuzzRestore(f *testing.F) {
	state, err := newHandset(f, "5511").State()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(state)
	f.Add([]byte(`{"version":1,"sessions":{"a":"AAAA"}}`))
	f.Fuzz(func(t *testing.T, state []byte) {
		if _, err := Restore(state); err != nil && !errors.Is(err, ErrState) {
			t.Errorf("error %v is not ErrState", err)
		}
	})
}
