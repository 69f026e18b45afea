package cli

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

const listenSecret = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="

// printed is what a command wrote so far.
type printed struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (p *printed) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.b.Write(b)
}

func (p *printed) String() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.b.String()
}

// until waits until a line that matches was printed.
func (p *printed) until(t *testing.T, pattern string) []string {
	t.Helper()
	re := regexp.MustCompile(pattern)
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		if m := re.FindStringSubmatch(p.String()); m != nil {
			return m
		}
		if time.Now().After(deadline) {
			t.Fatalf("nothing matches %q in:\n%s", pattern, p)
		}
	}
}

// listening runs `postern listen` with args; stop ends it as Ctrl-C does.
func listening(t *testing.T, args ...string) (out *printed, url string, stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	out = &printed{}
	ended := make(chan int, 1)
	go func() {
		ended <- run(ctx, append([]string{"listen", "--addr", "127.0.0.1:0"}, args...), out, io.Discard)
	}()
	stop = func() {
		t.Helper()
		if cancel(); <-ended != 0 {
			t.Errorf("it did not end well:\n%s", out)
		}
	}
	return out, out.until(t, `receiving webhooks at (\S+) `)[1], stop
}

// deliver sends one webhook, signed by secret unless that is empty.
func deliver(t *testing.T, url, id, secret string) (status int, answer string) {
	t.Helper()
	const body = `{"event":"messages.upsert","instance":{"name":"shop"},"data":{"messageType":"conversation"}}`
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("x-webhook-event", "messages.upsert")
	if id != "" {
		req.Header.Set("webhook-id", id)
	}
	if secret != "" {
		signer, err := standardwebhooks.NewWebhook(secret)
		if err != nil {
			t.Fatal(err)
		}
		now := time.Now()
		signature, err := signer.Sign(id, now, []byte(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("webhook-timestamp", strconv.FormatInt(now.Unix(), 10))
		req.Header.Set("webhook-signature", signature)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(text)
}

func TestListenPrintsAndAnswersEachWebhook(t *testing.T) {
	out, url, stop := listening(t, "--status", "503")
	if status, _ := deliver(t, url, "", ""); status != 503 {
		t.Errorf("answered %d", status)
	}
	out.until(t, `(?m)^\d\d:\d\d:\d\d\.\d{3}  messages\.upsert +shop +messageType=conversation$`)
	stop()
	out.until(t, `(?m)^received 1: 1 answered 503$`)
}

func TestListenFailRefusesTheFirstWebhooks(t *testing.T) {
	out, url, stop := listening(t, "--fail", "2", "--status", "202")
	for i, want := range []int{503, 503, 202, 202} {
		if status, _ := deliver(t, url, "event-1", ""); status != want {
			t.Errorf("attempt %d was answered %d, not %d", i+1, status, want)
		}
	}
	out.until(t, `messageType=conversation  -> 503, refused 1 of 2\n`)
	out.until(t, `-> 503, refused 2 of 2, time 2 of this webhook-id\n`)
	out.until(t, `conversation  -> time 4 of this webhook-id\n`)
	stop()
	out.until(t, `(?m)^received 4: 2 answered 202, 2 refused with 503, 3 repeated$`)
}

func TestListenExplainsInvalidSignatures(t *testing.T) {
	const other = "whsec_HxwdHhsaGRgXFhUUExIREA8ODQwLCgkIBwYFBAMCAQA="
	out, url, stop := listening(t, "--verify", listenSecret)
	if status, _ := deliver(t, url, "event-1", listenSecret); status != 200 {
		t.Errorf("a right signature was answered %d", status)
	}
	out.until(t, `conversation  -> signature right\n`)
	if status, text := deliver(t, url, "event-2", other); status != 401 || !strings.Contains(text, "no signature fits") {
		t.Errorf("another secret's was answered %d %q", status, text)
	}
	out.until(t, `-> 401, no signature fits: the secret is that of another destination`)
	if status, text := deliver(t, url, "", ""); status != 401 || !strings.Contains(text, "it is not signed") {
		t.Errorf("one without was answered %d %q", status, text)
	}
	if strings.Contains(out.String(), "AAECAwQF") {
		t.Errorf("the secret is shown:\n%s", out)
	}
	stop()
	out.until(t, `(?m)^received 3: 1 answered 200, 2 with a wrong signature$`)

	_, url, stop = listening(t, "--verify", other, "--verify", listenSecret)
	defer stop()
	if status, _ := deliver(t, url, "event-1", listenSecret); status != 200 {
		t.Errorf("a signature by the second secret was answered %d", status)
	}
}

func TestListenLetsTheSenderWait(t *testing.T) {
	_, url, stop := listening(t, "--slow", "50ms")
	begun := time.Now()
	if status, _ := deliver(t, url, "", ""); status != 200 || time.Since(begun) < 50*time.Millisecond {
		t.Errorf("answered %d after %v", status, time.Since(begun))
	}
	stop()

	out, url, stop := listening(t, "--slow", "1h", "--fail", "1")
	ctx, giveUp := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer giveUp()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	if resp, err := http.DefaultClient.Do(req); err == nil {
		resp.Body.Close()
		t.Fatalf("answered %s", resp.Status)
	}
	out.until(t, `-> no answer: the sender waited no longer than \d`)
	stop()
	out.until(t, `(?m)^received 1: 0 answered 200, 1 timed out at the sender$`)
}

func TestAListenerForgetsTheOldestIDs(t *testing.T) {
	l := &listener{}
	for i := range rememberedIDs + 1 {
		if n := l.times(fmt.Sprint(i)); n != 1 {
			t.Fatalf("event %d came %d times", i, n)
		}
	}
	if len(l.seen) != rememberedIDs || l.times("0") != 1 || l.times(fmt.Sprint(rememberedIDs)) != 2 {
		t.Errorf("%d are remembered", len(l.seen))
	}
	if l.times(strings.Repeat("x", 1<<20)) != 0 {
		t.Error("an id of a megabyte is remembered")
	}
}
