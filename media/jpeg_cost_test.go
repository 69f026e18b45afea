package media

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"postern/event"
)

func pngOf(t *testing.T, m image.Image) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := png.Encode(&out, m); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func jpegOf(t *testing.T, m image.Image) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := jpeg.Encode(&out, m, nil); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// progressive makes a JPEG claim to be one, up to its first scan.
func progressive(b []byte) []byte {
	b = bytes.Clone(b)
	b[bytes.Index(b, []byte{0xff, sofBaseline})+1] = sofProgressive
	scan := bytes.Index(b, []byte{0xff, startOfScan})
	length := int(binary.BigEndian.Uint16(b[scan+2:]))
	b[scan+2+length-2] = 0 // the scan has the first coefficient alone
	return b
}

// resized makes a JPEG claim to have other dimensions.
func resized(b []byte, marker byte, w, h uint16) []byte {
	b = bytes.Clone(b)
	frame := bytes.Index(b, []byte{0xff, marker})
	binary.BigEndian.PutUint16(b[frame+5:], h)
	binary.BigEndian.PutUint16(b[frame+7:], w)
	return b
}

// enormous returns a PNG of 64 bits a pixel in passes, whose size in bytes is beyond
// what 64 bits can count.
func enormous(b []byte) []byte {
	b = bytes.Clone(b)
	binary.BigEndian.PutUint32(b[16:], 1<<30)
	binary.BigEndian.PutUint32(b[20:], 1<<29)
	b[28] = 1
	binary.BigEndian.PutUint32(b[29:], crc32.ChecksumIEEE(b[12:29]))
	return b
}

func pictures(t *testing.T, side int) map[string][]byte {
	r := image.Rect(0, 0, side, side)
	photo, grey := jpegOf(t, image.NewRGBA(r)), jpegOf(t, image.NewGray(r))
	return map[string][]byte{
		"PNG":              pngOf(t, image.NewNRGBA(r)),
		"PNG of 64 bits":   pngOf(t, image.NewNRGBA64(r)),
		"grey PNG":         pngOf(t, image.NewGray(r)),
		"PNG with palette": pngOf(t, image.NewPaletted(r, color.Palette{color.White, color.Black})),
		"JPEG":             photo, "grey JPEG": grey,
		"progressive JPEG": progressive(photo), "grey progressive JPEG": progressive(grey),
	}
}

func TestPictureMemoryEstimateIsSufficient(t *testing.T) {
	const side, slack = 1024, 256 << 10
	for name, b := range pictures(t, side) {
		estimate, _, err := estimated(t, b)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, _, err = image.Decode(bytes.NewReader(b))
		runtime.ReadMemStats(&after)
		took := int64(after.TotalAlloc - before.TotalAlloc) //nolint:gosec // some megabytes
		if took > estimate+slack || took < estimate/4 {
			t.Errorf("%s: took %d bytes, estimated %d (%v)", name, took, estimate, err)
		}
	}
}

func TestPictureNeedingTooMuchMemoryIsNotDecoded(t *testing.T) {
	l := newLibrary(t, nil)
	small := pictures(t, 64)
	for name, c := range map[string]struct {
		content []byte
		fits    bool
	}{
		"a photograph of 50 megapixels":  {resized(small["JPEG"], sofBaseline, 8688, 5792), true},
		"one of 100 megapixels":          {resized(small["JPEG"], sofBaseline, 11648, 8736), false},
		"a progressive one of 12":        {resized(small["progressive JPEG"], sofProgressive, 4000, 3000), true},
		"a progressive one of 25":        {resized(small["progressive JPEG"], sofProgressive, 5000, 5000), false},
		"one of 20 000 × 20 000":         {resized(small["grey JPEG"], sofBaseline, 20000, 20000), false},
		"one whose size overflows":       {enormous(small["PNG of 64 bits"]), false},
		"one without a frame":            {[]byte("\xff\xd8\xff\xda\x00\x00"), false},
		"one that ends in its frame":     {small["JPEG"][:bytes.Index(small["JPEG"], []byte{0xff, sofBaseline})+8], false},
		"a picture that is as it claims": {small["JPEG"], true},
	} {
		memory, _, err := estimated(t, c.content)
		if fits := err == nil && memory <= maxPicture; fits != c.fits {
			t.Errorf("%s: %v, %v", name, fits, err)
		}
		if c.fits {
			continue
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		f, err := l.prepares(t, c.content, Wish{Kind: event.MediaImage})
		runtime.ReadMemStats(&after)
		if used := after.TotalAlloc - before.TotalAlloc; err != nil || f.Thumbnail != nil || used > 1<<20 {
			t.Errorf("%s: %d bytes of memory, %v", name, used, err)
		}
	}
}

// FuzzCostOfAPicture: no bytes make the estimate fail, or be less than nothing.
func FuzzCostOfAPicture(f *testing.F) {
	f.Add([]byte("\xff\xd8\xff\xc2\x00\x0b\x08\x10\x00\x10\x00\x01\x01\x11\x00"))
	f.Add(emptyScans(640, 640, 3))
	f.Fuzz(func(t *testing.T, content []byte) {
		file := metered(t, content)
		for _, format := range []string{"jpeg", "png"} {
			if memory, blocks, err := costOf(file, image.Config{Width: 10, Height: 10}, format); memory < 0 || blocks < 0 {
				t.Errorf("%s: %d bytes, %d blocks, %v", format, memory, blocks, err)
			}
		}
	})
}

// metered returns a file without a time limit.
func metered(t *testing.T, content []byte) *meter {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = file.Close() })
	return &meter{file, t.Context(), func() time.Duration { return 0 }}
}

// estimated returns what a picture is thought to cost.
func estimated(t *testing.T, content []byte) (memory, blocks int64, err error) {
	t.Helper()
	file := metered(t, content)
	c, format, err := configOf(file)
	if err != nil {
		return 0, 0, err
	}
	return costOf(file, c, format)
}
