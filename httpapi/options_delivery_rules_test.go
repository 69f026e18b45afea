package httpapi

import (
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"postern/dispatch"
	"postern/event"
	"postern/instance"
	"postern/store"
)

// hostsOf returns the spellings of an IPv4 address, as hosts of a URL, that a resolver, a parser or a network may
// interpret as that address.
func hostsOf(v4 string) []string {
	a := netip.MustParseAddr(v4).As4()
	n := uint32(a[0])<<24 | uint32(a[1])<<16 | uint32(a[2])<<8 | uint32(a[3])
	hex := fmt.Sprintf("%02x%02x:%02x%02x", a[0], a[1], a[2], a[3])
	wide := strings.NewReplacer("0", "０", "1", "１", "2", "２", ".", "。").Replace(v4)
	return []string{
		v4, v4 + ".", fmt.Sprint(n), fmt.Sprintf("%#x", n), fmt.Sprintf("0%o", n), wide, fmt.Sprintf("%#x.%#x.%#x.%#x", a[0], a[1], a[2], a[3]),
		fmt.Sprintf("0%o.0%o.0%o.0%o", a[0], a[1], a[2], a[3]), fmt.Sprintf("%d.%d", a[0], n&0xffffff), fmt.Sprintf("%d.%d.%d", a[0], a[1], n&0xffff),
		"[::ffff:" + v4 + "]", "[::ffff:" + hex + "]", "[::" + v4 + "]", "[64:ff9b::" + hex + "]", "[64:ff9b:1::" + hex + "]", "[2002:" + hex + "::]", "[2001:0:" + hex + "::1]", "[2a00::5efe:" + hex + "]",
	}
}

// TestEndpointsHaveTheAddressRulesOfWebhooks: the same guard refuses the same addresses, and
// nothing is stored.
func TestEndpointsHaveTheAddressRulesOfWebhooks(t *testing.T) {
	r := newRigWith(t, store.Options{NoSync: true, MinFree: 1}, func(c *instance.Config) { c.CheckURL = dispatch.Guard{DenyPrivate: true}.CheckURL })
	token := r.instance("a")
	hosts := []string{"[::1]", "[::]", "[fe80::1]", "[fe80::1%25eth0]", "[ff02::1]", "[fc00::1]", "[fdff::1]", "[fd00:ec2::254]", "[fd00:ec2::23]", "[fd20:ce::254]", "[fd00:42::42]", "[2001:db8::1]", "[fec0::1]", "[100::1]", "[3fff::1]", "[5f00::1]"}
	for _, v4 := range []string{
		"169.254.169.254", "169.254.0.1", "100.100.100.200", "192.0.0.192", "168.63.129.16", "224.0.0.1", "127.0.0.1", "127.255.255.254", "10.0.0.1", "172.16.0.1", "172.31.255.255",
		"192.168.1.1", "100.64.0.1", "0.0.0.0", "198.18.0.1", "255.255.255.255", "192.0.2.1", "203.0.113.1",
	} {
		hosts = append(hosts, hostsOf(v4)...)
	}
	if len(hosts) < 300 {
		t.Fatalf("only %d addresses", len(hosts))
	}
	for i, host := range hosts {
		url := []string{"http://" + host + "/x", "https://" + host + ":8443"}[i%2]
		e := wantError(t, r.as(token, "PUT", ofA, fmt.Sprintf(`{"endpoints":[{"id":"ok","url":"https://example.org"},{"id":"x","url":%q}]}`, url)), http.StatusBadRequest, "INVALID_WEBHOOK")
		if !strings.Contains(e.Messages[0], "endpoints[1].url") {
			t.Errorf("%s: %q", url, e.Messages)
		}
		wantError(t, r.as(token, "PUT", "/instance/a/webhook", fmt.Sprintf(`{"url":%q}`, url)), http.StatusBadRequest, "INVALID_WEBHOOK")
	}
	if got := textOf(t, r.as(token, "GET", ofA, "")); got != plainOptions {
		t.Errorf("stored: %s", got)
	}
}

// TestAnExampleIsSignedAndCarriesTheHeaders like any other delivery to the webhook, regardless of the filter and
// the flags.
func TestAnExampleIsSignedAndCarriesTheHeaders(t *testing.T) {
	r := newRig(t)
	r.answers = http.StatusOK
	token := r.instance("a")
	textOf(t, r.as(token, "PUT", "/instance/a/webhook", `{"url":"http://own","enabled":false}`))
	try := func() event.Destination {
		t.Helper()
		textOf(t, r.as(token, "POST", "/instance/a/webhook/test", `{"event":"messages.upsert"}`))
		if len(r.posted.To) != 1 || r.posted.ID == uuid.Nil {
			t.Fatalf("sent to %+v as %s", r.posted.To, r.posted.ID)
		}
		return r.posted.To[0]
	}
	if d := try(); d.WithID || len(d.Secrets)+len(d.Headers) != 0 || d.URL != "http://own" {
		t.Errorf("with no options: %+v", d)
	}
	id := r.posted.ID
	secret := secretsIn(t, textOf(t, r.as(token, "PUT", ofA, `{"headers":{"Authorization":"Bearer x"},"signing":{"enabled":true},
		"filter":{"groups":false,"status":false,"newsletters":false,"broadcasts":false,"fromMe":false},"endpoints":[{"id":"e","url":"http://e","events":{"messagesUpsert":true}}]}`)))[""]
	if d := try(); !d.WithID || !slices.Equal(d.Secrets, []string{secret}) || d.Headers["Authorization"] != "Bearer x" || d.Target != event.TargetWebhook {
		t.Errorf("with options: %+v", d)
	}
	if r.posted.ID == id {
		t.Error("two examples have the same id")
	}
	next := secretsIn(t, textOf(t, r.as(token, "POST", ofA+"/rotate-secret", "")))[""]
	if d := try(); !slices.Equal(d.Secrets, []string{next, secret}) {
		t.Errorf("after a rotation it is signed with %q", d.Secrets)
	}
}
