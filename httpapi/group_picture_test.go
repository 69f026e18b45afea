package httpapi

import (
	"bytes"
	"context"
	"image"
	"image/jpeg"
	"image/png"
	"os"
	"slices"
	"testing"
	"time"

	"postern/event"
	"postern/media"
)

// Fetch writes a picture of 40 × 20 pixels.
func (d *doer) Fetch(_ context.Context, u event.Uploaded, to *os.File, _ int64) error {
	if err := png.Encode(to, image.NewGray(image.Rect(0, 0, 40, 20))); err != nil {
		return err
	}
	return d.note("fetch %s", u.DirectPath)
}

func TestAGroupPictureMayBeAnUpload(t *testing.T) {
	r, token, d := doing(t)
	upload := func(instance int64, kind event.MediaKind) string {
		u, err := r.media.Keep(t.Context(), instance, event.Uploaded{
			MediaInfo: event.MediaInfo{Kind: kind}, DirectPath: "/v/1", UploadedAt: event.At(time.Now()),
		}, media.Tags{})
		if err != nil {
			t.Fatal(err)
		}
		return `{"groupJid":"1-2@g.us","mediaUploadId":"` + u.ID.String() + `"}`
	}
	const path = "/instance/a/group/update-picture"
	if a := read(t, r.as(token, "PUT", path, upload(1, event.MediaImage))); a.status != 200 {
		t.Fatal(a)
	}
	if !slices.Equal(d.asked, []string{"fetch /v/1", "show 1-2@g.us", "picture of 1-2@g.us, true"}) {
		t.Errorf("asked %q", d.asked)
	}
	if size, err := jpeg.DecodeConfig(bytes.NewReader(d.jpeg)); err != nil || size.Width != 20 || size.Height != 20 {
		t.Errorf("sent %+v, %v", size, err)
	}
	d.asked = nil
	wantError(t, r.as(token, "PUT", path, upload(1, event.MediaVideo)), 422, "INVALID_MEDIA")
	wantError(t, r.as(token, "PUT", path, upload(2, event.MediaImage)), 422, "INVALID_MEDIA")
	if len(d.asked) > 0 {
		t.Errorf("asked %q", d.asked)
	}
	d.err = event.ErrMediaGone
	wantError(t, r.as(token, "PUT", path, upload(1, event.MediaImage)), 410, "MEDIA_GONE")
	if left := r.spooled(); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}
