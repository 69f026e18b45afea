package media

import (
	"bytes"
	"encoding/binary"
	"mime"
	"net/http"
	"strings"
)

// The detected types. An OGG file without Opus is oggOther.
const (
	jpegType  = "image/jpeg"
	pngType   = "image/png"
	gifType   = "image/gif"
	webpType  = "image/webp"
	mp4Type   = "video/mp4"
	gp3Type   = "video/3gpp"
	movType   = "video/quicktime"
	webmType  = "video/webm" // Matroska too
	aviType   = "video/x-msvideo"
	mp3Type   = "audio/mpeg"
	m4aType   = "audio/mp4"
	aacType   = "audio/aac"
	amrType   = "audio/amr"
	flacType  = "audio/flac"
	wavType   = "audio/wav"
	aiffType  = "audio/aiff"
	opusType  = "audio/ogg; codecs=opus"
	oggOther  = "audio/ogg"
	anyType   = "application/octet-stream"
	sniffSize = 512
)

// TypeOf returns the media type that the first bytes of a file show, without parameters.
func TypeOf(head []byte) string {
	if kind := sniff(head); kind != opusType {
		return kind
	}
	return oggOther
}

// sniff detects a file's type by its first bytes.
func sniff(head []byte) string {
	switch {
	case bytes.HasPrefix(head, []byte("OggS")):
		if bytes.Contains(head, []byte("OpusHead")) {
			return opusType
		}
		return oggOther
	case len(head) >= 12 && string(head[4:8]) == "ftyp":
		return sniffBrand(string(head[8:12]))
	case bytes.HasPrefix(head, []byte("fLaC")):
		return flacType
	case bytes.HasPrefix(head, []byte("#!AMR")):
		return amrType
	case len(head) >= 2 && head[0] == 0xff && head[1]&0xf6 == 0xf0:
		return aacType // an ADTS header
	case len(head) >= 3 && head[0] == 0xff && head[1]&0xe6 == 0xe2 && plausibleMP3(head):
		return mp3Type
	}
	kind, _, err := mime.ParseMediaType(http.DetectContentType(head))
	if err != nil {
		return anyType
	}
	switch kind {
	case "audio/wave":
		return wavType
	case "video/avi":
		return aviType
	}
	return kind
}

// sniffBrand distinguishes the files of the ISO base media family.
func sniffBrand(brand string) string {
	switch {
	case brand == "M4A " || brand == "M4B ":
		return m4aType
	case brand == "qt  ":
		return movType
	case strings.HasPrefix(brand, "3g"):
		return gp3Type
	case brand == "heic" || brand == "heix" || brand == "mif1":
		return "image/heic"
	case brand == "avif":
		return "image/avif"
	}
	return mp4Type
}

// plausibleMP3 checks a frame's bit rate and sampling rate: both fields have an invalid
// value.
func plausibleMP3(head []byte) bool {
	h := binary.BigEndian.Uint32(append(bytes.Clone(head[:3]), 0))
	return h>>12&0xf != 0xf && h>>10&3 != 3
}

// sameType compares types, ignoring parameters and case, and treating synonyms as equal.
func sameType(declared, found string) bool { return plainType(declared) == plainType(found) }

func plainType(t string) string {
	kind, _, err := mime.ParseMediaType(t)
	if err != nil {
		kind = strings.ToLower(t)
	}
	switch kind {
	case "image/jpg", "image/pjpeg":
		return jpegType
	case "audio/mp3", "audio/mpeg3", "audio/x-mpeg":
		return mp3Type
	case "audio/x-wav", "audio/wave", "audio/vnd.wave":
		return wavType
	case "audio/m4a", "audio/x-m4a":
		return m4aType
	case "audio/opus", "application/ogg":
		return oggOther
	case "audio/x-flac":
		return flacType
	case "audio/aacp", "audio/x-aac":
		return aacType
	}
	return kind
}
