package handset

import (
	"errors"
	"slices"
	"testing"

	"go.mau.fi/whatsmeow/types"
)

var testGroup = types.NewJID("1203630001", types.GroupServer)

func share(t *testing.T, from, to *Handset) {
	t.Helper()
	key, err := from.SenderKey(testGroup)
	if err != nil {
		t.Fatal(err)
	}
	if err := to.AcceptSenderKey(testGroup, from.LID(), key); err != nil {
		t.Fatal(err)
	}
}

func groupEncrypt(t *testing.T, from *Handset, text string) []byte {
	t.Helper()
	sealed, err := from.EncryptGroup(testGroup, []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return sealed
}

func groupDecrypt(t *testing.T, to, from *Handset, sealed []byte, want string) {
	t.Helper()
	plain, err := to.DecryptGroup(testGroup, from.LID(), sealed)
	if err != nil || string(plain) != want {
		t.Fatalf("decrypted %q, %v; want %q", plain, err, want)
	}
}

func TestSenderKeyHoldersReadOneCiphertext(t *testing.T) {
	a, b, c := newHandset(t, "5511"), newHandset(t, "5522"), newHandset(t, "5533")
	share(t, a, b)
	share(t, a, c)
	first, second := groupEncrypt(t, a, "first"), groupEncrypt(t, a, "second")
	groupDecrypt(t, b, a, first, "first")
	groupDecrypt(t, c, a, second, "second")
	groupDecrypt(t, c, a, first, "first") // out of order
	if _, err := c.DecryptGroup(testGroup, a.LID(), first); !errors.Is(err, ErrDuplicate) {
		t.Errorf("the same again: %v, want ErrDuplicate", err)
	}
}

func TestGroupTextNeedsTheSenderKey(t *testing.T) {
	a, b := newHandset(t, "5511"), newHandset(t, "5522")
	if plain, err := b.DecryptGroup(testGroup, a.LID(), groupEncryptShared(t, a)); err == nil || errors.Is(err, ErrDuplicate) {
		t.Errorf("without the key: %q, %v", plain, err)
	}
	share(t, a, b)
	sealed := groupEncrypt(t, a, "text")
	broken := slices.Clone(sealed)
	broken[len(broken)-1] ^= 1
	if plain, err := b.DecryptGroup(testGroup, a.LID(), broken); err == nil || errors.Is(err, ErrDuplicate) {
		t.Errorf("tampered: %q, %v", plain, err)
	}
	groupDecrypt(t, b, a, sealed, "text")
}

func groupEncryptShared(t *testing.T, from *Handset) []byte {
	t.Helper()
	if _, err := from.SenderKey(testGroup); err != nil {
		t.Fatal(err)
	}
	return groupEncrypt(t, from, "text")
}

func TestMalformedSenderKeysAreRefused(t *testing.T) {
	a, b := newHandset(t, "5511"), newHandset(t, "5522")
	key, err := a.SenderKey(testGroup)
	if err != nil {
		t.Fatal(err)
	}
	for n := range key {
		_ = b.AcceptSenderKey(testGroup, a.LID(), key[:n]) // must not panic
	}
	if err := b.AcceptSenderKey(testGroup, a.LID(), nil); err == nil {
		t.Error("an empty distribution message was accepted")
	}
}

func TestSenderKeysSurviveARestart(t *testing.T) {
	a, b := newHandset(t, "5511"), newHandset(t, "5522")
	share(t, a, b)
	groupDecrypt(t, b, a, groupEncrypt(t, a, "before"), "before")
	a, b = reopen(t, a), reopen(t, b)
	groupDecrypt(t, b, a, groupEncrypt(t, a, "after"), "after")
}

func reopen(t *testing.T, h *Handset) *Handset {
	t.Helper()
	state, err := h.State()
	if err != nil {
		t.Fatal(err)
	}
	restored, err := Restore(state)
	if err != nil {
		t.Fatal(err)
	}
	return restored
}
