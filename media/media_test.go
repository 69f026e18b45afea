package media

import (
	"bytes"
	"encoding/binary"
	"errors"
	"image"
	"image/jpeg"
	"image/png"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"postern/event"
	"postern/store"
)

func newLibrary(t testing.TB, adapt func(*Config)) *Library {
	t.Helper()
	st, err := store.Open(store.Options{Path: filepath.Join(t.TempDir(), "m.db"), Buckets: Buckets(), NoSync: true, MinFree: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = st.Close() })
	cfg := Config{Store: st, Dir: filepath.Join(t.TempDir(), "spool"), MaxBytes: 1 << 20, Timeout: 10 * time.Second}
	if adapt != nil {
		adapt(&cfg)
	}
	l, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func example(t *testing.T, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func (l *Library) spools(t testing.TB, content []byte) (path string) {
	t.Helper()
	path, err := l.Spool(bytes.NewReader(content))
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// prepares spools content and prepares it.
func (l *Library) prepares(t *testing.T, content []byte, w Wish) (event.MediaFile, error) {
	t.Helper()
	return l.Prepare(t.Context(), l.spools(t, content), w)
}

func (l *Library) spooled(t *testing.T) []string {
	t.Helper()
	left, err := filepath.Glob(filepath.Join(l.cfg.Dir, "*"))
	if err != nil {
		t.Fatal(err)
	}
	return left
}

func converter(t *testing.T) string {
	t.Helper()
	path, err := exec.LookPath("ffmpeg")
	if err != nil {
		t.Skip("needs ffmpeg")
	}
	return path
}

func TestTheBytesSayWhatAFileIs(t *testing.T) {
	brand := func(b string) string { return "\x00\x00\x00\x18ftyp" + b + "\x00\x00\x00\x00" }
	for content, want := range map[string]string{
		"\xff\xd8\xff\xe0":             jpegType,
		"\x89PNG\r\n\x1a\n":            pngType,
		"RIFF\x00\x00\x00\x00WEBPVP8 ": webpType,
		"GIF89a":                       "image/gif",
		brand("isom"):                  mp4Type,
		brand("mp42"):                  mp4Type,
		brand("M4A "):                  m4aType,
		brand("qt  "):                  movType,
		brand("3gp5"):                  gp3Type,
		brand("heic"):                  "image/heic",
		"ID3\x03":                      mp3Type,
		"\xff\xfb\x90\x00":             mp3Type,
		"\xff\xfb\xf0\x00":             anyType, // no bit rate has that code
		"\xff\xf1\x50\x80":             aacType,
		"#!AMR\n":                      amrType,
		"fLaC":                         flacType,
		"RIFF\x00\x00\x00\x00WAVE":     wavType,
		"OggS" + strings.Repeat("\x00", 24) + "OpusHead":   opusType,
		"OggS" + strings.Repeat("\x00", 24) + "\x01vorbis": oggOther,
		"%PDF-1.7":                    "application/pdf",
		"<!DOCTYPE html>":             "text/html",
		"#EXTM3U\nfile:///etc/passwd": "text/plain",
		"":                            "text/plain",
	} {
		if got := sniff([]byte(content)); got != want {
			t.Errorf("%q is %s, want %s", content, got, want)
		}
	}
}

func TestAFileIsDescribed(t *testing.T) {
	l := newLibrary(t, nil)
	for _, c := range []struct {
		file  string
		kind  event.MediaKind
		check func(event.MediaFile) bool
	}{
		{"photo.jpg", event.MediaImage, func(f event.MediaFile) bool {
			small, err := jpeg.DecodeConfig(bytes.NewReader(f.Thumbnail))
			return f.MimeType == jpegType && f.Width == 160 && f.Height == 120 && err == nil && small.Width == 72 && small.Height == 54
		}},
		{"note.ogg", event.MediaVoice, func(f event.MediaFile) bool {
			loud, quiet := 0, 0
			for i, v := range f.Waveform {
				if v > waveformTop {
					return false
				}
				if i < waveformSize/2 {
					quiet += int(v)
				} else {
					loud += int(v)
				}
			}
			return f.MimeType == opusType && f.Seconds == 2 && len(f.Waveform) == 64 && loud > 0 && quiet > 0
		}},
		{"note.ogg", event.MediaAudio, func(f event.MediaFile) bool { return f.Seconds == 2 && f.Waveform == nil }},
		{"clip.mp4", event.MediaVideo, func(f event.MediaFile) bool {
			return f.MimeType == mp4Type && f.Width == 64 && f.Height == 48 && f.Seconds == 1 && f.Thumbnail == nil
		}},
		{"sticker.webp", event.MediaSticker, func(f event.MediaFile) bool {
			return f.MimeType == webpType && f.Width == 96 && f.Height == 96 && !f.Animated
		}},
		{"photo.jpg", event.MediaDocument, func(f event.MediaFile) bool { return f.MimeType == jpegType && len(f.Thumbnail) > 0 }},
		{"clip.mp4", event.MediaPTV, func(f event.MediaFile) bool { return f.Width == 64 }},
	} {
		content := example(t, c.file)
		f, err := l.prepares(t, content, Wish{Kind: c.kind})
		if err != nil || !c.check(f) || f.Size != int64(len(content)) || f.Kind != c.kind {
			f.Thumbnail = nil
			t.Errorf("%s as %s: %+v, %v", c.file, c.kind, f.MediaInfo, err)
		}
		Remove(f)
	}
	if left := l.spooled(t); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

func TestDocumentType(t *testing.T) {
	l := newLibrary(t, nil)
	for _, c := range []struct{ name, mime, content, want string }{
		{"a.bin", "application/x-own", "x", "application/x-own"},
		{"a.pdf", "", "x", "application/pdf"},
		{"a.unheardof", "", "%PDF-1.4", "application/pdf"},
		{"", "", "\x00\x01\x02", anyType},
	} {
		f, err := l.prepares(t, []byte(c.content), Wish{Kind: event.MediaDocument, FileName: c.name, MimeType: c.mime})
		if err != nil || f.MimeType != c.want || f.FileName != c.name {
			t.Errorf("%q: %s, %v; want %s", c.name, f.MimeType, err, c.want)
		}
	}
}

func TestFileOfWrongTypeIsRejected(t *testing.T) {
	l := newLibrary(t, nil)
	for _, c := range []struct {
		file string
		wish Wish
		want error
	}{
		{"note.ogg", Wish{Kind: event.MediaImage}, event.ErrMedia},
		{"photo.jpg", Wish{Kind: event.MediaVideo}, event.ErrMedia},
		{"photo.jpg", Wish{Kind: event.MediaSticker}, event.ErrMedia},
		{"photo.jpg", Wish{Kind: event.MediaVoice}, event.ErrMedia},
		{"photo.jpg", Wish{Kind: event.MediaImage, MimeType: "image/png"}, event.ErrMedia},
		{"tone.wav", Wish{Kind: event.MediaVoice}, event.ErrMediaType},
		{"tone.wav", Wish{Kind: event.MediaAudio}, event.ErrMediaType},
		{"clip.mp4", Wish{Kind: event.MediaVoice}, event.ErrMediaType},
	} {
		if _, err := l.prepares(t, example(t, c.file), c.wish); !errors.Is(err, c.want) {
			t.Errorf("%s as %+v: %v", c.file, c.wish, err)
		}
	}
	for declared, file := range map[string]string{"image/jpg": "photo.jpg", "IMAGE/JPEG; q=1": "photo.jpg"} {
		if _, err := l.prepares(t, example(t, file), Wish{Kind: event.MediaImage, MimeType: declared}); err != nil {
			t.Errorf("%s: %v", declared, err)
		}
	}
}

func TestOtherAudioIsConverted(t *testing.T) {
	program := converter(t)
	l := newLibrary(t, func(c *Config) { c.FFmpeg = program })
	for _, kind := range []event.MediaKind{event.MediaVoice, event.MediaAudio} {
		f, err := l.prepares(t, example(t, "tone.wav"), Wish{Kind: kind})
		if err != nil || f.MimeType != opusType || f.Seconds != 1 {
			t.Errorf("%s: %+v, %v", kind, f.MediaInfo, err)
		}
		Remove(f)
	}
	f, err := l.prepares(t, example(t, "clip.mp4"), Wish{Kind: event.MediaVideo})
	if size, derr := jpeg.DecodeConfig(bytes.NewReader(f.Thumbnail)); err != nil || derr != nil || size.Width != 72 || size.Height != 54 {
		t.Errorf("thumbnail: %v, %v, %v", size, err, derr)
	}
	Remove(f)
	broken := append(example(t, "tone.wav")[:60], bytes.Repeat([]byte("?"), 20)...)
	copy(broken[20:], "\xff\xff\xff\xff")
	if _, err := l.prepares(t, broken, Wish{Kind: event.MediaVoice}); !errors.Is(err, event.ErrMedia) {
		t.Errorf("a damaged file: %v", err)
	}
	if left := l.spooled(t); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

func TestAudioTooLargeAfterConversionIsRejected(t *testing.T) {
	program := converter(t)
	l := newLibrary(t, func(c *Config) { c.FFmpeg = program })
	path := l.spools(t, example(t, "tone.wav"))
	l.cfg.MaxBytes = 1000
	if _, err := l.Prepare(t.Context(), path, Wish{Kind: event.MediaVoice}); !errors.Is(err, event.ErrMedia) || !strings.Contains(err.Error(), "media.max_bytes") {
		t.Error(err)
	}
	if left := l.spooled(t); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

// TestAPlaylistReadsNoOtherFile: ffmpeg follows the files that a playlist
// names, whatever the list calls itself, unless it is configured.
func TestAPlaylistReadsNoOtherFile(t *testing.T) {
	program := converter(t)
	l := newLibrary(t, func(c *Config) { c.FFmpeg = program })
	victim, err := filepath.Abs(filepath.Join("testdata", "tone.wav"))
	if err != nil {
		t.Fatal(err)
	}
	for _, head := range []string{"", "ID3\x03\x00\x00\x00\x00\x00\x00", "fLaC", "#!AMR\n"} {
		for _, list := range []string{
			head + "#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXTINF:1,\nfile://" + victim + "\n#EXT-X-ENDLIST\n",
			head + "ffconcat version 1.0\nfile '" + victim + "'\n",
		} {
			if f, err := l.prepares(t, []byte(list), Wish{Kind: event.MediaVoice}); err == nil {
				t.Errorf("%q became %+v", list, f.MediaInfo)
			}
		}
	}
}

func TestHostileFilesNeitherPanicNorTakeMemory(t *testing.T) {
	l := newLibrary(t, nil)
	var bomb bytes.Buffer // a picture of 30 000 × 30 000 pixels in some kilobytes
	if err := png.Encode(&bomb, image.NewGray(image.Rect(0, 0, 8, 8))); err != nil {
		t.Fatal(err)
	}
	b := bomb.Bytes()
	binary.BigEndian.PutUint32(b[16:], 30_000)
	binary.BigEndian.PutUint32(b[20:], 30_000)
	f, err := l.prepares(t, b, Wish{Kind: event.MediaImage})
	if err != nil || f.Thumbnail != nil {
		t.Errorf("%+v, %v", f.MediaInfo, err)
	}
	box := func(kind string, size uint32, body string) string {
		return string(binary.BigEndian.AppendUint32(nil, size)) + kind + body
	}
	head := box("ftyp", 16, "isom\x00\x00\x00\x00")
	for _, content := range []string{
		head + box("moov", 0, "") + box("moov", 8, "") + box("mvhd", 0xffffffff, ""),
		head + box("moov", 1, "\xff\xff\xff\xff\xff\xff\xff\xff"),
		head + strings.Repeat(box("moov", 8, ""), 10_000),
		head + box("moov", 108+8, box("mvhd", 108, strings.Repeat("\xff", 100))),
		head + box("moov", 108+8, box("mvhd", 108, strings.Repeat("\x00", 100))),
	} {
		if _, err := l.prepares(t, []byte(content), Wish{Kind: event.MediaVideo}); err != nil {
			t.Error(err)
		}
	}
}

func FuzzDescribe(f *testing.F) {
	for _, name := range []string{"photo.jpg", "note.ogg", "clip.mp4", "sticker.webp", "tone.wav"} {
		b, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		path := filepath.Join(t.TempDir(), "f")
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		l := &Library{cfg: Config{MaxBytes: 1 << 20, Logger: slog.New(slog.DiscardHandler)}, looking: newTurns(1)}
		for _, kind := range []event.MediaKind{event.MediaImage, event.MediaVideo, event.MediaVoice, event.MediaSticker} {
			info := event.MediaFile{Path: path, MediaInfo: event.MediaInfo{Kind: kind, MimeType: opusType}}
			l.describe(t.Context(), 1, &info)
			if info.Seconds < 0 || info.Width < 0 || info.Height < 0 {
				t.Errorf("%+v", info.MediaInfo)
			}
		}
	})
}

func TestSpoolIsEmptiedAtStart(t *testing.T) {
	l := newLibrary(t, nil)
	if _, err := l.Spool(strings.NewReader("left by a crash")); err != nil {
		t.Fatal(err)
	}
	other := filepath.Join(l.cfg.Dir, "not-ours")
	if err := os.WriteFile(other, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := New(l.cfg); err != nil {
		t.Fatal(err)
	}
	if left := l.spooled(t); len(left) != 1 || left[0] != other {
		t.Errorf("left: %v", left)
	}
}
