package media

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"image"
	"time"

	"golang.org/x/image/webp"

	"postern/event"
)

// Flags of the header of an extended WebP file, and the length of that header.
const (
	animationFlag = 0x02
	exifFlag      = 0x08
	alphaFlag     = 0x10
	webpHeader    = 10
)

var errWebP = errors.New("the WebP file is damaged")

// webpChunk is a part of a WebP file.
type webpChunk struct {
	name string // four bytes
	data []byte
}

// readWebP returns the chunks of a WebP file.
func readWebP(file []byte) (all []webpChunk, err error) {
	if len(file) < 12 || string(file[:4]) != "RIFF" || string(file[8:12]) != "WEBP" {
		return nil, errWebP
	}
	for rest := file[12:]; len(rest) >= 8; {
		size := int64(binary.LittleEndian.Uint32(rest[4:]))
		if size > int64(len(rest)-8) {
			return nil, errWebP
		}
		all = append(all, webpChunk{string(rest[:4]), rest[8 : 8+size]})
		rest = rest[min(8+size+size%2, int64(len(rest))):]
	}
	if len(all) == 0 {
		return nil, errWebP
	}
	return all, nil
}

// playingTime returns how long an animated WebP file plays once.
func playingTime(file []byte) (total time.Duration, err error) {
	const at = 12 // of a frame's time in its chunk, in milliseconds
	all, err := readWebP(file)
	for _, c := range all {
		if c.name == "ANMF" && len(c.data) >= at+3 {
			total += time.Duration(int(c.data[at])|int(c.data[at+1])<<8|int(c.data[at+2])<<16) * time.Millisecond
		}
	}
	return total, err
}

// writeWebP is the opposite of readWebP.
func writeWebP(all []webpChunk) []byte {
	var body bytes.Buffer
	body.WriteString("WEBP")
	for _, c := range all {
		body.WriteString(c.name)
		_ = binary.Write(&body, binary.LittleEndian, uint32(len(c.data))) //nolint:gosec // a file of less than a megabyte
		body.Write(c.data)
		if len(c.data)%2 == 1 {
			body.WriteByte(0)
		}
	}
	head := binary.LittleEndian.AppendUint32([]byte("RIFF"), uint32(body.Len())) //nolint:gosec // as above
	return append(head, body.Bytes()...)
}

// withPack returns a WebP file with the pack that a sticker belongs to, where WhatsApp's clients look for it: as
// JSON in a tag of its Exif data.
func withPack(file []byte, p event.StickerPack) ([]byte, error) {
	all, err := readWebP(file)
	if err != nil {
		return nil, err
	}
	size, err := webp.DecodeConfig(bytes.NewReader(file))
	if err != nil {
		return nil, errWebP
	}
	if all[0].name != "VP8X" {
		all = append([]webpChunk{{"VP8X", extended(all[0], size)}}, all...)
	}
	if len(all[0].data) != webpHeader {
		return nil, errWebP
	}
	head := bytes.Clone(all[0].data)
	head[0] |= exifFlag
	kept := []webpChunk{{"VP8X", head}}
	for _, c := range all[1:] {
		if c.name != "EXIF" {
			kept = append(kept, c)
		}
	}
	exif, err := packExif(p)
	return writeWebP(append(kept, webpChunk{"EXIF", exif})), err
}

// extended returns the extended header of a simple file with that picture.
func extended(picture webpChunk, size image.Config) []byte {
	head := make([]byte, webpHeader)
	const alphaHint = 1 << 4 // in the fifth byte of a lossless picture
	if picture.name == "VP8L" && len(picture.data) > 4 && picture.data[4]&alphaHint != 0 {
		head[0] |= alphaFlag
	}
	put24 := func(at []byte, n int) { at[0], at[1], at[2] = byte(n), byte(n>>8), byte(n>>16) } //nolint:gosec // at most 2^14
	put24(head[4:], size.Width-1)
	put24(head[7:], size.Height-1)
	return head
}

// packExif returns Exif data with one tag, 0x5741, whose value is the pack as JSON.
func packExif(p event.StickerPack) ([]byte, error) {
	text, err := json.Marshal(map[string]any{"sticker-pack-id": "postern", "sticker-pack-name": p.Name, "sticker-pack-publisher": p.Publisher, "emojis": []string{""}})
	if err != nil {
		return nil, err
	}
	// A TIFF header in little-endian order, one directory with one entry of undefined type, and its value.
	exif := []byte{'I', 'I', 0x2a, 0, 8, 0, 0, 0, 1, 0, 0x41, 0x57, 7, 0}
	exif = binary.LittleEndian.AppendUint32(exif, uint32(len(text))) //nolint:gosec // names of at most 128 characters
	exif = binary.LittleEndian.AppendUint32(exif, uint32(len(exif)+4))
	return append(exif, text...), nil
}
