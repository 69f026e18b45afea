package support

import (
	"strings"
	"testing"
)

const token = "eyJhbGciOiJIUzI1NiJ9.eyJpbnN0YW5jZSI6InNob3AifQ.c2lnbmF0dXJlLW9mLW1pbmU"

func redactor() *Redactor {
	return New([]string{"the API key of the program", "short"}, []string{"shop", "shop-2", "4915100000077", "a.b"})
}

func TestTextsAreRedacted(t *testing.T) {
	for text, want := range map[string]string{
		`msg="instance created" instance=shop instance_id=1`: `msg="instance created" instance=instance-1 instance_id=1`,
		`{"msg":"x","instance":"shop-2"}`:                    `{"msg":"x","instance":"instance-2"}`,
		`path=/instance/shop/connect`:                        `path=/instance/instance-1/connect`,
		`of shop, shop-2.`:                                   `of instance-1, instance-2.`,
		`a shopkeeper of a.b.`:                               `a shopkeeper of instance-4.`,
		`instance=4915100000077`:                             `instance=instance-3`,
		`to 4915155500001@s.whatsapp.net failed`:             `to ***********01@s.whatsapp.net failed`,
		`from=4915155500001:12@s.whatsapp.net`:               `from=***********01:*2@s.whatsapp.net`,
		`88001122334455.1:3@lid`:                             `************55.1:*@lid`,
		`120363025246125486@g.us`:                            `****************86@g.us`,
		`+4915155500001`:                                     `+***********01`,
		`me@example.org`:                                     `********@example.org`,
		`dial https://user:pw@hook.example.org:8443/in/abc?token=def: refused`: `dial https://hook.example.org:8443/********: refused`,
		`"http://127.0.0.1:80/": EOF`:                                          `"http://127.0.0.1:80": EOF`,
		`socks5://u:pa55@proxy:1080`:                                           `socks5://proxy:1080/********`,
		`https://%zz/x`:                                                        `https://********`,
		`Bearer ` + token:                                                      `Bearer ********`,
		token:                                                                  `********`,
		`whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw`:                               `********`,
		`apikey=abc`:                                                           `apikey=********`,
		`key the API key of the program is`:                                    `key ******** is`,
		`"password":"hunter2","status":401`:                                    `"password":"********","status":401`,
		strings.Repeat("0123456789abcdef", 4):                                  `********`,
		`time=2026-11-22T20:11:55.123+01:00`:                                   `time=2026-11-22T20:11:55.123+01:00`,
		`duration=12.3456789s status=200 bytes=12`:                             `duration=12.3456789s status=200 bytes=12`,
		`postern-20260101T000000Z.tar`:                                         `postern-20260101T000000Z.tar`,
		`0196f0a0-aaaa-7000-8000-00000000ab01`:                                 `0196f0a0-aaaa-7000-8000-******00ab01`,
	} {
		if got := redactor().Text(text); got != want {
			t.Errorf("%s\n is %s\nnot %s", text, got, want)
		}
	}
	for _, text := range []string{`detail="<notification notify=\"Anne Marker\" t=\"1\"/>"`, `pushName="Anne Marker" x=1`, `{"name":"Anne Marker"}`, `text="Anne Marker"`} {
		if got := redactor().Text(text); strings.Contains(got, "Anne") || strings.Contains(got, "Marker") {
			t.Errorf("%s is %s", text, got)
		}
	}
}

func TestDeletedInstancesAreRedactedFromTheLog(t *testing.T) {
	r := redactor()
	log := "msg=\"instance deleted\" instance=former\nmsg=request path=/instance/older/qr stack=/src/instance/registry.go"
	r.Learn(log)
	if got, want := r.Text(log), "msg=\"instance deleted\" instance=instance-5\nmsg=request path=/instance/instance-6/qr stack=/src/instance/registry.go"; got != want {
		t.Errorf("%s", got)
	}
	if len(r.names) != 6 {
		t.Errorf("%d instances", len(r.names))
	}
}

func TestFiguresOfMetricsAndSettingsStay(t *testing.T) {
	r := redactor()
	metrics := "# HELP x of shop 12345678\npostern_up{instance=\"shop\",to=\"4915155500001\"} 1.7e+09\npostern_bytes 123456789\n"
	if got, want := r.Metrics(metrics), "# HELP x of shop 12345678\npostern_up{instance=\"instance-1\",to=\"***********01\"} 1.7e+09\npostern_bytes 123456789\n"; got != want {
		t.Errorf("%s", got)
	}
	config := "[webhook]\nmax_bytes = 1073741824 # default\nurl = \"https://h/********\" # file\nclient = \"call 4915155500001\"\n"
	if got, want := r.Config(config), "[webhook]\nmax_bytes = 1073741824 # default\nurl = \"https://h/********\" # file\nclient = \"call ***********01\"\n"; got != want {
		t.Errorf("%s", got)
	}
}
