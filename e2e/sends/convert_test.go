package sends

import (
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"testing"

	"postern/e2e/rig"
)

// TestStickersAndGIFsAreConverted with the ffmpeg of this machine, and arrive at the phone.
func TestStickersAndGIFsAreConverted(t *testing.T) {
	t.Parallel()
	ffmpeg, err := exec.LookPath("ffmpeg")
	if err != nil {
		t.Skip("needs ffmpeg")
	}
	s := rig.NewSendScene(t)
	gif := filepath.Join(t.TempDir(), "a.gif")
	if out, err := exec.CommandContext(t.Context(), ffmpeg, "-nostdin", "-loglevel", "error", "-f", "lavfi", "-i", "testsrc=size=200x100:rate=10:duration=1", gif).CombinedOutput(); err != nil {
		t.Fatalf("%v %s", err, out)
	}
	host := httptest.NewServer(http.FileServer(http.Dir(filepath.Dir(gif))))
	t.Cleanup(host.Close)
	s.Vars["gif"] = host.URL + "/a.gif"
	send := func(path, body string) rig.Answer {
		t.Helper()
		return s.PostJSON(t, s.Fill("/instance/$name/send/"+path), `{"number":"$anne",`+body+`}`)
	}
	m := s.Sent(t, 0, send("sticker", `"stickerMessage":{"sticker":"$files/photo.jpg","packName":"Cats","packPublisher":"Ada"}`), `{"messageType":"stickerMessage"}`)
	s.DecryptedAs(t, rig.AnneNumber, m.KeyID, `{"stickerMessage":{"mimetype":"image/webp","width":512,"height":512}}`)
	m = s.Sent(t, 0, send("sticker", `"stickerMessage":{"sticker":"$gif"}`), `{"messageType":"stickerMessage"}`)
	s.DecryptedAs(t, rig.AnneNumber, m.KeyID, `{"stickerMessage":{"width":512,"height":512,"isAnimated":true}}`)
	m = s.Sent(t, 0, send("media", `"mediaMessage":{"mediatype":"video","media":"$gif","gifPlayback":true}`), `{"messageType":"videoMessage"}`)
	s.DecryptedAs(t, rig.AnneNumber, m.KeyID, `{"videoMessage":{"mimetype":"video/mp4","width":200,"height":100,"gifPlayback":true}}`)
	m = s.Sent(t, 0, send("media", `"mediaMessage":{"mediatype":"video","media":"$files/clip.mp4","gifPlayback":true}`), `{}`)
	s.DecryptedAs(t, rig.AnneNumber, m.KeyID, `{"videoMessage":{"gifPlayback":true}}`)
	m = s.Sent(t, 0, send("media", `"mediaMessage":{"mediatype":"video","media":"$gif","convert":true}`), `{}`)
	s.DecryptedAs(t, rig.AnneNumber, m.KeyID, `{"videoMessage":{"mimetype":"video/mp4"}}`)
	a := s.Multipart(t, s.Fill("/instance/$name/send/sticker-file"), "photo.jpg", map[string]string{"number": "$anne", "packName": "Cats"})
	m = s.Sent(t, 0, a, `{}`)
	s.DecryptedAs(t, rig.AnneNumber, m.KeyID, `{"stickerMessage":{"width":512}}`)
	for body, code := range map[string]string{
		`"mediaMessage":{"mediatype":"image","media":"$files/photo.jpg","gifPlayback":true}`: "INVALID_MESSAGE",
		`"mediaMessage":{"mediatype":"image","media":"$files/photo.jpg","convert":true}`:     "INVALID_MESSAGE",
		`"mediaMessage":{"mediatype":"video","media":"$gif"}`:                                "INVALID_MEDIA",
	} {
		refused(t, send("media", body), http.StatusUnprocessableEntity, code)
	}
}

// TestGIFsAndPictureStickersNeedFFmpeg says so.
func TestGIFsAndPictureStickersNeedFFmpeg(t *testing.T) {
	t.Parallel()
	s := rig.NewSendScene(t, "PATH="+t.TempDir())
	a := s.PostJSON(t, s.Fill("/instance/$name/send/sticker"), `{"number":"$anne","stickerMessage":{"sticker":"$files/photo.jpg"}}`)
	refused(t, a, http.StatusUnprocessableEntity, "INVALID_MEDIA")
	m := s.Sent(t, 0, s.PostJSON(t, s.Fill("/instance/$name/send/sticker"), `{"number":"$anne","stickerMessage":{"sticker":"$files/sticker.webp"}}`), `{}`)
	s.DecryptedAs(t, rig.AnneNumber, m.KeyID, `{"stickerMessage":{"width":96}}`)
}
