package s3

import (
	"bytes"
	"net/http"
	"slices"
	"strings"
	"testing"

	"postern/e2e/rig"
)

// TestRefusalsAreExplained: what the server refuses leaves a file PENDING, and log and doctor
// say what an operator has to change. Then the file is kept.
func TestRefusalsAreExplained(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	for _, c := range []struct {
		name   string
		env    string        // of the program
		change func(*server) // of the gate
		ahead  string        // of the server's clock
		said   string
		quiet  bool // doctor, which writes nothing, does not notice
	}{
		{name: "a wrong secret", env: "MEDIA_STORE_S3_SECRET_KEY=" + strings.ToUpper(secretKey), said: "correct media.store.s3.secret_key"},
		{name: "an unknown key", env: "MEDIA_STORE_S3_ACCESS_KEY=AKIAANOTHERKEY00", said: "correct media.store.s3.access_key"},
		{name: "another bucket", env: "MEDIA_STORE_S3_BUCKET=elsewhere", said: "there is no bucket elsewhere; create it, or correct media.store.s3.bucket"},
		{name: "a skewed clock", ahead: "20m", said: "the clock of this machine is 20m0s behind the server's; synchronise both clocks by NTP"},
		{name: "a cut body", change: func(s *server) { s.cut = true }, said: "the S3 server failed", quiet: true},
		{name: "an outage", change: func(s *server) { s.down = true }, said: "the S3 server failed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s.Stop()
			plain := s.Env
			if c.env != "" {
				s.Env = append(slices.Clip(plain), c.env)
			}
			if c.change != nil {
				s.s3.set(c.change)
			}
			if c.ahead != "" {
				s.s3.post("/-/clock?ahead="+c.ahead, "")
			}
			s.Start() // which no server ends
			s.AwaitOnline("shop", s.Token)
			key := strings.ToUpper(strings.ReplaceAll(c.name, " ", ""))
			content := bytes.Repeat([]byte(c.name), 20_000)
			s.receive(t, key, content)
			r := s.await(key, "PENDING", "UNREACHABLE")
			if kept, _ := s.s3.objects(); kept[keyOf(r.MessageID)].Key != "" {
				t.Error("there is an object")
			}
			if a := s.get(t, r.MessageID); a.Status != http.StatusOK || !bytes.Equal(a.Body, content) {
				t.Errorf("from WhatsApp: %d, %d bytes", a.Status, len(a.Body))
			}
			if log := s.Output.String(); !strings.Contains(log, "files cannot be kept in S3; trying again") || !strings.Contains(log, c.said) || strings.Contains(log, secretKey) || strings.Contains(log, accessKey) {
				t.Errorf("the log lacks %q or has a key:\n%s", c.said, log)
			}
			if !c.quiet {
				rig.Beside(t, s.World).Says(1, c.said, "doctor")
			}
			s.Stop()
			s.Env = plain
			s.s3.set(func(s *server) { s.cut, s.down = false, false })
			s.s3.post("/-/clock", "")
			s.Start()
			s.AwaitOnline("shop", s.Token)
			s.keptNow(t, key)
			if kept, _ := s.s3.objects(); kept[keyOf(r.MessageID)].SHA256 != hashOf(content) {
				t.Errorf("%+v", kept)
			}
		})
	}
	t.Run("doctor finds nothing else", func(t *testing.T) {
		rig.Beside(t, s.World).Says(0, "ok       media store", "doctor")
	})
}

// keptNow waits until a file is kept, and tries again at once by fetching it.
func (s *scene) keptNow(t *testing.T, key string) {
	t.Helper()
	s.Await(key+" is kept", func() bool {
		r := s.record(key)
		if r.State == "PENDING" {
			s.get(t, r.MessageID)
		}
		return r.State == "STORED"
	})
}

// TestOutageDelaysOnlyFiles: messages, events and downloads go on while the server is away,
// and nothing is fetched for it.
func TestOutageDelaysOnlyFiles(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	before := bytes.Repeat([]byte("before "), 1000)
	s.receive(t, "BEFORE", before)
	kept := s.await("BEFORE", "STORED", "")
	s.s3.set(func(s *server) { s.down = true })
	if a := s.get(t, kept.MessageID); a.Status != http.StatusOK || !bytes.Equal(a.Body, before) {
		t.Errorf("a kept file: %d, %d bytes", a.Status, len(a.Body))
	}
	if n := s.Metric("postern_media_lost_total"); n != 0 {
		t.Errorf("%v lost", n)
	}
	during := bytes.Repeat([]byte("during "), 1000)
	s.receive(t, "DURING", during)
	r := s.await("DURING", "PENDING", "UNREACHABLE")
	if a := s.Request(t, http.MethodDelete, "/instance/shop/messages/1/media", "", nil); a.Status != http.StatusNoContent {
		t.Errorf("a deletion: %d", a.Status)
	}
	s.s3.set(func(s *server) { s.down = false })
	s.keptNow(t, "DURING")
	s.Await("the deleted object is gone, the other is there", func() bool {
		all, _ := s.s3.objects()
		return len(all) == 1 && all[keyOf(r.MessageID)].SHA256 == hashOf(during)
	})
}

// TestPrefixOfAnotherProgramIsRefused: its files are neither served nor removed.
func TestPrefixOfAnotherProgramIsRefused(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.await("", "", "")
	s.Stop()
	s.s3.post("/-/put?age=2h&key=postern/.postern", strings.Repeat("0", 32))
	s.s3.post("/-/put?age=2h&key="+keyOf(9), "of another program")
	const warning, said = "files of messages cannot be kept in S3: the log says why", "media.store.s3.prefix: the files there are of another data file; give each program a prefix of its own"
	rig.Beside(t, s.World).Says(1, said, "doctor")
	s.Start()
	s.AwaitOnline("shop", s.Token)
	s.receive(t, "OURS", []byte("ours"))
	s.await("OURS", "PENDING", "UNREACHABLE")
	rig.Beside(t, s.World).Says(0, warning, "doctor")
	if log := s.Output.String(); !strings.Contains(log, said) {
		t.Errorf("the log lacks %q:\n%s", said, log)
	}
	if kept, _ := s.s3.objects(); len(kept) != 1 || kept[keyOf(9)].Key == "" {
		t.Errorf("%v", kept)
	}
}
