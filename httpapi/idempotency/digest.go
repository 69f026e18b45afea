package idempotency

import (
	"crypto/sha256"
	"encoding/binary"
	"hash"
	"io"
)

// Parts is the digest of a multipart body for [Request.Claim], made by [NewParts]. A digest of the raw bytes is not
// usable, because every request has its own boundary. The digest covers the parts in order, each with its name, file
// name and content.
type Parts struct {
	all  hash.Hash
	part hash.Hash // of the part that is being read, nil before the first
}

// NewParts returns the digest of a body without parts.
func NewParts() *Parts { return &Parts{all: sha256.New()} }

// Next begins a part. The caller then writes its decoded content to the returned writer, for example through an
// io.TeeReader.
func (d *Parts) Next(name, fileName string) io.Writer {
	d.end()
	for _, s := range []string{name, fileName} {
		// The length distinguishes "a"+"bc" from "ab"+"c".
		d.all.Write(binary.BigEndian.AppendUint64(nil, uint64(len(s))))
		d.all.Write([]byte(s))
	}
	d.part = sha256.New()
	return d.part
}

func (d *Parts) end() {
	if d.part != nil {
		d.all.Write(d.part.Sum(nil))
	}
	d.part = nil
}

// Sum returns the digest of the parts so far.
func (d *Parts) Sum() (digest [sha256.Size]byte) {
	d.end()
	d.all.Sum(digest[:0])
	return digest
}
