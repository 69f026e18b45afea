package config

import (
	"strings"
	"testing"
)

func TestCommonProxyIsValidatedAndRedacted(t *testing.T) {
	const good = "socks5://user-{instance}:s3cr3t@proxy.example.org:1080"
	file := writeSecret(t, good+"\n", 0o600)
	for _, environ := range [][]string{{"WHATSAPP_PROXY=" + good}, {"WHATSAPP_PROXY_FILE=" + file}} {
		c, _, err := Load("", environ)
		if err != nil || c.WhatsApp.Proxy != good {
			t.Fatalf("%v is read as %+v (%v)", environ, c, err)
		}
		text, _ := Show(c)
		if !strings.Contains(text, "\nproxy = \"********\"") {
			t.Errorf("shown as %q", text)
		}
		for _, secret := range []string{"s3cr3t", "user-"} {
			if strings.Contains(text, secret) {
				t.Errorf("%s is shown", secret)
			}
		}
	}
	for _, bad := range []string{
		"proxy.example.org:1080", "socks4://s3cr3t@proxy.example.org", "http://u:s3cr3t@proxy.example.org/{instance}",
		"http://u:***@proxy.example.org", "http://{Instance}:s3cr3t@proxy.example.org", "http://u:s3cr3t@proxy.example.org:99999",
	} {
		if text := refused(t, "whatsapp.proxy", "", "WHATSAPP_PROXY="+bad); strings.Contains(text, "s3cr3t") {
			t.Errorf("the error repeats the password: %s", text)
		}
	}
}
