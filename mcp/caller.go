package mcp

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// caller identifies the sender of one request and its credential.
type caller struct {
	token     string
	key       *key // nil: not asked for yet
	session   string
	message   string // the JSON-RPC id with its type; empty: a notification
	doing     []byte // digest of tool and arguments; of a tool that writes
	requestID string // x-request-id; empty: the interface makes one for each request
	from      string
	host      string // that it called; empty: by no HTTP
	forwarded []string
	begins    bool // the message opens a session
	refused   bool // the key has not the scope
}

// key is what a scoped key may do, from GET /session.
type key struct {
	ID     string   `json:"id"`
	Scopes []string `json:"scopes"`
}

// The scopes of keys that tools need.
const (
	scopeRead  = "read"
	scopeSend  = "send"
	scopeMedia = "media"
	scopeBatch = "batch"
)

// missing returns the first of the scopes that the key does not have, empty when it has all.
func (k *key) missing(scopes ...string) string {
	for _, s := range scopes {
		if !slices.Contains(k.Scopes, s) {
			return s
		}
	}
	return ""
}

// onceKey returns the Idempotency-Key of a call. A caller without a message has none. The
// session is not part of it: a client that starts again repeats its call in another
// one. Nor does the id suffice, for ids begin at 1 in each session: what the call does
// distinguishes it from others that had its id.
func (c *caller) onceKey() string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\n%x\n%s", c.key.ID, c.doing, c.message))
	return "mcp-" + hex.EncodeToString(sum[:])
}

// does records what the call does.
func (c *caller) does(tool string, in any) {
	args, _ := json.Marshal(in) // it was read from JSON
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\n%s", tool, args))
	c.doing = sum[:]
}

// messageID returns the id of a request as a text, with its type: 1 is not "1".
func messageID(m jsonrpc.Message) string {
	r, ok := m.(*jsonrpc.Request)
	if !ok || !r.IsCall() {
		return ""
	}
	return fmt.Sprintf("%T %v", r.ID.Raw(), r.ID.Raw())
}

// maxID is the largest integer that a float represents exactly.
const maxID = 1<<53 - 1

// exactID reports whether the SDK reads the id of a message as it was written. It makes
// integers of other numbers: one of two calls would be taken for a repetition of the
// other, and get its answer.
func exactID(body []byte) bool {
	var m map[string]json.RawMessage
	if err := json.Unmarshal(body, &m); err != nil {
		return false
	}
	var n float64
	if err := json.Unmarshal(m["id"], &n); err != nil {
		return true // no number
	}
	return n == math.Trunc(n) && math.Abs(n) <= maxID
}

// keyPrefix begins every scoped key. Other credentials are not accepted: the GlobalApiKey
// and tokens of instances and users have more rights than an agent should have.
const keyPrefix = "pk_"

// maxKey is the length of a key in bytes beyond which none is looked up.
const maxKey = 256

// isKey reports whether a text has the form of a scoped key.
func isKey(text string) bool {
	return strings.HasPrefix(text, keyPrefix) && len(text) <= maxKey && !strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r > '~' })
}

// carried is the key of the caller in the token info of the SDK.
const carried = "postern.caller"

// tokenInfo carries c through the SDK.
func (c *caller) tokenInfo() *auth.TokenInfo {
	return &auth.TokenInfo{Extra: map[string]any{carried: c}}
}

// callerOf returns the caller of a request from the SDK; nil for none.
func callerOf(r sdk.Request) *caller {
	extra := r.GetExtra()
	if extra == nil || extra.TokenInfo == nil {
		return nil
	}
	c, _ := extra.TokenInfo.Extra[carried].(*caller)
	return c
}

type callerKey struct{}

func withCaller(ctx context.Context, c *caller) context.Context {
	return context.WithValue(ctx, callerKey{}, c)
}

// callerIn returns the caller of the tool call that ctx belongs to; nil for none.
func callerIn(ctx context.Context) *caller {
	c, _ := ctx.Value(callerKey{}).(*caller)
	return c
}
