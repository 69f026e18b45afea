package media

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/image/webp"

	"postern/event"
)

// drawn returns a file that ffmpeg draws by a filter, of a format by its name's ending.
func drawn(t *testing.T, name, filter string, args ...string) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	args = append([]string{"-nostdin", "-loglevel", "error", "-f", "lavfi", "-i", filter}, append(args, path)...)
	if out, err := exec.CommandContext(t.Context(), converter(t), args...).CombinedOutput(); err != nil {
		t.Fatalf("%v %s", err, out)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// TestStickersAreMadeOfPicturesAndVideos to the size that clients show, with the names of their pack.
func TestStickersAreMadeOfPicturesAndVideos(t *testing.T) {
	if testing.Short() {
		t.Skip("converts many files")
	}
	program := converter(t)
	l := newLibrary(t, func(c *Config) { c.FFmpeg = program })
	const moving, noise = "testsrc=size=320x180:rate=25:duration=2", "color=gray:s=600x600,noise=alls=100"
	for name, row := range map[string]struct {
		content []byte
		moving  bool
	}{
		"photo.jpg":      {example(t, "photo.jpg"), false},
		"a.png":          {drawn(t, "a.png", "color=red@0.5:s=40x400,format=rgba", "-frames:v", "1"), false},
		"large.webp":     {drawn(t, "a.webp", "testsrc=size=900x300", "-frames:v", "1"), false},
		"noise.png":      {drawn(t, "a.png", noise, "-frames:v", "1"), false},
		"a.gif":          {drawn(t, "a.gif", moving), true},
		"a.mp4":          {drawn(t, "a.mp4", moving, "-pix_fmt", "yuv420p"), true},
		"twelve seconds": {drawn(t, "a.mp4", "testsrc=size=320x180:rate=10:duration=12", "-pix_fmt", "yuv420p"), true},
	} {
		t.Run(name, func(t *testing.T) {
			f, err := l.prepares(t, row.content, Wish{Kind: event.MediaSticker, Pack: event.StickerPack{Name: "Katzen äöü", Publisher: "Ada"}})
			if err != nil {
				t.Fatal(err)
			}
			defer Remove(f)
			made, err := os.ReadFile(f.Path)
			if err != nil {
				t.Fatal(err)
			}
			size, err := webp.DecodeConfig(bytes.NewReader(made))
			if err != nil || size.Width != stickerSide || size.Height != stickerSide || f.MimeType != webpType {
				t.Fatalf("%+v %s %v", size, f.MimeType, err)
			}
			if f.Animated != row.moving || int64(len(made)) > stickerLimit(row.moving)+512 || int64(len(made)) != f.Size {
				t.Errorf("animated %v, %d bytes, size %d", f.Animated, len(made), f.Size)
			}
			for _, want := range []string{`"sticker-pack-name":"Katzen äöü"`, `"sticker-pack-publisher":"Ada"`} {
				if !bytes.Contains(made, []byte(want)) {
					t.Errorf("without %s", want)
				}
			}
			again, err := l.prepares(t, made, Wish{Kind: event.MediaSticker})
			if err != nil {
				t.Fatal(err)
			}
			defer Remove(again)
			if same, err := os.ReadFile(again.Path); err != nil || !bytes.Equal(same, made) {
				t.Errorf("a right sticker changed: %v", err)
			}
		})
	}
	if left := l.spooled(t); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

// TestStickerThatCannotBeMadeSmallIsRefused draws noise, which no quality makes small.
func TestStickerThatCannotBeMadeSmallIsRefused(t *testing.T) {
	if testing.Short() {
		t.Skip("converts large pictures")
	}
	program := converter(t)
	l := newLibrary(t, func(c *Config) { c.FFmpeg, c.MaxBytes, c.Timeout = program, 64<<20, time.Minute })
	noise := drawn(t, "a.mp4", "color=gray:s=512x512:r=15:d=1,noise=alls=100:allf=t", "-pix_fmt", "yuv420p", "-crf", "5")
	_, err := l.prepares(t, noise, Wish{Kind: event.MediaSticker})
	if !errors.Is(err, event.ErrMedia) || !errors.Is(err, ErrTooLarge) {
		t.Errorf("%v", err)
	}
	if left := l.spooled(t); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

// TestPicturesAsStickersNeedFFmpeg, and a WebP does not.
func TestPicturesAsStickersNeedFFmpeg(t *testing.T) {
	l := newLibrary(t, nil)
	_, err := l.prepares(t, example(t, "photo.jpg"), Wish{Kind: event.MediaSticker})
	if !errors.Is(err, event.ErrMedia) || errors.Is(err, event.ErrMediaType) || !strings.Contains(err.Error(), "ffmpeg with libwebp") {
		t.Errorf("%v", err)
	}
	f, err := l.prepares(t, example(t, "sticker.webp"), Wish{Kind: event.MediaSticker})
	if err != nil {
		t.Fatal(err)
	}
	defer Remove(f)
	if made, err := os.ReadFile(f.Path); err != nil || !bytes.Equal(made, example(t, "sticker.webp")) {
		t.Errorf("changed: %v", err)
	}
}

// movingWebP returns an animated WebP file with frames of one pixel, as long as that, and so many more bytes.
func movingWebP(side int, frames []time.Duration, more int) []byte {
	size := []byte{byte(side - 1), byte((side - 1) >> 8), 0}
	all := []webpChunk{{"VP8X", slices.Concat([]byte{animationFlag, 0, 0, 0}, size, size)}, {"ANIM", make([]byte, 6)}}
	for _, d := range frames {
		ms := d.Milliseconds()
		frame := append(make([]byte, 12), byte(ms), byte(ms>>8), byte(ms>>16), 0)
		all = append(all, webpChunk{"ANMF", append(frame, writeWebP([]webpChunk{{"VP8L", []byte{0x2f, 0, 0, 0, 0, 0x88, 0x88, 8}}})[12:]...)})
	}
	return writeWebP(append(all, webpChunk{"XMP ", make([]byte, more)}))
}

// TestWrongWebPThatCannotBeConvertedIsRefused, and names the rule.
func TestWrongWebPThatCannotBeConvertedIsRefused(t *testing.T) {
	program := converter(t)
	half := 5 * time.Second
	cut := movingWebP(512, []time.Duration{half}, 100)
	for name, row := range map[string]struct {
		content []byte
		ffmpeg  bool
		want    []string // nil: it is sent as it is
	}{
		"moving":                      {movingWebP(512, []time.Duration{half, half}, 0), false, nil},
		"moving, and there is ffmpeg": {movingWebP(512, []time.Duration{half, half}, 0), true, nil},
		"moving, 10 s and 1 ms":       {movingWebP(512, []time.Duration{half, half, time.Millisecond}, 0), true, []string{"10.001s", "at most 10s"}},
		"moving, longest frames":      {movingWebP(512, slices.Repeat([]time.Duration{0xffffff * time.Millisecond}, 9000), 0), false, []string{"plays for 41943", "at most 10s"}},
		"moving, 513 pixels":          {movingWebP(513, []time.Duration{half}, 0), true, []string{"513 × 513", "512 × 512 pixels"}},
		"moving, 500 KiB and more":    {movingWebP(512, []time.Duration{half}, maxMovingSticker), true, []string{"bytes", "500 KiB"}},
		"moving, cut off":             {cut[:len(cut)-50], false, []string{"damaged"}},
		"still, 100 KiB and more":     {writeWebP(append(chunksOf(t, example(t, "sticker.webp")), webpChunk{"XMP ", make([]byte, maxSticker)})), false, []string{"ffmpeg", "512 × 512 pixels and 100 KiB"}},
		"still, of 600 pixels":        {drawn(t, "a.webp", "testsrc=size=600x300", "-frames:v", "1"), false, []string{"ffmpeg", "512 × 512 pixels and 100 KiB"}},
	} {
		l := newLibrary(t, func(c *Config) {
			if row.ffmpeg {
				c.FFmpeg = program
			}
		})
		f, err := l.prepares(t, row.content, Wish{Kind: event.MediaSticker})
		if row.want == nil {
			if sent, rerr := os.ReadFile(f.Path); err != nil || rerr != nil || !bytes.Equal(sent, row.content) || !f.Animated {
				t.Errorf("%s: %v %v %+v", name, err, rerr, f)
			}
			Remove(f)
			continue
		}
		if !errors.Is(err, event.ErrMedia) || errors.Is(err, event.ErrMediaType) {
			t.Errorf("%s: %v", name, err)
			Remove(f)
			continue
		}
		for _, want := range row.want {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, without %q", name, err, want)
			}
		}
		if left := l.spooled(t); len(left) > 0 {
			t.Errorf("%s: left: %v", name, left)
		}
	}
}

// chunksOf returns the chunks of a file.
func chunksOf(t *testing.T, file []byte) []webpChunk {
	t.Helper()
	all, err := readWebP(file)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestGIFsAndOtherVideosBecomeMP4 where that is asked for.
func TestGIFsAndOtherVideosBecomeMP4(t *testing.T) {
	program := converter(t)
	l := newLibrary(t, func(c *Config) { c.FFmpeg = program })
	const source = "testsrc=size=321x181:rate=10:duration=2"
	gif, webm := drawn(t, "a.gif", source), drawn(t, "a.webm", source)
	for name, row := range map[string]struct {
		content []byte
		wish    Wish
		made    string // empty: refused
	}{
		"a GIF that plays":  {gif, Wish{Kind: event.MediaVideo, Loops: true}, mp4Type},
		"a GIF":             {gif, Wish{Kind: event.MediaVideo}, ""},
		"a WebM":            {webm, Wish{Kind: event.MediaVideo}, ""},
		"a WebM that plays": {webm, Wish{Kind: event.MediaVideo, Loops: true}, ""},
		"a WebM to convert": {webm, Wish{Kind: event.MediaVideo, Convert: true}, mp4Type},
		"its sound, if any": {webm, Wish{Kind: event.MediaVoice, Convert: true}, ""},
		"an MP4 to convert": {example(t, "clip.mp4"), Wish{Kind: event.MediaVideo, Convert: true}, mp4Type},
		"a text to convert": {[]byte("#EXTM3U\n/etc/passwd"), Wish{Kind: event.MediaVideo, Convert: true}, ""},
	} {
		f, err := l.prepares(t, row.content, row.wish)
		if row.made == "" {
			if !errors.Is(err, event.ErrMedia) {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if err != nil || f.MimeType != row.made || f.Width == 0 || f.Width%2 != 0 || f.Seconds == 0 && name != "an MP4 to convert" {
			t.Errorf("%s: %v, %s of %d × %d pixels and %d s", name, err, f.MimeType, f.Width, f.Height, f.Seconds)
		}
		Remove(f)
	}
	if left := l.spooled(t); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

// FuzzPackOfAStrangersFile writes a pack into files of any content.
func FuzzPackOfAStrangersFile(f *testing.F) {
	sticker, err := os.ReadFile(filepath.Join("testdata", "sticker.webp"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(sticker)
	f.Fuzz(func(t *testing.T, file []byte) {
		if len(file) > maxPacked {
			return
		}
		made, err := withPack(file, event.StickerPack{Name: "a"})
		if err != nil {
			return
		}
		size, err := webp.DecodeConfig(bytes.NewReader(file))
		again, errAgain := webp.DecodeConfig(bytes.NewReader(made))
		if err != nil || errAgain != nil || size.Width != again.Width || size.Height != again.Height {
			t.Errorf("%v %v %+v %+v", err, errAgain, size, again)
		}
	})
}
