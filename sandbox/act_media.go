package sandbox

import (
	"bytes"
	"context"
	"encoding/base64"
	"image"
	"image/color"
	"image/jpeg"
	"time"

	"go.mau.fi/whatsmeow"
	"go.mau.fi/whatsmeow/proto/waE2E"

	"postern/sandbox/network"
	"postern/sandbox/network/mediahost"
	"postern/sandbox/phone"
)

// maxMadeUp is the largest file that an act generates.
const maxMadeUp = 16 << 20

type imageFields struct {
	To      string `json:"to" help:"the recipient: a number or an address, also of a group"`
	Caption string `json:"caption" help:"the caption"`
	Image   string `json:"image" help:"a JPEG in base64; missing: a small grey one"`
	ID      string `json:"id" help:"the message id; missing: a new one"`
}

func actImage(ctx context.Context, s *network.Server, p *phone.Phone, f imageFields) (any, error) {
	data, err := fileOf("image", f.Image, 0)
	if err != nil {
		return nil, err
	}
	return sendMedia(ctx, s, p, mediaFields{To: f.To, Kind: "image", Caption: f.Caption, ID: f.ID}, data)
}

type mediaFields struct {
	To       string `json:"to" help:"the recipient: a number or an address, also of a group"`
	Kind     string `json:"kind" help:"image, video, gif, voice, audio, document or sticker"`
	Caption  string `json:"caption" help:"the caption"`
	FileName string `json:"fileName" help:"of a document"`
	MimeType string `json:"mimetype" help:"missing: the usual type of the kind"`
	Data     string `json:"data" help:"the file in base64; missing: a small grey JPEG"`
	Length   int64  `json:"length" help:"the size that the message declares; missing: the file's"`
	Size     int    `json:"size" help:"without data: the size of a generated file, at most 16777216"`
	ID       string `json:"id" help:"the message id; missing: a new one"`
}

func actMedia(ctx context.Context, s *network.Server, p *phone.Phone, f mediaFields) (any, error) {
	if f.Size < 0 || f.Size > maxMadeUp {
		return nil, invalidField("size", "is not from 1 to 16777216")
	}
	if f.Size > 0 && f.Data != "" {
		return nil, invalidField("size", "cannot be given with data")
	}
	data, err := fileOf("data", f.Data, f.Size)
	if err != nil {
		return nil, err
	}
	return sendMedia(ctx, s, p, f, data)
}

// fileOf returns the file of a field, a generated one of this size, or a small picture.
func fileOf(field, encoded string, size int) ([]byte, error) {
	if encoded != "" {
		data, err := base64.StdEncoding.DecodeString(encoded)
		if err != nil {
			return nil, invalidField(field, "is not base64")
		}
		return data, nil
	}
	grey := greyJPEG()
	if size == 0 {
		return grey, nil
	}
	return bytes.Repeat(grey, size/len(grey)+1)[:size], nil
}

// mediaKind is how files of a kind are encrypted, with their usual type.
type mediaKind struct {
	purpose  whatsmeow.MediaType
	mimetype string
}

// mediaKinds holds the kinds by their name.
var mediaKinds = map[string]mediaKind{
	"image": {whatsmeow.MediaImage, "image/jpeg"}, "sticker": {whatsmeow.MediaImage, "image/webp"},
	"video": {whatsmeow.MediaVideo, "video/mp4"}, "gif": {whatsmeow.MediaVideo, "video/mp4"},
	"voice": {whatsmeow.MediaAudio, "audio/ogg; codecs=opus"}, "audio": {whatsmeow.MediaAudio, "audio/mpeg"},
	"document": {whatsmeow.MediaDocument, "application/pdf"},
}

const notAKind = "is not one of image, video, gif, voice, audio, document, sticker"

// sendMedia uploads an encrypted file to the media host and sends the message with its
// key.
func sendMedia(ctx context.Context, s *network.Server, p *phone.Phone, f mediaFields, data []byte) (any, error) {
	kind, ok := mediaKinds[f.Kind]
	if !ok {
		return nil, invalidField("kind", notAKind)
	}
	if _, err := chatAddress("to", f.To); err != nil {
		return nil, err
	}
	if f.MimeType == "" {
		f.MimeType = kind.mimetype
	}
	file, err := s.SealMedia(data, kind.purpose)
	if err != nil {
		return nil, err
	}
	if f.Length != 0 {
		file.Size = uint64(f.Length) //nolint:gosec // of any value, as senders may
	}
	return sendAs(ctx, p, f.To, (&sealed{file}).message(f, time.Now()), phone.SendOptions{ID: f.ID})
}

// sealed is an encrypted file that a message refers to.
type sealed struct{ mediahost.Sealed }

func (f *sealed) message(fields mediaFields, at time.Time) *waE2E.Message {
	switch fields.Kind {
	case "image":
		return &waE2E.Message{ImageMessage: f.image(fields, at)}
	case "video", "gif":
		return &waE2E.Message{VideoMessage: f.video(fields, at)}
	case "voice", "audio":
		return &waE2E.Message{AudioMessage: f.audio(fields, at)}
	case "sticker":
		return &waE2E.Message{StickerMessage: f.sticker(fields, at)}
	default:
		return &waE2E.Message{DocumentMessage: f.document(fields, at)}
	}
}

func (f *sealed) image(fields mediaFields, at time.Time) *waE2E.ImageMessage {
	return &waE2E.ImageMessage{
		URL: &f.URL, DirectPath: &f.Path, MediaKey: f.Key, FileSHA256: f.Hash, FileEncSHA256: f.EncHash, FileLength: &f.Size,
		Mimetype: &fields.MimeType, Caption: &fields.Caption, MediaKeyTimestamp: new(at.Unix()),
		Width: new(uint32(64)), Height: new(uint32(64)), JPEGThumbnail: greyJPEG(),
	}
}

func (f *sealed) video(fields mediaFields, at time.Time) *waE2E.VideoMessage {
	return &waE2E.VideoMessage{
		URL: &f.URL, DirectPath: &f.Path, MediaKey: f.Key, FileSHA256: f.Hash, FileEncSHA256: f.EncHash, FileLength: &f.Size,
		Mimetype: &fields.MimeType, Caption: &fields.Caption, MediaKeyTimestamp: new(at.Unix()),
		Seconds: new(uint32(3)), GifPlayback: new(fields.Kind == "gif"), JPEGThumbnail: greyJPEG(),
	}
}

func (f *sealed) audio(fields mediaFields, at time.Time) *waE2E.AudioMessage {
	return &waE2E.AudioMessage{
		URL: &f.URL, DirectPath: &f.Path, MediaKey: f.Key, FileSHA256: f.Hash, FileEncSHA256: f.EncHash, FileLength: &f.Size,
		Mimetype: &fields.MimeType, MediaKeyTimestamp: new(at.Unix()),
		Seconds: new(uint32(3)), PTT: new(fields.Kind == "voice"),
	}
}

func (f *sealed) sticker(fields mediaFields, at time.Time) *waE2E.StickerMessage {
	return &waE2E.StickerMessage{
		URL: &f.URL, DirectPath: &f.Path, MediaKey: f.Key, FileSHA256: f.Hash, FileEncSHA256: f.EncHash, FileLength: &f.Size,
		Mimetype: &fields.MimeType, MediaKeyTimestamp: new(at.Unix()), Width: new(uint32(64)), Height: new(uint32(64)),
	}
}

func (f *sealed) document(fields mediaFields, at time.Time) *waE2E.DocumentMessage {
	return &waE2E.DocumentMessage{
		URL: &f.URL, DirectPath: &f.Path, MediaKey: f.Key, FileSHA256: f.Hash, FileEncSHA256: f.EncHash, FileLength: &f.Size,
		Mimetype: &fields.MimeType, Caption: &fields.Caption, MediaKeyTimestamp: new(at.Unix()),
		FileName: &fields.FileName, Title: &fields.FileName,
	}
}

// greyJPEG is the default picture.
func greyJPEG() []byte {
	const side = 64
	img := image.NewGray(image.Rect(0, 0, side, side))
	for i := range img.Pix {
		img.Pix[i] = color.Gray{Y: uint8(96 + i/side)}.Y
	}
	var out bytes.Buffer
	if err := jpeg.Encode(&out, img, nil); err != nil {
		return nil // writing to memory does not fail
	}
	return out.Bytes()
}
