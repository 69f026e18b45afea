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

	"postern/netfault"
)

// DefaultTimeout bounds one delivery, its answer included.
const DefaultTimeout = 15 * time.Second

// maxAnswer is how much of an answer is read, so that the connection can be
// used again; a longer one costs the connection.
const maxAnswer = 64 << 10

// SenderConfig is what a Sender needs.
type SenderConfig struct {
	Timeout     time.Duration // of one delivery; 0 means DefaultTimeout
	Connections int           // kept open per host, as many as there are workers; 0 means 10
	Guard       Guard
	Resolver    *net.Resolver // of the receivers' names; nil means net.DefaultResolver
}

// Sender posts webhooks. It is safe for concurrent use.
type Sender struct {
	client  *http.Client
	timeout time.Duration
}

// NewSender returns a sender with its own connections.
func NewSender(cfg SenderConfig) *Sender {
	if cfg.Timeout == 0 {
		cfg.Timeout = DefaultTimeout
	}
	if cfg.Connections == 0 {
		cfg.Connections = 10
	}
	dialer := &net.Dialer{Timeout: cfg.Timeout, Control: cfg.Guard.Control, Resolver: cfg.Resolver}
	return &Sender{
		timeout: cfg.Timeout,
		client: &http.Client{
			Transport: &http.Transport{
				DialContext:         dialer.DialContext,
				MaxIdleConnsPerHost: cfg.Connections,
				IdleConnTimeout:     90 * time.Second,
				DisableCompression:  true,
				// No receiver has reason to answer with more.
				MaxResponseHeaderBytes: maxAnswer,
			},
			// A redirect could lead anywhere, and would turn the POST into a GET.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}
}

// Close drops the idle connections.
func (s *Sender) Close() { s.client.CloseIdleConnections() }

// Outcome is how one delivery ended.
type Outcome struct {
	Status     int   // of the answer, 0 when there was none
	Err        error // why there was none, as netfault.Plain puts it
	RetryAfter time.Duration
	Duration   time.Duration
}

// Delivered reports whether the receiver accepted: any 2xx whose body ended,
// or went past 64 KiB, in time.
func (o Outcome) Delivered() bool { return o.Err == nil && o.Status >= 200 && o.Status < 300 }

// Down reports whether the outcome says that the receiver is not there or
// overloaded, rather than that it dislikes this event: no answer, 5xx or 429.
func (o Outcome) Down() bool {
	return o.Err != nil || o.Status >= 500 || o.Status == http.StatusTooManyRequests
}

// Reason is the failure in words, empty when delivered.
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

// cause is why there was no answer, for the log of the operator.
func (o Outcome) cause() string { return netfault.Cause(o.Err) }

// Post sends body to target with exactly the given headers. Their names reach
// the wire as they are written.
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
	req.URL.User = nil // else it would be sent as an Authorization header
	req.Header = headers
	resp, err := s.client.Do(req)
	if err != nil {
		return Outcome{Err: plain(err)}
	}
	defer resp.Body.Close()
	// The answer's text means nothing, but it belongs to the answer: one that
	// does not end in time is none. A long one is left, with its connection.
	if _, err := io.CopyN(io.Discard, resp.Body, maxAnswer); err != nil && !errors.Is(err, io.EOF) {
		return Outcome{Err: plain(err)}
	}
	return Outcome{Status: resp.StatusCode, RetryAfter: retryAfter(resp.Header.Get("Retry-After"), time.Now())}
}

var errNoURL = errors.New("the URL cannot be read")

// plain takes the URL out of an error, whose path or query may be secret, and
// whatever else is not for whoever set the URL.
func plain(err error) error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		err = u.Err
	}
	return netfault.Plain(err)
}

// maxRetryAfter is the longest pause that a receiver can ask for.
const maxRetryAfter = time.Hour

// retryAfter reads a Retry-After header, seconds or a date.
func retryAfter(value string, now time.Time) time.Duration {
	if digits(value) {
		seconds, err := strconv.ParseUint(value, 10, 31)
		if err != nil {
			return maxRetryAfter // more digits than any number that matters
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
