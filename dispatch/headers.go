package dispatch

import (
	"maps"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"golang.org/x/net/http/httpguts"

	"postern/event"
)

// instanceHeaders returns the headers of an instance event. The names have the spelling
// used on the wire.
func instanceHeaders(n event.Notice) http.Header {
	id := n.RequestID
	if id == "" {
		id = uuid.NewString()
	}
	return http.Header{
		"Content-Type":    jsonType,
		"User-Agent":      instanceAgent,
		requestHeader:     {id},
		"x-owner-jid":     {n.OwnerJID},
		"x-instance-name": {n.InstanceName},
		"x-instance-id":   {strconv.FormatInt(n.InstanceID, 10)},
		"x-webhook-event": {string(n.Kind)},
	}
}

// batchHeaders returns the headers of a batch event.
func batchHeaders(kind event.Kind) http.Header {
	return http.Header{
		"Content-Type":    jsonType,
		"User-Agent":      batchAgent,
		requestHeader:     {uuid.NewString()},
		"x-webhook-event": {string(kind)},
	}
}

// Values that all requests share. They must not be changed.
var (
	jsonType      = []string{"application/json"}
	instanceAgent = []string{"Service-Webhook/1.0"}
	batchAgent    = []string{"Service-MessageBatch-Webhook/1.0"}
)

// requestHeader names the attempt, for tracing only.
const requestHeader = "x-request-id"

// requestID returns the request id in headers that are about to be sent.
func requestID(h http.Header) string {
	name := requestHeader // not in the spelling of Header.Get
	return h[name][0]
}

// Headers of Standard Webhooks.
const (
	idHeader        = "webhook-id"
	timestampHeader = "webhook-timestamp"
	signatureHeader = "webhook-signature"
)

// addressed returns the headers of one attempt: those of the event, those that the
// consumer chose for the destination, and id and signature as the destination requires.
// The consumer's headers never replace a header of the program, and invalid ones are
// omitted. The error says that no signature can be made.
func addressed(base http.Header, to event.Destination, id uuid.UUID, at time.Time, body []byte) (http.Header, error) {
	if len(to.Headers) == 0 && !to.WithID && len(to.Secrets) == 0 {
		return base, nil
	}
	headers := maps.Clone(base)
	for name, value := range to.Headers {
		name = strings.ToLower(name)
		if !ownHeader(name) && httpguts.ValidHeaderFieldName(name) && visible(value) {
			headers[name] = []string{value}
		}
	}
	if to.WithID || len(to.Secrets) > 0 {
		headers[idHeader] = []string{id.String()}
	}
	if len(to.Secrets) == 0 {
		return headers, nil
	}
	signature, err := sign(to.Secrets, id.String(), at, body)
	if err != nil {
		return nil, err
	}
	headers[timestampHeader] = []string{strconv.FormatInt(at.Unix(), 10)}
	headers[signatureHeader] = []string{signature}
	return headers, nil
}

// ownHeader reports whether the consumer may not choose a header, given in lower case,
// because the program or HTTP writes it.
func ownHeader(name string) bool {
	switch name {
	case "user-agent", "x-request-id", "x-owner-jid", "x-instance-name", "x-instance-id", "x-webhook-event",
		"host", "connection", "transfer-encoding":
		return true
	}
	return strings.HasPrefix(name, "content-") || strings.HasPrefix(name, "webhook-")
}

// visible reports whether a value is visible ASCII, with spaces inside only.
func visible(value string) bool {
	for i := range len(value) {
		if c := value[i]; c < ' ' || c > '~' {
			return false
		}
	}
	return strings.Trim(value, " ") == value
}
