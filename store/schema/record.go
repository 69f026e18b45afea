package schema

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
)

// ChecksumSize is the length of the checksum in front of each value, in bytes.
const ChecksumSize = 4

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Seal returns the value as the file has it: behind the checksum of key and value.
func Seal(key, value []byte) []byte {
	return AppendSealed(make([]byte, 0, ChecksumSize+len(value)), key, value)
}

// AppendSealed appends the sealed value.
func AppendSealed(to, key, value []byte) []byte {
	return append(binary.BigEndian.AppendUint32(to, Checksum(key, value)), value...)
}

// Verify returns the value of a sealed record, and whether its checksum is right. Without a
// checksum there is no value.
func Verify(key, raw []byte) (value []byte, ok bool) {
	if len(raw) < ChecksumSize {
		return nil, false
	}
	value = raw[ChecksumSize:]
	return value, binary.BigEndian.Uint32(raw) == Checksum(key, value)
}

// Checksum returns the CRC-32C of a key and its value.
func Checksum(key, value []byte) uint32 {
	return crc32.Update(crc32.Checksum(key, castagnoli), castagnoli, value)
}

// RecordName names a record as logs and reports do.
func RecordName(bucket string, key []byte) string { return fmt.Sprintf("%s/%x", bucket, key) }
