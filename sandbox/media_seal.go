package sandbox

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"fmt"

	"go.mau.fi/whatsmeow/util/cbcutil"
	"go.mau.fi/whatsmeow/util/hkdfutil"
)

// sealed is a file as it lies on the media host, and what opens it.
type sealed struct {
	url, path        string
	key, sum, encSum []byte
	size             uint64
}

// sealMedia encrypts a file as phones do before they upload it, and stores it.
// info is the purpose of the keys, such as "WhatsApp Image Keys".
func (s *Server) sealMedia(plaintext []byte, info string) (f sealed, err error) {
	f.key = make([]byte, 32)
	_, _ = rand.Read(f.key) // crypto/rand never fails
	keys := hkdfutil.SHA256(f.key, nil, []byte(info), 112)
	iv, cipherKey, macKey := keys[:16], keys[16:48], keys[48:80]
	ciphertext, err := cbcutil.Encrypt(cipherKey, iv, plaintext)
	if err != nil {
		return f, fmt.Errorf("encrypt media: %w", err)
	}
	mac := hmac.New(sha256.New, macKey)
	mac.Write(iv)
	mac.Write(ciphertext)
	data := append(ciphertext, mac.Sum(nil)[:10]...)
	sum, encSum := sha256.Sum256(plaintext), sha256.Sum256(data)
	f.sum, f.encSum, f.size = sum[:], encSum[:], uint64(len(plaintext))
	f.url, f.path = s.PutMedia(data)
	return f, nil
}
