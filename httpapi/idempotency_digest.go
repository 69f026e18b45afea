package httpapi

import (
	"crypto/sha256"
	"encoding/binary"
	"hash"
	"io"
)

// digested passes the body on and, with an Idempotency-Key, computes its digest
// on the way: a large body is never in memory for it.
func (c *call) digested(body io.Reader) io.Reader {
	if c.once == nil {
		return body
	}
	return io.TeeReader(body, c.once.body)
}

// claimBody claims the key for the body that was read from digested to its
// end.
func (c *call) claimBody() error {
	if c.once == nil {
		return nil
	}
	var digest [sha256.Size]byte
	c.once.body.Sum(digest[:0])
	return c.claim(digest)
}

// partsDigest is the digest of a multipart body for [call.claim]. Its raw
// bytes would not do: every request has a boundary of its own. What counts is
// the parts in their order, each with its name, file name and content.
// The zero value is not ready: see newPartsDigest.
type partsDigest struct {
	all  hash.Hash
	part hash.Hash // of the part that is being read, nil before the first
}

func newPartsDigest() *partsDigest { return &partsDigest{all: sha256.New()} }

// next begins a part. Its decoded content is then written to the returned
// writer, for example through an io.TeeReader.
func (d *partsDigest) next(name, fileName string) io.Writer {
	d.end()
	for _, s := range []string{name, fileName} {
		// The length keeps "a"+"bc" apart from "ab"+"c".
		d.all.Write(binary.BigEndian.AppendUint64(nil, uint64(len(s))))
		d.all.Write([]byte(s))
	}
	d.part = sha256.New()
	return d.part
}

func (d *partsDigest) end() {
	if d.part != nil {
		d.all.Write(d.part.Sum(nil))
	}
	d.part = nil
}

// sum returns the digest of the parts so far.
func (d *partsDigest) sum() (digest [sha256.Size]byte) {
	d.end()
	d.all.Sum(digest[:0])
	return digest
}
