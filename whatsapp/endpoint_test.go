package whatsapp

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"image/color"
	"image/png"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"postern/whatsapp/proxy"
	"postern/whatsapp/proxy/proxytest"
)

// authority makes a self-signed certificate for the given names.
func authority(t *testing.T, names ...string) (tls.Certificate, []byte) {
	t.Helper()
	cert := proxytest.SelfSigned(t, x509.Certificate{DNSNames: names, IsCA: true, BasicConstraintsValid: true})
	ca, _ := proxytest.PEM(t, cert)
	return cert, ca
}

func TestEndpointReplacesEveryHostAndIsVerified(t *testing.T) {
	_, otherCA := authority(t, "web.whatsapp.com")
	for name, tc := range map[string]struct {
		names    []string
		ca       []byte
		endpoint string // host, else the server's address
		ok       bool
	}{
		"certificate for the client's host":     {names: []string{"web.whatsapp.com"}, ok: true},
		"certificate for the endpoint's host":   {names: []string{"localhost"}, endpoint: "localhost", ok: true},
		"certificate for another host":          {names: []string{"example.org"}},
		"certificate from an unknown authority": {names: []string{"web.whatsapp.com"}, ca: otherCA},
	} {
		t.Run(name, func(t *testing.T) {
			cert, ca := authority(t, tc.names...)
			server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("seen-host", r.Host)
			}))
			server.TLS = &tls.Config{Certificates: []tls.Certificate{cert}}
			server.Config.ErrorLog = nil
			server.StartTLS()
			defer server.Close()
			if tc.ca == nil {
				tc.ca = ca
			}
			address := strings.TrimPrefix(server.URL, "https://")
			if tc.endpoint != "" {
				address = strings.Replace(address, "127.0.0.1", tc.endpoint, 1)
			}
			e := Endpoint{URL: "wss://" + address + "/ws/chat", CA: tc.ca, RootKey: [32]byte{1}}
			at, err := e.open()
			if err != nil {
				t.Fatal(err)
			}
			client := (&Connector{cfg: Config{}.withDefaults(), endpoint: at}).newLine(1, proxy.Socket).client
			defer client.CloseIdleConnections()
			resp, err := client.Get("https://web.whatsapp.com/x")
			if (err == nil) != tc.ok {
				t.Fatalf("got %v", err)
			}
			if err == nil {
				defer resp.Body.Close()
				if got := resp.Header.Get("seen-host"); got != "web.whatsapp.com" {
					t.Errorf("host %q", got)
				}
			}
		})
	}
}

func TestAnEndpointThatCannotWorkIsRefused(t *testing.T) {
	_, ca := authority(t, "localhost")
	root, devices := [32]byte{1}, noDevices(t)
	for name, e := range map[string]Endpoint{
		"not wss":     {URL: "https://localhost:1/", CA: ca, RootKey: root},
		"no port":     {URL: "wss://localhost/", CA: ca, RootKey: root},
		"no CA":       {URL: "wss://localhost:1/", CA: []byte("x"), RootKey: root},
		"no root key": {URL: "wss://localhost:1/", CA: ca},
	} {
		if _, err := New(Config{Devices: devices, Endpoint: &e}); err == nil {
			t.Errorf("%s is accepted", name)
		}
	}
	for name, cfg := range map[string]Config{
		"no devices":  {},
		"colour":      {Devices: devices, QRDark: "black"},
		"client type": {Devices: devices, ClientType: "TOASTER"},
	} {
		if _, err := New(cfg); err == nil {
			t.Errorf("%s is accepted", name)
		}
	}
}

func TestQRCodeColours(t *testing.T) {
	p, err := newPalette("#fffefd", "#010203")
	if err != nil {
		t.Fatal(err)
	}
	url, err := p.dataURL("https://wa.me/settings/linked_devices#" + strings.Repeat("x", 180))
	if err != nil {
		t.Fatal(err)
	}
	b, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(url, "data:image/png;base64,"))
	if err != nil {
		t.Fatal(err)
	}
	img, err := png.Decode(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	at := func(module int) color.RGBA {
		return color.RGBAModel.Convert(img.At(module*qrScale, module*qrScale)).(color.RGBA)
	}
	if got, want := at(0), (color.RGBA{0xff, 0xfe, 0xfd, 0xff}); got != want {
		t.Errorf("border is %v", got)
	}
	if got, want := at(qrQuiet), (color.RGBA{1, 2, 3, 0xff}); got != want { // the finder pattern's corner
		t.Errorf("first module is %v", got)
	}
}

func TestMessageIDsLikeTheWebClient(t *testing.T) {
	shape := regexp.MustCompile(`^3EB0[0-9A-F]{18}$`)
	a, b := NewMessageID(), NewMessageID()
	if !shape.MatchString(a) || a == b {
		t.Errorf("got %s and %s", a, b)
	}
}
