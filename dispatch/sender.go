package dispatch

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"postern/delivery"
	"postern/event"
	"postern/internal/netfault"
)

// DefaultTimeout bounds one delivery, including its answer.
const DefaultTimeout = 15 * time.Second

// maxAnswer bounds the bytes of an answer that are read so that the connection can be
// reused. After a longer answer the connection is closed.
const maxAnswer = 64 << 10

// SenderConfig is what a Sender needs.
type SenderConfig struct {
	Timeout     time.Duration // of one delivery; 0 means DefaultTimeout
	Connections int           // kept open per host, one for each worker; 0 means 10
	Guard       Guard
	Resolver    *net.Resolver // for the receivers' names; nil means net.DefaultResolver

	// Valid reports whether this process may still deliver; nil: it always may. It is asked
	// before the first byte of each request.
	Valid func() bool
}

// Sender posts webhooks. It is safe for concurrent use.
type Sender struct {
	// Each request is one exchange: a redirect could lead anywhere, and would turn the
	// POST into a GET. The sender therefore uses no http.Client.
	wire    http.RoundTripper
	timeout time.Duration
	valid   func() bool // nil: always
}

// NewSender returns a sender with its own connections.
func NewSender(cfg SenderConfig) *Sender {
	if cfg.Timeout == 0 {
		cfg.Timeout = DefaultTimeout
	}
	if cfg.Connections == 0 {
		cfg.Connections = 10
	}
	dial := (&net.Dialer{Timeout: cfg.Timeout, Control: cfg.Guard.Control, Resolver: cfg.Resolver}).DialContext
	if cfg.Valid != nil {
		dial = permitted(dial)
	}
	return &Sender{
		timeout: cfg.Timeout, valid: cfg.Valid,
		wire: &http.Transport{
			DialContext: dial,
			// The end of a request does not end the handshake that it began.
			TLSHandshakeTimeout: cfg.Timeout,
			MaxIdleConnsPerHost: cfg.Connections,
			IdleConnTimeout:     90 * time.Second,
			DisableCompression:  true,
			// No receiver has reason to answer with more.
			MaxResponseHeaderBytes: maxAnswer,
		},
	}
}

// errNotOwner: another process may deliver the same by now.
var errNotOwner = errors.New("not sent: this process no longer owns the data")

// Close closes the idle connections.
func (s *Sender) Close() { (&http.Client{Transport: s.wire}).CloseIdleConnections() }

// Outcome is the result of one delivery.
type Outcome struct {
	Status     int    // of the answer, 0 if there was none
	Err        error  // why there was none, in the form of netfault.Plain
	Answer     string // the beginning of an answer that was not 2xx, as text
	RetryAfter time.Duration
	Duration   time.Duration
}

// Delivered reports whether the receiver accepted: any 2xx whose body ended, or exceeded
// 64 KiB, in time.
func (o Outcome) Delivered() bool { return o.Err == nil && o.Status >= 200 && o.Status < 300 }

// Down reports whether the outcome shows that the receiver is missing or overloaded,
// rather than that it refuses this event: no answer, 5xx or 429.
func (o Outcome) Down() bool {
	return o.Err != nil || o.Status >= 500 || o.Status == http.StatusTooManyRequests
}

// Reason describes the failure; it is empty if the event was delivered.
func (o Outcome) Reason() string {
	switch {
	case o.Delivered():
		return ""
	case o.Err != nil:
		return o.Err.Error()
	default:
		return "receiver answered " + strconv.Itoa(o.Status)
	}
}

// cause describes why there was no answer, for the operator's log.
func (o Outcome) cause() string { return netfault.Cause(o.Err) }

// Send posts an event to a destination, with the headers of the event, those of the
// destination, and id and signature if the destination requires them.
func (s *Sender) Send(ctx context.Context, to event.Destination, id uuid.UUID, headers http.Header, body []byte) Outcome {
	headers, err := addressed(headers, to, id, time.Now(), body)
	if err != nil {
		return Outcome{Err: err}
	}
	return s.Post(ctx, to.URL, headers, body)
}

// Post sends body to target with exactly the given headers. Their names are sent as
// spelled.
func (s *Sender) Post(ctx context.Context, target string, headers http.Header, body []byte) Outcome {
	start := time.Now()
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	o := s.post(ctx, target, headers, body)
	o.Duration = time.Since(start)
	return o
}

func (s *Sender) post(ctx context.Context, target string, headers http.Header, body []byte) Outcome {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, target, bytes.NewReader(body))
	if err != nil {
		return Outcome{Err: errNoURL}
	}
	req.URL.User = nil // otherwise it would be sent as an Authorization header
	req.URL.RawQuery = event.EscapeQuery(req.URL.RawQuery)
	req.Header = headers
	var p *permit
	if s.valid != nil {
		if !s.valid() {
			return Outcome{Err: errNotOwner}
		}
		req, p = withPermit(req, s.valid)
		defer p.cancel()
	}
	resp, err := s.wire.RoundTrip(req)
	if err != nil {
		if p != nil && p.refused.Load() {
			return Outcome{Err: errNotOwner}
		}
		return Outcome{Err: plain(err)}
	}
	defer resp.Body.Close()
	o := Outcome{Status: resp.StatusCode, RetryAfter: retryAfter(resp.Header.Get("Retry-After"), time.Now())}
	if o.Status == http.StatusSwitchingProtocols {
		return o // further reads would read the connection itself, without a timeout
	}
	if o.Answer, err = answer(resp.Body, !o.Delivered()); err != nil {
		return Outcome{Err: plain(err)}
	}
	return o
}

// answer reads the answer's body. The body counts as part of the answer: if it does not
// end in time, the answer is a failure. A long one is abandoned, with its connection. The
// text is for people, and returned only if keep is set.
func answer(body io.Reader, keep bool) (text string, err error) {
	if body == http.NoBody {
		return "", nil
	}
	var beginning []byte
	if keep {
		beginning, err = io.ReadAll(io.LimitReader(body, delivery.MaxAnswer))
	}
	if err == nil {
		_, err = io.CopyN(io.Discard, body, int64(maxAnswer-len(beginning)))
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return "", err
	}
	return readable(beginning), nil
}

// readable converts the beginning of a body to text. It may end within a character.
func readable(b []byte) string {
	for cut := 1; cut < utf8.UTFMax && cut <= len(b) && len(b) == delivery.MaxAnswer; cut++ {
		if tail := b[len(b)-cut:]; utf8.RuneStart(tail[0]) {
			if !utf8.FullRune(tail) {
				b = b[:len(b)-cut]
			}
			break
		}
	}
	text := strings.ToValidUTF8(string(b), "\uFFFD")
	for len(text) > delivery.MaxAnswer { // the replacement is longer than the bytes that it replaces
		_, size := utf8.DecodeLastRuneInString(text)
		text = text[:len(text)-size]
	}
	return text
}

var (
	errNoURL = errors.New("the URL cannot be read")
	// errCutOff: the sender no longer waits, for example because the program stops.
	errCutOff = errors.New("it was cut off before its answer came")
	// errRemoved is errCutOff if the destination was removed meanwhile.
	errRemoved = errors.New("its endpoint was removed before its answer came")
)

// plain removes from an error the URL, whose path or query may be secret, and everything
// else that the user who set the URL must not see.
func plain(err error) error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		err = u.Err
	}
	if errors.Is(err, context.Canceled) {
		return errCutOff
	}
	return netfault.Plain(err)
}

// maxRetryAfter is the longest pause that a receiver can ask for.
const maxRetryAfter = time.Hour

// retryAfter reads a Retry-After header, seconds or a date.
func retryAfter(value string, now time.Time) time.Duration {
	if value == "" {
		return 0
	}
	if digits(value) {
		seconds, err := strconv.ParseUint(value, 10, 31)
		if err != nil {
			return maxRetryAfter // more digits than any relevant number
		}
		return min(time.Duration(seconds)*time.Second, maxRetryAfter)
	}
	at, err := http.ParseTime(value)
	if err != nil {
		return 0
	}
	return max(0, min(at.Sub(now), maxRetryAfter))
}

func digits(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}
