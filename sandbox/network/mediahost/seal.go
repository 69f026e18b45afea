package mediahost

import (
	"bytes"
	"crypto/rand"
	"fmt"

	"go.mau.fi/whatsmeow"
	"go.mau.fi/whatsmeow/util/cbcutil"
	"go.mau.fi/whatsmeow/util/hkdfutil"
)

// Sealed is a file on the host, with what a client needs to download and decrypt it.
type Sealed struct {
	URL, Path string
	Key       []byte // 32 bytes
	Hash      []byte // SHA-256 of the file
	EncHash   []byte // SHA-256 of the encrypted file
	Size      uint64 // of the file, in bytes
}

// Seal encrypts a file like a phone before its upload, and stores it.
func (h *Host) Seal(plain []byte, kind whatsmeow.MediaType) (s Sealed, err error) {
	s.Key = make([]byte, 32)
	_, _ = rand.Read(s.Key) // crypto/rand never fails
	expanded := hkdfutil.SHA256(s.Key, nil, []byte(kind), 112)
	iv, cipherKey, macKey := expanded[:16], expanded[16:48], expanded[48:80]
	sealed := bytes.NewBuffer(make([]byte, 0, len(plain)+64))
	s.Hash, s.EncHash, s.Size, _, err = cbcutil.EncryptStream(cipherKey, iv, macKey, bytes.NewReader(plain), sealed)
	if err != nil {
		return Sealed{}, fmt.Errorf("encrypt media: %w", err)
	}
	s.Path = Path(h.Put(sealed.Bytes()))
	s.URL = URL(s.Path)
	return s, nil
}
