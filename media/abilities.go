package media

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
)

// abilities are the ffmpeg features that conversions, videoThumbnail and demuxer need, by
// the flag that lists them.
var abilities = []struct {
	flag, kind string
	names      []string
}{
	{"-encoders", "encoder", []string{"libopus", "mjpeg", "libx264", "libwebp", "libwebp_anim"}},
	{"-decoders", "decoder", []string{"aac", "mp3", "amrnb", "flac", "opus", "vorbis", "pcm_s16le", "h264", "gif", "png", "mjpeg", "webp"}},
	{"-demuxers", "reader", []string{"mov", "matroska", "mp3", "aac", "amr", "flac", "wav", "aiff", "ogg", "avi", "gif", "jpeg_pipe", "png_pipe", "webp_pipe"}},
	{"-muxers", "writer", []string{"ogg", "image2pipe", "mp4", "webp"}},
	{"-filters", "filter", []string{"scale", "fps", "pad"}},
}

// Lacks returns the features missing from the ffmpeg at a path, such as "encoder
// libopus"; none if it suffices.
func Lacks(ctx context.Context, ffmpeg string) (missing []string, err error) {
	for _, a := range abilities {
		cmd := exec.CommandContext(ctx, ffmpeg, "-nostdin", "-hide_banner", "-loglevel", "error", a.flag)
		cmd.Env, cmd.WaitDelay = bareEnvironment(), dyingTime
		endTogether(cmd)
		listed, err := cmd.Output()
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if err != nil {
			return nil, fmt.Errorf("%s %s: %w", ffmpeg, a.flag, err)
		}
		has := offered(string(listed))
		if len(has) == 0 {
			return nil, errors.New(ffmpeg + " " + a.flag + " lists nothing: not an ffmpeg binary")
		}
		for _, name := range a.names {
			if !slices.Contains(has, name) {
				missing = append(missing, a.kind+" "+name)
			}
		}
	}
	return missing, nil
}

// offered returns the names in a list of ffmpeg's: the second word of each line, which
// may be several names separated by commas.
func offered(list string) (names []string) {
	for line := range strings.Lines(list) {
		if words := strings.Fields(line); len(words) > 1 {
			names = append(names, strings.Split(words[1], ",")...)
		}
	}
	return names
}
