package upstream

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"postern/config"
)

func TestCommonProxyComesFromSettingOrEnvironment(t *testing.T) {
	for name, tc := range map[string]struct {
		setting, endpoint string
		sandbox           bool
		env               map[string]string
		want, fails       string
	}{
		"nothing":                   {},
		"the setting":               {setting: "http://u:pa55word@a.example.org", env: map[string]string{"HTTPS_PROXY": "http://b.example.org"}, want: "http://u:pa55word@a.example.org"},
		"the setting, with sandbox": {setting: "http://a.example.org", sandbox: true, want: "http://a.example.org"},
		"the environment":           {env: map[string]string{"HTTPS_PROXY": "http://u:pa55word@b.example.org:3128/"}, want: "http://u:pa55word@b.example.org:3128"},
		"in small letters":          {env: map[string]string{"https_proxy": "b.example.org:3128"}, want: "http://b.example.org:3128"},
		"with names at the proxy":   {env: map[string]string{"HTTPS_PROXY": "socks5h://b.example.org:1080"}, want: "socks5://b.example.org:1080"},
		"not for WhatsApp":          {env: map[string]string{"HTTPS_PROXY": "http://b.example.org", "NO_PROXY": ".whatsapp.com"}},
		"only for plain HTTP":       {env: map[string]string{"HTTP_PROXY": "http://b.example.org"}},
		"with an endpoint":          {endpoint: "wss://h:1/", env: map[string]string{"HTTPS_PROXY": "http://b.example.org"}},
		"with a sandbox":            {sandbox: true, env: map[string]string{"HTTPS_PROXY": "http://b.example.org"}},
		"no URL":                    {env: map[string]string{"HTTPS_PROXY": "http://u:pa55word@%zz"}, fails: "HTTPS_PROXY"},
		"another kind of proxy":     {env: map[string]string{"HTTPS_PROXY": "ftp://u:pa55word@b.example.org"}, fails: "HTTPS_PROXY"},
	} {
		t.Run(name, func(t *testing.T) {
			for _, key := range []string{"HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "NO_PROXY", "no_proxy"} {
				t.Setenv(key, tc.env[key])
			}
			cfg := config.Default()
			cfg.WhatsApp.Proxy, cfg.WhatsApp.Endpoint = tc.setting, tc.endpoint
			cfg.Sandbox.Enabled = tc.sandbox
			got, named, err := Proxy(cfg)
			if tc.fails != "" {
				if err == nil || !strings.Contains(err.Error(), tc.fails) || strings.Contains(err.Error(), "pa55word") {
					t.Errorf("got %q, %v", got, err)
				}
				return
			}
			if err != nil || got != tc.want {
				t.Errorf("got %q (%v), want %q", got, err, tc.want)
			}
			var log bytes.Buffer
			slog.New(slog.NewJSONHandler(&log, nil)).Info("", "proxy", named)
			if is := strings.Contains(log.String(), "b.example.org"); is != (tc.setting == "" && got != "") || is == named.IsZero() || strings.Contains(log.String(), "pa55word") {
				t.Errorf("the environment names %s", log.String())
			}
		})
	}
}
