package access

import (
	"crypto/rand"
	"crypto/sha256"
	"hash/crc32"
	"math/big"
	"strings"
)

// Prefix is the prefix of the text of every key.
const Prefix = "pk_"

// The text of a key is the prefix, 32 random bytes and their CRC-32 (IEEE), both in
// base62 of fixed length, most significant digit first.
const (
	secretBytes  = 32
	secretDigits = 43
	checkDigits  = 6
	digits       = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
)

// newText generates the text of a key.
func newText() string {
	secret := make([]byte, secretBytes)
	_, _ = rand.Read(secret) // never fails
	text := Prefix + base62(new(big.Int).SetBytes(secret), secretDigits)
	return text + checkOf(text)
}

func base62(n *big.Int, length int) string {
	out, base, digit := make([]byte, length), big.NewInt(int64(len(digits))), new(big.Int)
	for i := range out {
		n.DivMod(n, base, digit)
		out[length-1-i] = digits[digit.Int64()]
	}
	return string(out)
}

func checkOf(text string) string {
	return base62(new(big.Int).SetUint64(uint64(crc32.ChecksumIEEE([]byte(text)))), checkDigits)
}

// WellFormed reports whether a text has the form and checksum of a key. It tells a typing
// error or a truncated text from that of an unknown or deleted key.
func WellFormed(text string) bool {
	body, found := strings.CutPrefix(text, Prefix)
	if !found || len(body) != secretDigits+checkDigits || strings.Trim(body, digits) != "" {
		return false
	}
	at := len(text) - checkDigits
	return checkOf(text[:at]) == text[at:]
}

// digest returns what the store keeps of a text.
func digest(text string) [sha256.Size]byte { return sha256.Sum256([]byte(text)) }
