package media

import (
	"bytes"
	"context"
	"errors"
	"image"
	"math"
	"runtime"
	"testing"
	"time"

	"postern/event"
	"postern/internal/nightly"
)

// hostile is a file that is small to send and dear to look at.
type hostile struct {
	name    string
	kind    event.MediaKind
	content func() []byte
}

// hostileFiles are of about this size in bytes; those that cannot be made
// larger for more harm are as large as they get.
func hostileFiles(size int) []hostile {
	return []hostile{
		{"JPEG, progressive, empty scans", event.MediaImage, func() []byte { return emptyScans(4800, 4800, size/41) }},
		{"JPEG, the picture again and again", event.MediaImage, func() []byte { return manyScans(960, 960, size/3610) }},
		{"JPEG, the largest picture again and again", event.MediaImage, func() []byte { return manyScans(10800, 10800, max(2, size/455_000)) }},
		{"JPEG, tables without end", event.MediaImage, func() []byte {
			return manySegments(0xc4, append(append([]byte{0, 1}, make([]byte, 15)...), 0), size/22)
		}},
		{"JPEG, segments of nothing", event.MediaImage, func() []byte { return manySegments(0xe5, nil, size/4) }},
		{"PNG, 100 million rows of a pixel", event.MediaImage, func() []byte { return thinPNG(min(100_000_000, uint32(size)*400)) }}, //nolint:gosec // small
		{"PNG, codes without data", event.MediaImage, func() []byte { return pngWith(8, 8, 0, emptyBlocks(size/12)) }},
		{"PNG, compressed text", event.MediaImage, func() []byte {
			return pngWith(8, 8, 0, deflated(72), chunk("zTXt", append([]byte("a\x00\x00"), deflated(size*400)...)), chunk("iCCP", append([]byte("a\x00\x00"), deflated(size*400)...)))
		}},
		{"PNG, more data than pixels", event.MediaImage, func() []byte { return pngWith(8, 8, 0, deflated(size*1000)) }},
		{"WebP, 65 536 groups of codes", event.MediaSticker, manyGroups},
		{"WebP as the image of a profile", event.MediaImage, manyGroups},
		{"GIF", event.MediaImage, func() []byte { return append([]byte("GIF89a\xff\xff\xff\xff\x00\x00\x00"), make([]byte, size)...) }},
		{"OGG, pages of nothing", event.MediaVoice, func() []byte { return oggPages(size/27, nil, 5) }},
		{"OGG, packets of nothing", event.MediaVoice, func() []byte { return oggPages(size/282, make([]byte, 255), 5) }},
		{"OGG, longer than the world", event.MediaVoice, func() []byte { return oggPages(1, []byte{3}, math.MaxInt64) }},
		{"MP4, boxes without end", event.MediaVideo, func() []byte { return boxes(size/8, false) }},
		{"MP4, boxes in boxes", event.MediaVideo, func() []byte { return boxes(size/8, true) }},
	}
}

// spentOn runs something with a count of the processor's time that it takes.
func spentOn(do func()) time.Duration {
	var spent time.Duration
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // for good: the thread ends with the goroutine
		watch := stopwatch()
		do()
		spent = watch()
	}()
	<-done
	return spent
}

func TestNoHostileFileTakesMuchOfAProcessor(t *testing.T) {
	if testing.Short() {
		t.Skip("measures")
	}
	const wanted = 2 * maxWork // its last step is not counted in time, and a busy core is slower
	l := newLibrary(t, func(c *Config) { c.MaxBytes = 100 << 20 })
	for _, h := range hostileFiles(nightly.Or(1<<17, 1<<20)) {
		path := l.spools(t, h.content())
		var f event.MediaFile
		var err error
		if spent := spentOn(func() { f, err = l.Prepare(t.Context(), path, Wish{Instance: 1, Kind: h.kind}) }); spent > wanted {
			t.Errorf("%s: %s", h.name, spent)
		}
		if err != nil && !errors.Is(err, event.ErrMedia) || f.Seconds < 0 || f.Seconds > math.MaxInt32 {
			t.Errorf("%s: %d s, %v", h.name, f.Seconds, err)
		}
		Remove(f)
	}
}

func TestPictureWithManyScansIsNotDecoded(t *testing.T) {
	for name, c := range map[string]struct {
		content []byte
		blocks  int64
	}{
		"three empty scans":        {emptyScans(640, 640, 3), 3 * 80 * 80},
		"two whole pictures":       {manyScans(100, 50, 2), 2 * 13 * 7},
		"a photograph":             {example(t, "photo.jpg"), -1},
		"what lies behind the end": {append(emptyScans(8, 8, 1), emptyScans(4800, 4800, 1)...), 1},
	} {
		_, blocks, err := estimated(t, c.content)
		if err != nil || c.blocks >= 0 && blocks != c.blocks || blocks == 0 || blocks > maxBlocks {
			t.Errorf("%s: %d blocks, want %d (%v)", name, blocks, c.blocks, err)
		}
	}
	file := metered(t, emptyScans(4800, 4800, 100))
	if _, err := decode(file); !errors.Is(err, event.ErrMedia) {
		t.Errorf("a hundred scans of 360 000 blocks: %v", err)
	}
}

// TestInspectionEndsWithItsCaller: a decoder stops within the bytes of one
// read once its caller has gone, and once its time is up.
func TestInspectionEndsWithItsCaller(t *testing.T) {
	file := metered(t, manyScans(2400, 2400, 80))
	reads := 0
	file.spent = func() time.Duration {
		if reads++; reads > 200 {
			return maxWork + 1
		}
		return 0
	}
	if _, err := decode(file); !errors.Is(err, errWork) || !errors.Is(err, event.ErrMedia) || reads > 202 {
		t.Errorf("after its time: %v, %d reads", err, reads)
	}
	ctx, cancel := context.WithCancel(t.Context())
	file = metered(t, manyScans(2400, 2400, 80))
	file.ctx = ctx
	file.spent = func() time.Duration {
		if reads++; reads > 400 {
			cancel()
		}
		return 0
	}
	if _, err := decode(file); !errors.Is(err, context.Canceled) || !errors.Is(err, event.ErrMedia) || reads > 404 {
		t.Errorf("after its caller: %v, %d reads", err, reads)
	}
}

func TestSlowFileIsSentWithoutThumbnail(t *testing.T) {
	l := newLibrary(t, func(c *Config) { c.MaxBytes = 100 << 20 })
	f, err := l.prepares(t, emptyScans(4800, 4800, 1400), Wish{Instance: 1, Kind: event.MediaImage})
	if err != nil || f.Thumbnail != nil || f.Width != 4800 || f.Height != 4800 {
		t.Errorf("%d × %d, %d bytes of a thumbnail, %v", f.Width, f.Height, len(f.Thumbnail), err)
	}
	if _, err := l.Avatar(t.Context(), 1, f); !errors.Is(err, event.ErrMedia) {
		t.Errorf("as the picture of a profile: %v", err)
	}
}

// BenchmarkHostileFiles reports how long each hostile file of 57 kB takes to
// prepare, and how long a picture takes its decoder by itself.
func BenchmarkHostileFiles(b *testing.B) {
	for _, h := range hostileFiles(57_000) {
		content := h.content()
		b.Run(h.name+"/prepared", func(b *testing.B) {
			l := newLibrary(b, func(c *Config) { c.MaxBytes = 100 << 20 })
			for b.Loop() {
				f, err := l.Prepare(b.Context(), l.spools(b, content), Wish{Instance: 1, Kind: h.kind})
				if err != nil && !errors.Is(err, event.ErrMedia) {
					b.Fatal(err)
				}
				Remove(f)
			}
			b.ReportMetric(float64(len(content)), "B/file")
		})
		if h.kind != event.MediaImage {
			continue
		}
		b.Run(h.name+"/decoder", func(b *testing.B) {
			for b.Loop() {
				_, _, _ = image.Decode(bytes.NewReader(content)) // it may refuse it
			}
		})
	}
}
