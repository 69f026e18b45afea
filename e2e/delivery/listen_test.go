package delivery

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"postern/e2e/capture"
	"postern/e2e/rig"
)

// listen runs `postern listen` as a process and points the webhook to it; stop ends it as
// Ctrl-C does.
func listen(t *testing.T, s *shop, args ...string) (out *capture.Buffer, stop func()) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	out = &capture.Buffer{}
	cmd := exec.Command(self, append([]string{"listen", "--addr", "127.0.0.1:0"}, args...)...)
	cmd.Env = append(os.Environ(), rig.AsProgram+"=1")
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := false
	stop = func() {
		if !ended {
			ended = true
			_ = cmd.Process.Signal(syscall.SIGINT)
			_ = cmd.Wait()
		}
	}
	t.Cleanup(stop)
	s.webhook(says(s, out, `receiving webhooks at (\S+) `)[1])
	return out, stop
}

// says waits until a line that matches was printed.
func says(s *shop, out *capture.Buffer, pattern string) (found []string) {
	s.t.Helper()
	re := regexp.MustCompile(pattern)
	s.Await(pattern, func() bool {
		found = re.FindStringSubmatch(out.String())
		return found != nil
	})
	return found
}

// TestListenShowsSignaturesAndAttempts is the whole of what docs/delivery.md lets a user try.
func TestListenShowsSignaturesAndAttempts(t *testing.T) {
	if testing.Short() {
		t.Skip("waits for seconds")
	}
	t.Parallel() // it waits more than it works
	s := newShop(t, "WEBHOOK_TIMEOUT=2s")
	is := s.options(`{"durable":true,"signing":{"enabled":true}}`)

	out, stop := listen(t, s, "--verify", is.Signing.Secret, "--fail", "2")
	s.anneWrites("hello")
	says(s, out, `messages\.upsert .* text=hello .* -> 503, refused 1 of 2, signature right\n`)
	says(s, out, `-> 503, refused 2 of 2, signature right, time 2 of this webhook-id\n`)
	says(s, out, `-> signature right, time 3 of this webhook-id\n`)
	done := s.delivery(s.logged("?event=messages.upsert&state=DELIVERED", 1)[0].ID)
	if first := strings.TrimSpace(value(done.Attempts[0].Answer)); first != "postern listen: refused 1 of 2" || done.AttemptCount != 3 {
		t.Errorf("%d attempts, the first was answered %q", done.AttemptCount, first)
	}

	// The rotated secret is good for a day, an unknown one is not.
	s.call(http.MethodPost, "/options/rotate-secret", nil, nil)
	s.anneWrites("again")
	says(s, out, `text=again .* -> signature right\n`)
	stop()
	says(s, out, `received 4: 2 answered 200, 2 refused with 503, 2 repeated`)
	out, stop = listen(t, s, "--verify", "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=")
	s.anneWrites("wrong")
	says(s, out, `text=wrong .* -> 401, no signature fits`)
	var refused record
	s.Await("the refusal in the log", func() bool { // the answer may leave after the line
		refused = s.logged("?event=messages.upsert&state=PENDING", 1)[0]
		return refused.AttemptCount > 0
	})
	stop()
	if value(refused.LastStatus) != 401 || !strings.Contains(value(s.delivery(refused.ID).Attempts[0].Answer), "no signature fits") {
		t.Errorf("%+v", refused)
	}

	// A slow one is not waited for.
	out, stop = listen(t, s, "--slow", "1m")
	s.call(http.MethodPost, fmt.Sprintf("/deliveries/%d/retry", refused.ID), nil, nil)
	says(s, out, `text=wrong .* -> no answer: the sender waited no longer than (2|1\.[5-9])`) // less what the way took
	stop()
	s.Await("the slow attempt in the log", func() bool {
		all := s.delivery(refused.ID).Attempts
		last := all[len(all)-1]
		return value(last.Error) == "no answer in time" && last.DurationMs >= 1900
	})
}
