package event

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// Errors about files. Both are certain: no message was sent.
var (
	// ErrMedia: the file could not be fetched, or breaks a rule that the error
	// names.
	ErrMedia = errors.New("media cannot be sent")
	// ErrMediaType: the file is of a type that would have to be converted, and
	// nothing here can do that.
	ErrMediaType = errors.New("media type is not supported")
)

// Errors about the files of messages that were sent or received before.
var (
	// ErrNoMedia: the message has no file.
	ErrNoMedia = errors.New("the message has no media")
	// ErrMediaGone: WhatsApp does not have the file any more.
	ErrMediaGone = errors.New("the file is gone")
)

// MediaKind is what a media file is sent as.
type MediaKind string

// The kinds of media.
const (
	MediaImage    MediaKind = "image"
	MediaDocument MediaKind = "document"
	MediaVideo    MediaKind = "video"
	MediaAudio    MediaKind = "audio" // a piece of music
	MediaPTV      MediaKind = "ptv"   // a round video note
	MediaVoice    MediaKind = "voice" // a voice note
	MediaSticker  MediaKind = "sticker"
)

// UploadKinds returns the kinds that a file can be uploaded as.
func UploadKinds() []MediaKind { return append(mediaTypes(), MediaVoice, MediaSticker) }

// The kinds that mediatype names.
func mediaTypes() []MediaKind {
	return []MediaKind{MediaImage, MediaDocument, MediaVideo, MediaAudio, MediaPTV}
}

// Media is a media message. Exactly one of URL, UploadID and File says where
// the bytes come from.
type Media struct {
	Kind     MediaKind // empty: what the upload was made as
	URL      string
	UploadID string     // of a file that was uploaded before
	Message  MessageID  // the stored message that has the file, which the caller resolves
	File     *MediaFile // of this request

	FileName string
	Caption  string
	MimeType string // what the caller says it is; checked against the bytes
	ViewOnce bool

	Convert bool        // a video or a voice note: convert what ffmpeg reads
	GIF     bool        // a video that plays like a GIF
	Pack    StickerPack // of a sticker

	// What the caller says of a voice note; else the file is measured.
	Seconds  int
	Waveform string // base64 of WaveformLength volumes

	// Done is the file at WhatsApp, once a message before this one has uploaded it.
	Done *Uploaded `json:"-"`

	// Hosted is the file at WhatsApp that File was downloaded from: it need not be uploaded again unless it
	// was changed, or is sent as another kind. Its Kind is one of those whose files are encrypted alike.
	Hosted *Uploaded `json:"-"`

	// Shared is set if many messages have this content, so that one upload may serve
	// them all.
	Shared bool
}

// StickerPack names the pack of a sticker.
type StickerPack struct{ Name, Publisher string }

// MediaFile is a local file to send, with its properties.
type MediaFile struct {
	Path string // its creator removes it
	MediaInfo
}

// MediaInfo is what a recipient's screen needs to know about a file before it
// is downloaded. Zero values are unknown.
type MediaInfo struct {
	Kind      MediaKind `json:"kind"`
	MimeType  string    `json:"mimetype"`
	FileName  string    `json:"fileName,omitempty"`
	Size      int64     `json:"size"` // bytes
	Width     int       `json:"width,omitempty"`
	Height    int       `json:"height,omitempty"`
	Seconds   int       `json:"seconds,omitempty"`
	Waveform  []byte    `json:"waveform,omitempty"`  // WaveformLength volumes of 0 to 100
	Thumbnail []byte    `json:"thumbnail,omitempty"` // JPEG
	Animated  bool      `json:"animated,omitempty"`
}

// LinkPreview is what a web page names for the preview of a link to it.
type LinkPreview struct {
	Title       string
	Description string
	PictureURL  string    // as named; empty: none
	Picture     MediaInfo // its thumbnail and size; empty when it could not be read
}

// Uploaded is a file that lies at WhatsApp, and all that a message needs to point to it. MediaKey opens
// it: it is a secret. A file of a newsletter is not encrypted: it has no keys, and a handle, which its
// post repeats.
type Uploaded struct {
	MediaInfo
	URL           string `json:"url"`
	DirectPath    string `json:"directPath"`
	MediaKey      []byte `json:"mediaKey"`
	FileSHA256    []byte `json:"fileSha256"`
	FileEncSHA256 []byte `json:"fileEncSha256"`
	UploadedAt    Time   `json:"uploadedAt"`
	Handle        string `json:"-"`
}

// MediaSource is what a media message consists of: a file that is still to be
// uploaded, or an upload. Exactly one of the two is set.
type MediaSource struct {
	File     *MediaFile
	Uploaded *Uploaded
	Close    func() // removes files created for this message alone; never nil
}

// WaveformLength is how many volumes the picture of a voice note has.
const WaveformLength = 64

// UploadID names an upload by one of its two ids: a number as it is written, or
// a UUID. In JSON a number may be one; 0 names none.
type UploadID string

// UnmarshalJSON implements json.Unmarshaler.
func (u *UploadID) UnmarshalJSON(raw []byte) error {
	var n int64
	if err := json.Unmarshal(raw, &n); err == nil && n >= 0 {
		if *u = ""; n > 0 {
			*u = UploadID(strconv.FormatInt(n, 10))
		}
		return nil
	}
	if json.Unmarshal(raw, (*string)(u)) != nil {
		return errors.New("it must be the id of an upload: an integer or a UUID")
	}
	return nil
}

// MessageID names a stored message: by its id here as it is written, or by its id at WhatsApp. In JSON a number may be
// one; 0 names none.
type MessageID string

// UnmarshalJSON implements json.Unmarshaler.
func (m *MessageID) UnmarshalJSON(raw []byte) error {
	var u UploadID
	if u.UnmarshalJSON(raw) != nil {
		return errors.New("it must be the id of a message: a positive integer, or the key id as a string")
	}
	*m = MessageID(u)
	return nil
}

// MediaContent is a file to be sent, given by its URL or by the id of an
// earlier upload. With an upload the kind may be missing.
type MediaContent struct {
	Kind     MediaKind `json:"mediatype"`
	URL      string    `json:"media"`
	UploadID UploadID  `json:"mediaUploadId"`
	Message  MessageID `json:"messageId"`
	FileName string    `json:"fileName"`
	Caption  string    `json:"caption"`
	MimeType string    `json:"mimetype"`
	ViewOnce bool      `json:"viewOnce"`
	GIF      bool      `json:"gifPlayback" doc:"Whether the video plays like a GIF: by itself, again and again, without sound. It may be a GIF where the server has ffmpeg." example:"false"`
	Convert  bool      `json:"convert" doc:"Whether to convert a video of another format to MP4. It needs ffmpeg on the server." example:"false"`
}

// Content implements [Payload].
func (m *MediaContent) Content() (Content, error) {
	c := Content{Media: &Media{
		Kind: m.Kind, URL: m.URL, UploadID: string(m.UploadID), Message: m.Message,
		FileName: m.FileName, Caption: m.Caption, MimeType: m.MimeType, ViewOnce: m.ViewOnce, GIF: m.GIF, Convert: m.Convert,
	}}
	return c, firstError(oneSource("media", m.URL, m.UploadID, m.Message), c.Media.Check())
}

// AudioContent is a voice note.
type AudioContent struct {
	URL      string    `json:"audio"`
	UploadID UploadID  `json:"mediaUploadId"`
	Message  MessageID `json:"messageId"`
	ViewOnce bool      `json:"viewOnce"`
	Seconds  int       `json:"seconds"`  // its length; 0: as the file says
	Waveform string    `json:"waveform"` // base64 of WaveformLength volumes; empty: as the file says
	Convert  bool      `json:"convert" doc:"Whether to take the sound of a file of another format too, such as a video. It needs ffmpeg on the server." example:"false"`
	PTT      *bool     `json:"ptt" doc:"Accepted without effect: it is always a voice note." example:"true"`
}

// Content implements [Payload].
func (a *AudioContent) Content() (Content, error) {
	c := Content{Media: &Media{
		Kind: MediaVoice, URL: a.URL, UploadID: string(a.UploadID), Message: a.Message, ViewOnce: a.ViewOnce, Seconds: a.Seconds, Waveform: a.Waveform, Convert: a.Convert,
	}}
	if a.Seconds < 0 || a.Seconds > MaxSeconds {
		return c, fmt.Errorf("%w: seconds must be 0 to %d", ErrContent, MaxSeconds)
	}
	if raw, err := base64.StdEncoding.DecodeString(a.Waveform); a.Waveform != "" && (err != nil || len(raw) != WaveformLength) {
		return c, fmt.Errorf("%w: waveform must be the base64 of %d bytes", ErrContent, WaveformLength)
	}
	return c, oneSource("audio", a.URL, a.UploadID, a.Message)
}

// MaxSeconds is longer than any voice note: a day.
const MaxSeconds = 24 * 60 * 60

// The number of files of an album.
const (
	MinAlbum = 2
	MaxAlbum = 30
)

// AlbumItems are the files of an album.
type AlbumItems struct {
	Items []AlbumItem `json:"items" strict:"required"`
}

// AlbumItem is a picture or a video of an album.
type AlbumItem struct {
	Kind     MediaKind `json:"mediatype"`
	URL      string    `json:"media"`
	UploadID UploadID  `json:"mediaUploadId"`
	Message  MessageID `json:"messageId"`
	Caption  string    `json:"caption"`
}

// Content implements [Payload].
func (a *AlbumItems) Content() (Content, error) {
	if len(a.Items) < MinAlbum || len(a.Items) > MaxAlbum {
		return Content{}, fmt.Errorf("%w: items must have %d to %d entries", ErrContent, MinAlbum, MaxAlbum)
	}
	album := &AlbumContent{}
	for i, item := range a.Items {
		if item.Kind != MediaImage && item.Kind != MediaVideo {
			return Content{}, fmt.Errorf("%w: items[%d].mediatype %.100q is not one of: image, video", ErrContent, i, item.Kind)
		}
		content := MediaContent{Kind: item.Kind, URL: item.URL, UploadID: item.UploadID, Message: item.Message, Caption: item.Caption}
		c, err := content.Content()
		if err != nil {
			return c, fmt.Errorf("items[%d]: %w", i, err)
		}
		album.Files = append(album.Files, c.Media)
	}
	return Content{Album: album}, nil
}

// StickerContent is a sticker: a WebP image, or what one is made of.
type StickerContent struct {
	URL           string    `json:"sticker"`
	UploadID      UploadID  `json:"mediaUploadId"`
	Message       MessageID `json:"messageId"`
	PackName      string    `json:"packName"`
	PackPublisher string    `json:"packPublisher"`
}

// Content implements [Payload].
func (s *StickerContent) Content() (Content, error) {
	m := &Media{Kind: MediaSticker, URL: s.URL, UploadID: string(s.UploadID), Message: s.Message, Pack: StickerPack{s.PackName, s.PackPublisher}}
	return Content{Media: m}, firstError(oneSource("sticker", s.URL, s.UploadID, s.Message), m.Pack.Check(m.UploadID != ""))
}

// MaxPackName is the greatest length of the names of a sticker's pack, in characters.
const MaxPackName = 128

// Check returns an error that wraps ErrContent if the names of a pack are too long, or are for a file that was
// uploaded before.
func (p StickerPack) Check(uploaded bool) error {
	if uploaded && p != (StickerPack{}) {
		return fmt.Errorf("%w: packName and packPublisher are written into the file, and that of mediaUploadId is at WhatsApp already; send it by its URL", ErrContent)
	}
	return firstError(checkText("packName", p.Name, 0, MaxPackName), checkText("packPublisher", p.Publisher, 0, MaxPackName))
}

// Check returns an error that wraps ErrContent if a field of m other than its source is
// invalid.
func (m *Media) Check() error {
	fromUpload := m.Kind == "" && m.UploadID != ""
	if !fromUpload && !slices.Contains(mediaTypes(), m.Kind) {
		return fmt.Errorf("%w: the media type %.100q is not one of: image, document, video, audio, ptv", ErrContent, m.Kind)
	}
	if !fromUpload {
		if err := m.CheckAs(m.Kind); err != nil {
			return err
		}
	}
	return firstError(
		checkText("fileName", m.FileName, 0, MaxName),
		checkText("caption", m.Caption, 0, MaxText),
		optional(m.MimeType, checkMIME(m.MimeType)),
	)
}

// CheckAs returns an error that wraps ErrContent if the options of m do not apply to files
// of that kind. A caption or a file name is accepted with every kind; kinds that cannot
// show it are sent without it.
func (m *Media) CheckAs(kind MediaKind) error {
	if m.ViewOnce && kind != MediaImage && kind != MediaVideo && kind != MediaVoice {
		return fmt.Errorf("%w: viewOnce is for images, videos and voice notes", ErrContent)
	}
	if m.GIF && kind != MediaVideo {
		return fmt.Errorf("%w: gifPlayback is for videos", ErrContent)
	}
	if m.Convert && kind != MediaVideo && kind != MediaPTV && kind != MediaVoice && kind != MediaAudio {
		return fmt.Errorf("%w: convert is for videos and audio", ErrContent)
	}
	return nil
}

// CheckUpload returns an error that wraps ErrContent if m is invalid as an upload without
// a message.
func (m *Media) CheckUpload() error {
	if !slices.Contains(UploadKinds(), m.Kind) {
		return fmt.Errorf("%w: mediaType %.100q is not one of: image, document, video, audio, ptv, voice, sticker", ErrContent, m.Kind)
	}
	return firstError(
		checkText("fileName", m.FileName, 0, MaxName),
		optional(m.MimeType, checkMIME(m.MimeType)),
		optional(m.URL, checkURL("media", m.URL)),
	)
}

// CleanName is a file's name without folders and invisible characters: it comes
// from outside, and the recipient's program stores the file under it. Characters that
// change the direction of text, such as U+202E, would show another extension than the
// file has. The joiners of words and emoji stay.
func CleanName(name string) string {
	name = strings.Map(func(r rune) rune {
		switch {
		case r == '\u200c' || r == '\u200d':
			return r
		case unicode.IsControl(r), unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp):
			return -1
		}
		return r
	}, strings.ReplaceAll(name, `\`, "/"))
	if name = path.Base(name); name == "." || name == "/" || name == ".." {
		return ""
	}
	return name
}

func oneSource(name, rawURL string, upload UploadID, message MessageID) error {
	given := 0
	for _, text := range []string{rawURL, string(upload), string(message)} {
		if text != "" {
			given++
		}
	}
	if given != 1 {
		return fmt.Errorf("%w: exactly one of %s, mediaUploadId and messageId must be given", ErrContent, name)
	}
	return optional(rawURL, checkURL(name, rawURL))
}

func checkMIME(kind string) error {
	if major, minor, ok := strings.Cut(kind, "/"); !ok || major == "" || minor == "" || len(kind) > 127 {
		return fmt.Errorf("%w: mimetype must be like image/jpeg", ErrContent)
	}
	return nil
}
