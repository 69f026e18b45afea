package dispatch

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"postern/delivery"
	"postern/event"
)

// The example of the Standard Webhooks specification.
const (
	specSecret    = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	specSignature = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
)

func TestASignatureIsThatOfTheSpecificationsExample(t *testing.T) {
	got, err := sign([]string{specSecret}, "msg_p5jXN8AQM9LWM0D4loKWxJek", time.Unix(1614265330, 0), []byte(`{"test": 2432232314}`))
	if err != nil || got != specSignature {
		t.Errorf("%s, %v", got, err)
	}
}

// wire posts an event to a destination and returns the lines of the request.
func wire(t *testing.T, to event.Destination, id uuid.UUID, body string) []string {
	t.Helper()
	url, requests := rawReceiver(t, okAnswer)
	to.URL = url
	n := event.Notice{Kind: event.MessagesUpsert, InstanceID: 7, InstanceName: "shop", RequestID: "req-1"}
	if o := NewSender(SenderConfig{}).Send(t.Context(), to, id, instanceHeaders(n), []byte(body)); !o.Delivered() {
		t.Fatal(o.Reason())
	}
	got := <-requests
	slices.Sort(got)
	return got
}

// headerNames returns the names of header lines, in order, without the request line and
// the body.
func headerNames(lines []string) (all []string) {
	for _, line := range lines {
		if name, _, ok := strings.Cut(line, ": "); ok && name != "body" {
			all = append(all, name)
		}
	}
	return all
}

var plainNames = []string{
	"Content-Length", "Content-Type", "Host", "User-Agent", "x-instance-id", "x-instance-name", "x-owner-jid", "x-request-id", "x-webhook-event",
}

func TestUnsignedDeliveryHasNoExtraHeader(t *testing.T) {
	if got := headerNames(wire(t, event.Destination{}, uuid.New(), "{}")); !slices.Equal(got, plainNames) {
		t.Errorf("%q", got)
	}
}

func TestDurableAloneAddsTheEventsID(t *testing.T) {
	id := uuid.New()
	got := wire(t, event.Destination{WithID: true}, id, "{}")
	want := slices.Sorted(slices.Values(append(slices.Clone(plainNames), "webhook-id")))
	if !slices.Equal(headerNames(got), want) || !slices.Contains(got, "webhook-id: "+id.String()) {
		t.Errorf("%q", got)
	}
}

func TestWithTwoSecretsEitherVerifies(t *testing.T) {
	secrets := []string{"whsec_" + base64.StdEncoding.EncodeToString(make([]byte, 32)), specSecret}
	id, body := uuid.New(), `{"a":1}`
	lines := map[string]string{}
	for _, line := range wire(t, event.Destination{WithID: true, Secrets: secrets}, id, body) {
		name, value, _ := strings.Cut(line, ": ")
		lines[name] = value
	}
	at, err := strconv.ParseInt(lines["webhook-timestamp"], 10, 64)
	if err != nil || time.Since(time.Unix(at, 0)) > time.Minute {
		t.Errorf("webhook-timestamp %q", lines["webhook-timestamp"])
	}
	signatures := strings.Split(lines["webhook-signature"], " ")
	if len(signatures) != 2 {
		t.Fatalf("webhook-signature %q", lines["webhook-signature"])
	}
	for i, secret := range secrets {
		key, _ := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
		mac := hmac.New(sha256.New, key)
		mac.Write([]byte(lines["webhook-id"] + "." + lines["webhook-timestamp"] + "." + body))
		if want := "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil)); signatures[i] != want {
			t.Errorf("signature %d is %s, want %s", i, signatures[i], want)
		}
	}
}

func TestUnsignableEventIsNotSent(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("it was sent") }))
	defer srv.Close()
	for _, secret := range []string{"", "whsec_", "whsec_%%%"} {
		to := event.Destination{URL: srv.URL, WithID: true, Secrets: []string{secret}}
		if o := NewSender(SenderConfig{}).Send(t.Context(), to, uuid.New(), batchHeaders(event.BatchCreated), nil); o.Reason() != errNoSecret.Error() {
			t.Errorf("%q: %q", secret, o.Reason())
		}
	}
}

func TestConsumerHeadersAreWrittenInLowerCase(t *testing.T) {
	got := wire(t, event.Destination{Headers: map[string]string{"X-Api-Key": "k1", "authorization": "Bearer x y"}}, uuid.New(), "{}")
	for _, want := range []string{"x-api-key: k1", "authorization: Bearer x y"} {
		if !slices.Contains(got, want) {
			t.Errorf("no %q in %q", want, got)
		}
	}
	if want := slices.Sorted(slices.Values(append(slices.Clone(plainNames), "x-api-key", "authorization"))); !slices.Equal(headerNames(got), want) {
		t.Errorf("beside them, headers alone add something: %q", got)
	}
}

// TestConsumerHeadersOverrideNothing uses headers that the interface
// would refuse.
func TestConsumerHeadersOverrideNothing(t *testing.T) {
	hostile := map[string]string{
		"Host": "evil.example", "content-LENGTH": "0", "Content-Type": "text/plain", "content-encoding": "gzip", "User-Agent": "me",
		"Connection": "close", "transfer-encoding": "chunked", "X-Request-Id": "mine", "x-owner-jid": "o", "x-instance-name": "i", "x-instance-id": "1",
		"x-webhook-event": "e", "Webhook-Id": "w", "webhook-timestamp": "1", "webhook-signature": "v1,x",
		"x-split": "a\r\nx-evil: 1", "x-line": "a\nb", "x-zero": "a\x00b", "x-tab": "a\tb", "x-umlaut": "ä", "x-edge": " a",
		"x evil": "1", "x:evil": "1", "x\r\nevil": "1", "": "1", "ümlaut": "1",
	}
	id := uuid.New()
	got := wire(t, event.Destination{Headers: hostile, WithID: true}, id, "{}")
	want := wire(t, event.Destination{WithID: true}, id, "{}")
	skip := func(lines []string) []string {
		return slices.DeleteFunc(lines, func(l string) bool { return strings.HasPrefix(l, "Host: ") })
	}
	if got, want := skip(got), skip(want); !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	mine := maps.Clone(hostile)
	if _, err := addressed(batchHeaders(event.BatchCreated), event.Destination{Headers: hostile}, id, time.Now(), nil); err != nil || !maps.Equal(mine, hostile) {
		t.Error("the destination was changed")
	}
}

func TestRefusalBodyIsKeptAsText(t *testing.T) {
	long := strings.Repeat("ä", delivery.MaxAnswer)
	for name, row := range map[string]struct {
		status       int
		answer, want string
	}{
		"2xx":            {200, "fine", ""},
		"refused":        {422, "no such field", "no such field"},
		"empty":          {500, "", ""},
		"long":           {500, long, long[:delivery.MaxAnswer]},
		"cut in a rune":  {500, "x" + long, "x" + long[:delivery.MaxAnswer-2]},
		"not text":       {500, "a\xff\xfeb", "a\uFFFDb"},
		"not text, long": {500, strings.Repeat("\xffa", delivery.MaxAnswer), strings.Repeat("\uFFFDa", delivery.MaxAnswer/4)},
		"a redirect":     {302, "moved", "moved"},
	} {
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(row.status)
			_, _ = w.Write([]byte(row.answer))
		}))
		o := NewSender(SenderConfig{}).Post(t.Context(), srv.URL, http.Header{}, nil)
		srv.Close()
		if o.Answer != row.want || !utf8.ValidString(o.Answer) || o.Status != row.status {
			t.Errorf("%s: status %d, %d bytes %.40q, want %d bytes %.40q", name, o.Status, len(o.Answer), o.Answer, len(row.want), row.want)
		}
	}
}
