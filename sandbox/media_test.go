package sandbox

import (
	"bytes"
	"context"
	"path/filepath"
	"testing"

	"go.mau.fi/whatsmeow"
)

func TestLargeFileRoundTrip(t *testing.T) {
	s, _, c := synced(t, Config{})
	want := bytes.Repeat([]byte("bread "), 1<<18)
	up, err := c.Upload(t.Context(), want, whatsmeow.MediaDocument)
	if err != nil {
		t.Fatal(err)
	}
	got, err := c.DownloadMediaWithPath(t.Context(), up.DirectPath, up.FileEncSHA256, up.FileSHA256, up.MediaKey, whatsmeow.MediaDocument, "", false)
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	s.ForgetMedia(up.DirectPath)
	if _, ok := s.Media(up.URL); ok {
		t.Error("it is still there")
	}
}

// TestFilesAreThereAfterARestart, for a client that uploaded before it, and not without a
// data file.
func TestFilesAreThereAfterARestart(t *testing.T) {
	for _, path := range []string{filepath.Join(t.TempDir(), "sandbox.db"), ""} {
		s := openServer(t, Config{Path: path})
		c := newClient(t, s, nil)
		c.pairByQR(addPhone(t, s, "5511911111111"))
		want := []byte("a picture, or so it claims")
		up, err := c.Upload(t.Context(), want, whatsmeow.MediaImage)
		if err != nil {
			t.Fatal(err)
		}
		c.Disconnect()
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		s = openServer(t, Config{Path: path})
		if path == "" {
			if _, ok := s.Media(up.DirectPath); ok {
				t.Error("without a data file it is still there")
			}
			continue
		}
		c = newClient(t, s, c.Store)
		c.connect()
		got, err := c.DownloadMediaWithPath(t.Context(), up.DirectPath, up.FileEncSHA256, up.FileSHA256, up.MediaKey, whatsmeow.MediaImage, "", false)
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%q, %v", got, err)
		}
	}
}

func TestMediaRoundTrip(t *testing.T) {
	s, _, c := paired(t)
	data := []byte("a picture, or so it claims")
	up, err := c.Upload(context.Background(), data, whatsmeow.MediaImage)
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := s.Media(up.DirectPath); !ok {
		t.Errorf("nothing is stored at %s", up.DirectPath)
	}
	down, err := c.DownloadMediaWithPath(context.Background(), up.DirectPath, up.FileEncSHA256, up.FileSHA256,
		up.MediaKey, whatsmeow.MediaImage, "image", false)
	if err != nil || string(down) != string(data) {
		t.Errorf("downloaded %q, %v", down, err)
	}
}
