package dispatch

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"postern/event"
)

// rawReceiver answers each request with the given bytes and returns what it read, with
// header lines as they were on the wire.
func rawReceiver(t *testing.T, answer string) (url string, requests <-chan []string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	got := make(chan []string, 10)
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				for r := bufio.NewReader(conn); ; {
					lines, ok := readRequest(r)
					if !ok {
						return
					}
					got <- lines
					if _, err := io.WriteString(conn, answer); err != nil {
						return
					}
				}
			}()
		}
	}()
	return "http://" + l.Addr().String() + "/hook?token=s3cret", got
}

func readRequest(r *bufio.Reader) (lines []string, ok bool) {
	length := 0
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			return nil, false
		}
		line = strings.TrimRight(line, "\r\n")
		if line == "" {
			break
		}
		fmt.Sscanf(line, "Content-Length: %d", &length)
		lines = append(lines, line)
	}
	body := make([]byte, length)
	if _, err := io.ReadFull(r, body); err != nil {
		return nil, false
	}
	return append(lines, "body: "+string(body)), true
}

const okAnswer = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"

func TestInstanceDeliveryHasExactlyTheListedHeaders(t *testing.T) {
	url, requests := rawReceiver(t, okAnswer)
	q := NewQueue(QueueConfig{Sender: NewSender(SenderConfig{})})
	n := event.Notice{Kind: event.MessagesUpsert, Body: []byte(`{"a":1}`), InstanceID: 7, InstanceName: "shop", RequestID: "req-1", To: []event.Destination{{URL: url}}}
	if err := q.Enqueue(n); err != nil {
		t.Fatal(err)
	}
	if err := q.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	got := <-requests
	slices.Sort(got)
	host := strings.Split(url, "/")[2]
	want := []string{
		"Content-Length: 7", "Content-Type: application/json", "Host: " + host, "POST /hook?token=s3cret HTTP/1.1",
		"User-Agent: Service-Webhook/1.0", `body: {"a":1}`, "x-instance-id: 7", "x-instance-name: shop", "x-owner-jid: ",
		"x-request-id: req-1", "x-webhook-event: messages.upsert",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestBatchDeliveryHasAFreshRequestID(t *testing.T) {
	url, requests := rawReceiver(t, okAnswer)
	s := NewSender(SenderConfig{})
	var ids []string
	for range 2 {
		if o := s.Post(t.Context(), url, batchHeaders(event.BatchCreated), []byte("{}")); !o.Delivered() {
			t.Fatal(o)
		}
		var names []string
		for _, line := range <-requests {
			name, value, _ := strings.Cut(line, ": ")
			names = append(names, name)
			if name == "x-request-id" {
				ids = append(ids, value)
			}
		}
		slices.Sort(names)
		want := "Content-Length Content-Type Host POST /hook?token=s3cret HTTP/1.1 User-Agent body x-request-id x-webhook-event"
		if got := strings.Join(names, " "); got != want {
			t.Errorf("headers %q, want %q", got, want)
		}
	}
	if len(ids) != 2 || ids[0] == ids[1] || len(ids[0]) != 36 {
		t.Errorf("request ids %q", ids)
	}
}

func TestOnly2xxSucceedsAndRedirectsAreNotFollowed(t *testing.T) {
	var second atomic.Int32
	target := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { second.Add(1) }))
	defer target.Close()
	status := 0
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Location", target.URL)
		w.WriteHeader(status)
	}))
	defer srv.Close()
	s := NewSender(SenderConfig{})
	for code, want := range map[int][2]bool{ // delivered, down
		200: {true, false}, 201: {true, false}, 204: {true, false}, 299: {true, false}, 301: {false, false}, 302: {false, false},
		307: {false, false}, 400: {false, false}, 404: {false, false}, 410: {false, false}, 429: {false, true}, 500: {false, true}, 503: {false, true},
	} {
		status = code
		o := s.Post(t.Context(), srv.URL, batchHeaders(event.BatchCreated), nil)
		if o.Status != code || o.Delivered() != want[0] || o.Down() != want[1] {
			t.Errorf("%d: %+v, delivered %t, down %t", code, o, o.Delivered(), o.Down())
		}
	}
	if second.Load() != 0 {
		t.Error("a redirect was followed")
	}
}

func TestTheTimeoutCoversTheAnswersBody(t *testing.T) {
	url, _ := rawReceiver(t, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf")
	o := NewSender(SenderConfig{Timeout: 100 * time.Millisecond}).Post(t.Context(), url, batchHeaders(event.BatchCreated), nil)
	if o.Delivered() || !o.Down() || o.Reason() != "no answer in time" {
		t.Errorf("%+v: %s", o, o.Reason())
	}
}

// TestConnectionTakeoverIsARefusal: only 2xx counts, and the sender does
// not read what follows the answer.
func TestConnectionTakeoverIsARefusal(t *testing.T) {
	url, _ := rawReceiver(t, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: anything\r\n\r\n")
	ended := make(chan Outcome, 1)
	go func() {
		ended <- NewSender(SenderConfig{Timeout: 100 * time.Millisecond}).Post(t.Context(), url, batchHeaders(event.BatchCreated), nil)
	}()
	select {
	case o := <-ended:
		if o.Delivered() || o.Status != http.StatusSwitchingProtocols || o.Reason() != "receiver answered 101" {
			t.Errorf("%+v: %s", o, o.Reason())
		}
	case <-time.After(20 * time.Second):
		t.Fatal("the delivery has not ended")
	}
}

// TestStalledHandshakeLeavesNothing: not even a connection, of
// which each attempt would leave one.
func TestStalledHandshakeLeavesNothing(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	ended := make(chan error, 1)
	go func() {
		conn, err := l.Accept()
		if err == nil {
			defer conn.Close()
			_ = conn.SetReadDeadline(time.Now().Add(20 * time.Second))
			_, err = io.Copy(io.Discard, conn)
		}
		ended <- err
	}()
	o := NewSender(SenderConfig{Timeout: 100 * time.Millisecond}).Post(t.Context(), "https://"+l.Addr().String(), batchHeaders(event.BatchCreated), nil)
	if o.Delivered() || !o.Down() || o.Reason() != "no answer in time" {
		t.Errorf("%+v: %s", o, o.Reason())
	}
	if err := <-ended; err != nil && !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("the connection is still there: %v", err)
	}
}

func TestLongAnswerIsNotReadToItsEnd(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		block := bytes.Repeat([]byte("x"), 32<<10)
		for {
			if _, err := w.Write(block); err != nil {
				return
			}
		}
	}))
	defer srv.Close()
	if o := NewSender(SenderConfig{Timeout: 10 * time.Second}).Post(t.Context(), srv.URL, batchHeaders(event.BatchCreated), nil); !o.Delivered() {
		t.Errorf("%+v", o)
	}
}

func TestAnErrorNamesNoURL(t *testing.T) {
	s := NewSender(SenderConfig{})
	for _, target := range []string{"http://127.0.0.1:1/x?token=s3cret", "http://user:s3cret@%zz/", "http://nowhere.invalid/s3cret"} {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		o := s.Post(ctx, target, batchHeaders(event.BatchCreated), nil)
		cancel()
		if o.Err == nil || !o.Down() || strings.Contains(o.Reason(), "token=") || strings.Contains(o.Reason(), "/s3cret") {
			t.Errorf("%s: %q", target, o.Reason())
		}
	}
}

func TestRetryAfterIsSecondsOrADate(t *testing.T) {
	now := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	for in, want := range map[string]time.Duration{
		"": 0, "0": 0, "7": 7 * time.Second, "3600": time.Hour, "7200": time.Hour, "99999999999999999999999": time.Hour,
		"-5": 0, "1.5": 0, "soon": 0, "Wed, 04 Mar 2026 05:07:07 GMT": time.Minute, "Wed, 04 Mar 2026 09:00:00 GMT": time.Hour,
		"Wed, 04 Mar 2026 05:00:00 GMT": 0,
	} {
		if got := retryAfter(in, now); got != want {
			t.Errorf("%q: %v, want %v", in, got, want)
		}
	}
}

func TestTheGuardLooksAtTheResolvedAddress(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the guarded receiver was reached") }))
	defer srv.Close()
	_, port, _ := net.SplitHostPort(srv.Listener.Addr().String())
	s := NewSender(SenderConfig{Guard: Guard{DenyPrivate: true}})
	for _, host := range []string{"127.0.0.1", "localhost", "[::ffff:127.0.0.1]", "0.0.0.0"} {
		o := s.Post(t.Context(), "http://"+host+":"+port+"/", batchHeaders(event.BatchCreated), nil)
		if !errors.Is(o.Err, ErrAddress) && o.Err == nil {
			t.Errorf("%s: %+v", host, o)
		}
	}
}

func TestURLUserIsNotSentAsCredential(t *testing.T) {
	url, requests := rawReceiver(t, okAnswer)
	o := NewSender(SenderConfig{}).Post(t.Context(), strings.Replace(url, "http://", "http://user:secret@", 1), batchHeaders(event.BatchCreated), nil)
	if !o.Delivered() {
		t.Fatal(o.Reason())
	}
	for _, line := range <-requests {
		if strings.HasPrefix(line, "Authorization:") {
			t.Error("an Authorization header was sent")
		}
	}
}

// TestAnAddressIsOneWordOfTheRequest: a receiver must be able to read as a URL what the
// configuration accepts as one.
func TestAnAddressIsOneWordOfTheRequest(t *testing.T) {
	for given, sent := range map[string]string{
		"/a b?name=my shop&é=ü": "/a%20b?name=my%20shop&%C3%A9=%C3%BC",
		`/?q="<a>"`:             "/?q=%22%3Ca%3E%22",
		"/?q=%20+&b={x|y}":      "/?q=%20+&b={x|y}",
	} {
		url, requests := rawReceiver(t, okAnswer)
		if o := NewSender(SenderConfig{}).Post(t.Context(), strings.TrimSuffix(url, "/hook?token=s3cret")+given, batchHeaders(event.BatchCreated), nil); !o.Delivered() {
			t.Fatal(o.Reason())
		}
		if line := (<-requests)[0]; line != "POST "+sent+" HTTP/1.1" {
			t.Errorf("%s: %s", given, line)
		}
	}
}

func TestEndlessHeadersAreAFailure(t *testing.T) {
	url, _ := rawReceiver(t, "HTTP/1.1 200 OK\r\nx: "+strings.Repeat("a", 2*maxAnswer)+"\r\nContent-Length: 0\r\n\r\n")
	if o := NewSender(SenderConfig{}).Post(t.Context(), url, batchHeaders(event.BatchCreated), nil); o.Delivered() {
		t.Error("accepted")
	}
}

// TestAFailureTellsWhyAndNotWhere: the reason is stored with batch events and shown to
// users who test a webhook.
func TestAFailureTellsWhyAndNotWhere(t *testing.T) {
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	nobody := free.Addr().String()
	_ = free.Close()
	mail, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer mail.Close()
	go func() {
		for {
			c, err := mail.Accept()
			if err != nil {
				return
			}
			_, _ = io.WriteString(c, "220 mail.internal ESMTP\r\n")
			_ = c.(*net.TCPConn).CloseWrite()
		}
	}()
	secure := httptest.NewUnstartedServer(http.NotFoundHandler())
	secure.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelInfo)
	secure.StartTLS()
	defer secure.Close()
	resolver := &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		return net.Dial("udp", nobody)
	}}
	for _, row := range []struct {
		guard        Guard
		target, want string
	}{
		{Guard{}, "http://" + nobody + "/hook", "the connection was refused"},
		{Guard{}, "http://" + mail.Addr().String() + "/hook", "what answers there is not HTTP"},
		{Guard{}, secure.URL, "TLS: its certificate is not signed by a trusted authority"},
		{Guard{}, "http://intern.example./hook", "its host could not be looked up"},
		{Guard{DenyPrivate: true}, "http://localhost:" + strconv.Itoa(mail.Addr().(*net.TCPAddr).Port), "its address is not allowed"},
	} {
		cfg := SenderConfig{Timeout: 5 * time.Second, Guard: row.guard}
		if strings.Contains(row.target, "example") {
			cfg.Resolver = resolver
		}
		s := NewSender(cfg)
		o := s.Post(t.Context(), row.target, http.Header{}, nil)
		s.Close()
		if o.Delivered() || o.Reason() != row.want || !o.Down() || o.cause() == "" || o.cause() == row.want {
			t.Errorf("%s: %q (%q), want %q", row.target, o.Reason(), o.cause(), row.want)
		}
	}
}
