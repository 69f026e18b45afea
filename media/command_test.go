//go:build unix

package media

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"postern/event"
	"postern/store"
)

// script returns a program in place of ffmpeg.
func script(t *testing.T, body string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "ffmpeg")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+body), 0o700); err != nil { //nolint:gosec // it is run
		t.Fatal(err)
	}
	return path
}

// eventually waits for a condition.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); !holds(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("never: %s", what)
		}
	}
}

func TestConverterEndsWithItsCallerAndChildren(t *testing.T) {
	pids := filepath.Join(t.TempDir(), "pids")
	l := newLibrary(t, func(c *Config) { c.FFmpeg = script(t, "sleep 1000 &\necho $$ $! > "+pids+"\nwait") })
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	path := l.spools(t, example(t, "tone.wav"))
	go func() {
		_, err := l.Prepare(ctx, path, Wish{Kind: event.MediaVoice})
		done <- err
	}()
	var running []string
	eventually(t, "both processes run", func() bool {
		raw, _ := os.ReadFile(pids)
		running = strings.Fields(string(raw))
		return len(running) == 2
	})
	cancel()
	if err := <-done; !errors.Is(err, event.ErrMedia) || !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	for _, text := range running {
		pid, err := strconv.Atoi(text)
		if err != nil {
			t.Fatal(err)
		}
		eventually(t, "the process has ended", func() bool { return gone(pid) })
	}
	if left := l.spooled(t); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

// gone reports whether a process has ended. An orphan may wait for its new parent
// to take note of that.
func gone(pid int) bool {
	raw, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err == nil {
		_, state, _ := strings.Cut(string(raw), ") ")
		return strings.HasPrefix(state, "Z")
	}
	return errors.Is(syscall.Kill(pid, 0), syscall.ESRCH)
}

func TestHangingConverterTimesOut(t *testing.T) {
	l := newLibrary(t, func(c *Config) { c.FFmpeg, c.Timeout = script(t, "sleep 1000"), 50*time.Millisecond })
	if _, err := l.prepares(t, example(t, "tone.wav"), Wish{Kind: event.MediaVoice}); !errors.Is(err, event.ErrMedia) || !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
}

func TestConverterSeesNoSecrets(t *testing.T) {
	seen := filepath.Join(t.TempDir(), "seen")
	t.Setenv("AUTHENTICATION_GLOBAL_AUTH_TOKEN", "the key")
	l := newLibrary(t, func(c *Config) {
		c.FFmpeg = script(t, "env > "+seen+"\nhead -c 1000000 /dev/zero | tr '\\0' x >&2\nexit 1")
	})
	_, err := l.prepares(t, example(t, "tone.wav"), Wish{Kind: event.MediaVoice})
	if !errors.Is(err, event.ErrMedia) || !strings.Contains(err.Error(), "xxx") || len(err.Error()) > 400 {
		t.Errorf("%.500v", err)
	}
	if env, err := os.ReadFile(seen); err != nil || !strings.Contains(string(env), "PATH=") || strings.Contains(string(env), "the key") {
		t.Errorf("%s, %v", env, err)
	}
}

func TestConversionWaitsForItsTurn(t *testing.T) {
	l := newLibrary(t, func(c *Config) { c.FFmpeg = script(t, "exit 1") })
	photo := l.spools(t, example(t, "photo.jpg"))
	f := event.MediaFile{Path: photo, MediaInfo: event.MediaInfo{Kind: event.MediaImage}}
	var end []func()
	for _, places := range []*turns{l.looking, l.converting} {
		for other := range places.places {
			leave, err := places.take(t.Context(), 100+int64(other))
			if err != nil {
				t.Fatal(err)
			}
			end = append(end, leave)
		}
	}
	for name, try := range map[string]func(context.Context) error{
		"a picture": func(ctx context.Context) error {
			_, err := l.Prepare(ctx, l.spools(t, example(t, "photo.jpg")), Wish{Kind: event.MediaImage})
			return err
		},
		"a voice note": func(ctx context.Context) error {
			_, err := l.Prepare(ctx, l.spools(t, example(t, "tone.wav")), Wish{Kind: event.MediaVoice})
			return err
		},
		"an avatar": func(ctx context.Context) error {
			_, err := l.Avatar(ctx, 1, f)
			return err
		},
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		if err := try(ctx); !errors.Is(err, errLate) || !errors.Is(err, event.ErrMedia) {
			t.Errorf("%s: %v", name, err)
		} else if strings.Count(err.Error(), event.ErrMedia.Error()) != 1 {
			t.Errorf("%s says it twice: %v", name, err)
		}
		cancel()
	}
	if left := l.spooled(t); len(left) != 1 {
		t.Errorf("left: %v", left)
	}
	end[0]()
	if _, err := l.Avatar(t.Context(), 1, f); err != nil {
		t.Errorf("once there is a place: %v", err)
	}
}

func TestConversionOnFullDiskIsNotMediaError(t *testing.T) {
	l := newLibrary(t, func(c *Config) { c.FFmpeg = script(t, "exit 1") })
	path, asked := l.spools(t, example(t, "tone.wav")), 0
	l.admit = func() error {
		if asked++; asked > 1 { // there is room to begin with
			return store.ErrDiskFull
		}
		return nil
	}
	if _, err := l.Prepare(t.Context(), path, Wish{Kind: event.MediaVoice}); !errors.Is(err, store.ErrDiskFull) || errors.Is(err, event.ErrMedia) {
		t.Error(err)
	}
	if left := l.spooled(t); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

// TestHangingConversionBlocksNoOtherInstance: of ffmpeg too each instance has one
// place, and the others the rest.
func TestHangingConversionBlocksNoOtherInstance(t *testing.T) {
	first := filepath.Join(t.TempDir(), "first")
	l := newLibrary(t, func(c *Config) {
		c.FFmpeg, c.Timeout = script(t, "if [ -e "+first+" ]; then exit 1; fi\ntouch "+first+"\nexec sleep 1000"), time.Hour
	})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 3)
	for range cap(done) {
		path := l.spools(t, example(t, "tone.wav"))
		go func() {
			_, err := l.Prepare(ctx, path, Wish{Instance: 1, Kind: event.MediaVoice})
			done <- err
		}()
	}
	eventually(t, "the first conversion runs", func() bool {
		_, err := os.Stat(first)
		return err == nil
	})
	if _, err := l.prepares(t, example(t, "tone.wav"), Wish{Instance: 2, Kind: event.MediaVoice}); !errors.Is(err, event.ErrMedia) || errors.Is(err, errLate) {
		t.Errorf("another instance: %v", err)
	}
	select {
	case err := <-done:
		t.Errorf("a second conversion of the instance ran beside the first: %v", err)
	default:
	}
	cancel()
	for range cap(done) {
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	}
}

// TestVideoThumbnailHasShorterTimeout: there may
// be none in it.
func TestVideoThumbnailHasShorterTimeout(t *testing.T) {
	args := filepath.Join(t.TempDir(), "args")
	l := newLibrary(t, func(c *Config) { c.FFmpeg, c.Timeout = script(t, "echo \"$@\" > "+args), time.Hour })
	if _, err := l.prepares(t, example(t, "clip.mp4"), Wish{Instance: 1, Kind: event.MediaVideo}); err != nil {
		t.Fatal(err)
	}
	if said, err := os.ReadFile(args); err != nil || !strings.Contains(string(said), "-timelimit 11 ") {
		t.Errorf("%s, %v", said, err)
	}
}

func TestRefusedTypeNamesAcceptedTypes(t *testing.T) {
	for ffmpeg, want := range map[string]string{
		"":                  "application/pdf cannot be sent as sticker; accepted types are image/webp",
		script(t, "exit 1"): "application/pdf cannot be sent as sticker; accepted types are image/gif, image/jpeg, image/png, image/webp, video/mp4",
	} {
		l := newLibrary(t, func(c *Config) { c.FFmpeg = ffmpeg })
		if _, err := l.Prepare(t.Context(), l.spools(t, []byte("%PDF-1.7\n")), Wish{Kind: event.MediaSticker}); err == nil || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
