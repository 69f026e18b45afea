package httpapi

import (
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"postern/httpapi/rest"
	"postern/httpapi/tokens"
)

// formRoutes are the routes that take a file in their body.
func formRoutes() (all []rest.Route) {
	for _, row := range routes() {
		if row.Form != nil && row.File == "" {
			all = append(all, row)
		}
	}
	return all
}

// uploading begins an upload of a mebibyte to each route that takes a file, and passes the connection to script when
// half of it is sent. The clock is that of a bubble; the interface and the spool folder are real. Afterwards the
// spool folder must be empty.
func uploading(t *testing.T, script func(t *testing.T, r *rig, c net.Conn)) {
	for _, row := range formRoutes() {
		t.Run(row.Path, func(t *testing.T) {
			r := newRig(t)
			credential := "Authorization: Bearer " + r.timelessToken("some-instance")
			switch row.Auth {
			case rest.GlobalKey:
				credential = "Apikey: " + testKey
			case rest.UserBearer:
				token, err := tokens.ForUser(testSecret, r.user, 100*365*24*time.Hour, time.Now())
				if err != nil {
					t.Fatal(err)
				}
				credential = "Authorization: Bearer " + token
			default: // of an instance
			}
			synctest.Test(t, func(t *testing.T) {
				connected(t, r.h, func(c net.Conn) {
					_, _ = fmt.Fprintf(c, "%s %s HTTP/1.1\r\nHost: x\r\n%s\r\nContent-Type: multipart/form-data; boundary=b\r\nContent-Length: %d\r\n\r\n"+
						"--b\r\nContent-Disposition: form-data; name=\"attachment\"; filename=\"a.png\"\r\n\r\n", row.Method, concrete(row.Path), credential, 1<<20)
					_, _ = io.WriteString(c, strings.Repeat("x", 1<<19))
					synctest.Wait()
					if len(r.spooled()) != 1 {
						t.Errorf("in the spool folder: %v", r.spooled())
					}
					script(t, r, c)
					c.Close()
					time.Sleep(time.Second) // the server closes slowly; it costs nothing in a bubble
					if left := r.spooled(); len(left) > 0 {
						t.Errorf("left: %v", left)
					}
				})
			})
		})
	}
}

func TestStalledUploadIsCutOffAndRemoved(t *testing.T) {
	uploading(t, func(t *testing.T, _ *rig, c net.Conn) { cutOff(t, c, rest.UploadTimeout) })
}

// TestAnUploadThatTricklesIsCutOffToo: a byte now and then does not extend the time.
func TestAnUploadThatTricklesIsCutOffToo(t *testing.T) {
	uploading(t, func(t *testing.T, _ *rig, c net.Conn) {
		stop := dripping(c)
		cutOff(t, c, rest.UploadTimeout)
		stop()
	})
}

func TestAbortedUploadLeavesNoFile(t *testing.T) {
	uploading(t, func(_ *testing.T, _ *rig, c net.Conn) { c.Close() })
}

// TestTruncatedFormHoldsNothing: the server discards the rest of a body before it answers, if the rest
// is small.
func TestTruncatedFormHoldsNothing(t *testing.T) {
	uploading(t, func(t *testing.T, _ *rig, c net.Conn) {
		_, _ = io.WriteString(c, strings.Repeat("x", 1<<19-1000))
		_, _ = io.WriteString(c, "\r\n--b--\r\n")
		answer, after := cut(t, c)
		if !strings.HasPrefix(answer, "HTTP/1.1 4") || after > rest.UploadTimeout+10*time.Second {
			t.Errorf("after %v: %q", after, answer)
		}
	})
}
