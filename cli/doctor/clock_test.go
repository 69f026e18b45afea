package doctor

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"postern/config"
)

// TestClockOutsideACertificatesDatesIsAWarning, since no Date can then be asked for.
func TestClockOutsideACertificatesDatesIsAWarning(t *testing.T) {
	for name, from := range map[string]time.Time{"years behind": time.Now().AddDate(5, 0, 0), "years ahead": time.Now().AddDate(-5, 0, 0)} {
		public, private, err := ed25519.GenerateKey(rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		its := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: from, NotAfter: from.AddDate(0, 3, 0), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
		signed, err := x509.CreateCertificate(rand.Reader, its, its, public, private)
		if err != nil {
			t.Fatal(err)
		}
		hook := httptest.NewUnstartedServer(http.NotFoundHandler())
		hook.Config.ErrorLog = log.New(io.Discard, "", 0)
		hook.TLS = &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{signed}, PrivateKey: private}}}
		hook.StartTLS()
		defer hook.Close()
		cfg := config.Default()
		cfg.Webhook.GlobalURL, cfg.Webhook.GlobalEnabled = hook.URL, true
		found := (&examination{Patient: Patient{Config: cfg}}).clock(t.Context())
		if len(found) != 1 || found[0].Level != Warning || !strings.Contains(found[0].Message, "valid from "+date(from)) || !strings.Contains(found[0].Advice, "NTP") {
			t.Errorf("%s: %+v", name, found)
		}
	}
}
