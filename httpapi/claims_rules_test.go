package httpapi

import (
	"encoding/base64"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"postern/event"
	"postern/httpapi/instances"
	"postern/httpapi/operator"
	"postern/httpapi/rest"
	"postern/httpapi/tokens/tokenstest"
)

// claimsOf returns the claims of a token without verifying it.
func claimsOf(t *testing.T, token string) map[string]json.RawMessage {
	t.Helper()
	raw, err := base64.RawURLEncoding.DecodeString(strings.Split(token, ".")[1])
	if err != nil {
		t.Fatal(err)
	}
	var c map[string]json.RawMessage
	if err := json.Unmarshal(raw, &c); err != nil {
		t.Fatal(err)
	}
	return c
}

func TestInstanceTokenHasNameTimeAndRandomID(t *testing.T) {
	r := newRig(t)
	ids := map[string]bool{}
	for _, token := range []string{r.instance("a"), decoded[instances.RotatedToken](t, r.admin("PUT", "/instance/a/token", "")).Token} {
		c := claimsOf(t, token)
		if diff := cmp.Diff([]string{"iat", "instanceName", "jti"}, keys(c)); diff != "" || string(c["instanceName"]) != `"a"` {
			t.Errorf("%s in %s", diff, c)
		}
		var issued int64
		if err := json.Unmarshal(c["iat"], &issued); err != nil || time.Since(time.Unix(issued, 0)).Abs() > time.Minute {
			t.Errorf("issued at %s: %v", c["iat"], err)
		}
		ids[string(c["jti"])] = true
	}
	if len(ids) != 2 {
		t.Errorf("two issues have the ids %v", ids)
	}
}

func TestUserTokenNamesUserAndExpiry(t *testing.T) {
	r := newRig(t)
	user := uuid.New()
	got := decoded[operator.UserToken](t, r.admin("POST", "/auth/user-token", `{"userId":"`+user.String()+`","expiresIn":3600}`))
	c := claimsOf(t, got.Token)
	var expires int64
	if err := json.Unmarshal(c["exp"], &expires); err != nil || event.At(time.Unix(expires, 0)) != got.ExpiresAt {
		t.Errorf("exp %s, expiresAt %v, %v", c["exp"], got.ExpiresAt, err)
	}
	if left := time.Until(got.ExpiresAt.Time); left < 59*time.Minute || left > time.Hour {
		t.Errorf("it lives for %v", left)
	}
	if string(c["userId"]) != `"`+user.String()+`"` || got.UserID != user.String() {
		t.Errorf("userId %s and %s, want %s", c["userId"], got.UserID, user)
	}
	other := decoded[operator.UserToken](t, r.admin("POST", "/auth/user-token", `{"expiresIn":3600}`))
	if _, err := uuid.Parse(other.UserID); err != nil || other.UserID == got.UserID {
		t.Errorf("without userId: %q", other.UserID)
	}
}

// TestAnswersAreNotCachedOrSniffed, because answers contain tokens, and files from strangers.
func TestAnswersAreNotCachedOrSniffed(t *testing.T) {
	r := newRig(t)
	for _, path := range []string{"/instance", "/health", "/nowhere"} {
		h := r.admin("GET", path, "").Header
		if h.Get("Cache-Control") != "no-store" || h.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: %v", path, h)
		}
	}
}

// TestBodyTimeoutDoesNotBoundTheHandler: a send may take longer than the time limit of its body.
func TestBodyTimeoutDoesNotBoundTheHandler(t *testing.T) {
	slowlyWith(t, func(c *rest.Call) error {
		if err := c.NoBody(); err != nil {
			return err
		}
		select {
		case <-time.After(2 * rest.BodyTimeout): // costs nothing in a bubble
		case <-c.Request.Context().Done():
			return c.Request.Context().Err()
		}
		return c.Response.JSON(http.StatusOK, struct{}{})
	}, func(t *testing.T, c net.Conn) {
		_, _ = io.WriteString(c, "POST /x HTTP/1.1\r\nHost: x\r\nApikey: "+testKey+"\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{}")
		if answer, after := cut(t, c); !strings.HasPrefix(answer, "HTTP/1.1 200 ") {
			t.Errorf("after %v: %q", after, answer)
		}
	})
}

// TestATokenOfBothKindsOpensNothing: a token of both kinds is
// ambiguous.
func TestATokenOfBothKindsOpensNothing(t *testing.T) {
	r := newRig(t)
	r.instance("a")
	both := tokenstest.Signed(t, jwt.SigningMethodHS256, testSecret, jwt.MapClaims{
		"instanceName": "a", "userId": r.user.String(), "exp": time.Now().Add(time.Hour).Unix(),
	}, nil)
	rec, err := r.registry.ByName("a")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.registry.SetToken(t.Context(), rec.ID, "", both); err != nil { // even as the stored one
		t.Fatal(err)
	}
	for path, want := range map[string]int{
		"/instance/a":      http.StatusUnauthorized,
		"/message/batches": http.StatusUnauthorized,
		"/ws/global/events?event=*&token=" + both:   http.StatusForbidden,
		"/ws/instance/events?event=*&token=" + both: http.StatusForbidden,
	} {
		req := httptest.NewRequest("GET", path, nil)
		if strings.HasPrefix(path, "/ws/") {
			req = handshakeOf(path, nil)
		} else {
			req.Header.Set("Authorization", "Bearer "+both)
		}
		if got := do(r.h, req).StatusCode; got != want {
			t.Errorf("%.20s: %d, want %d", path, got, want)
		}
	}
}
