//go:build unix

package media

import (
	"context"
	"errors"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"
)

// lists are what an ffmpeg prints, shortened.
const lists = `case "$*" in
*-encoders*) echo ' V..... = Video'; echo ' VFS..D mjpeg   MJPEG (Motion JPEG)'; echo ' A....D libopus  libopus Opus (codec opus)'; for e in libx264 libwebp libwebp_anim; do echo " V....D $e  words"; done;;
*-decoders*) for d in aac mp3 amrnb flac opus vorbis pcm_s16le h264 gif png mjpeg webp; do echo " A....D $d  words"; done;;
*-demuxers*) echo ' D  matroska,webm  Matroska / WebM'; echo ' D  mov,mp4,m4a,3gp,3g2,mj2 QuickTime / MOV'; for d in mp3 aac amr flac wav aiff ogg avi gif jpeg_pipe png_pipe webp_pipe; do echo " D  $d  words"; done;;
*-muxers*) echo '  E ogg   Ogg'; echo '  E image2pipe  piped image2 sequence'; echo '  E mp4   MP4'; echo '  E webp  WebP';;
*-filters*) echo ' ..C scale  V->V  Scale the input video size.'; echo ' ..C fps  V->V  Force constant framerate.'; echo ' ..C pad  V->V  Pad the input video.';;
esac
`

func TestWhatAnFFmpegCannotDoIsNamed(t *testing.T) {
	for what, c := range map[string]struct {
		script string
		want   []string
	}{
		"all there is":    {lists, nil},
		"without libopus": {strings.Replace(lists, "libopus  libopus Opus (codec opus)", "opus  Opus", 1), []string{"encoder libopus"}},
		"a small one":     {strings.NewReplacer("matroska,webm", "webm", " scale ", " crop ").Replace(lists), []string{"reader matroska", "filter scale"}},
	} {
		missing, err := Lacks(t.Context(), script(t, c.script))
		if err != nil || !slices.Equal(missing, c.want) {
			t.Errorf("%s: %q %v, want %q", what, missing, err, c.want)
		}
	}
	for what, body := range map[string]string{"another program": "exit 0", "one that fails": "exit 1"} {
		if _, err := Lacks(t.Context(), script(t, body)); err == nil {
			t.Errorf("%s passes", what)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := Lacks(ctx, script(t, "sleep 1000")); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("one that hangs: %v", err)
	}
	if path, err := exec.LookPath("ffmpeg"); err == nil {
		if _, err := Lacks(t.Context(), path); err != nil {
			t.Errorf("the one of this machine: %v", err)
		}
	}
}
