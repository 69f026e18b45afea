package bench

import (
	"context"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"postern/cli/consumer"
)

// BenchmarkConcurrentSends reports how long 500 sends take that are asked for
// at once over 20 instances, each to a contact that was written to before.
func BenchmarkConcurrentSends(b *testing.B) {
	const instances, sends = 20, 500
	for b.Loop() {
		r := newStation(b)
		for range instances {
			r.pair(b)
		}
		r.atOnce(b, sends) // first contact
		begin := time.Now()
		took := r.atOnce(b, sends)
		b.ReportMetric(time.Since(begin).Seconds(), "s-all")
		slices.Sort(took)
		b.ReportMetric(float64(took[sends/2].Milliseconds()), "ms-median")
		b.ReportMetric(float64(took[sends*99/100].Milliseconds()), "ms-p99")
	}
	b.ReportMetric(0, "ns/op")
}

// atOnce asks for n sends at the same time; each has to be answered with 200.
func (r *station) atOnce(b *testing.B, n int) []time.Duration {
	b.Helper()
	took := make([]time.Duration, n)
	var wait sync.WaitGroup
	for i := range n {
		wait.Go(func() {
			begin := time.Now()
			k := i % len(r.names)
			err := r.api.Call(context.Background(), consumer.Bearer(r.tokens[k]), http.MethodPost, "/instance/"+r.names[k]+"/send/text", map[string]any{
				"number": fmt.Sprintf("4917699%06d", i+1), "textMessage": map[string]any{"text": "hello"},
			}, nil)
			if err != nil {
				b.Error(err)
			}
			took[i] = time.Since(begin)
		})
	}
	wait.Wait()
	return took
}

// BenchmarkLargeVideo reports how much the resident memory of the process
// grows while a video of 64 MB is sent. The network and, for the URL, the
// video's server stream from elsewhere or from nothing.
func BenchmarkLargeVideo(b *testing.B) {
	const videoSize = 64 << 20
	for name, send := range videoSends() {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				r := newStation(b)
				r.pair(b)
				debug.FreeOSMemory() // what came before is not to be reused unseen
				base := residentMB(b, os.Getpid(), "VmRSS:")
				top := highest(b, func() { send(r, b, videoSize) })
				b.ReportMetric(top-base, "MB-growth")
			}
			b.ReportMetric(0, "ns/op")
		})
	}
}

// BenchmarkLargeVideosAtOnce reports how much the resident memory of the
// process grows while eight clients send a video of 90 MB each at once.
func BenchmarkLargeVideosAtOnce(b *testing.B) {
	const clients, size = 8, 90 << 20
	for name, send := range videoSends() {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				r := newStation(b)
				r.pair(b)
				debug.FreeOSMemory()
				base := residentMB(b, os.Getpid(), "VmRSS:")
				top := highest(b, func() {
					var wait sync.WaitGroup
					for range clients {
						wait.Go(func() { send(r, b, size) })
					}
					wait.Wait()
				})
				b.ReportMetric(top-base, "MB-growth")
			}
			b.ReportMetric(0, "ns/op")
		})
	}
}

// videoSends returns the ways to send a video of some bytes.
func videoSends() map[string]func(*station, *testing.B, int) {
	return map[string]func(*station, *testing.B, int){"multipart": (*station).videoAsForm, "url": (*station).videoByURL}
}

// highest returns the most that the process had resident while fn ran.
func highest(b *testing.B, fn func()) (top float64) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		fn()
	}()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for {
		top = max(top, residentMB(b, os.Getpid(), "VmRSS:"))
		select {
		case <-done:
			return top
		case <-tick.C:
		}
	}
}

// video begins as an MP4 file does and continues with zeros.
func video(w io.Writer, size int) error {
	const head = "\x00\x00\x00\x18ftypmp42\x00\x00\x00\x00mp42isom"
	if _, err := io.WriteString(w, head); err != nil {
		return err
	}
	zeros := make([]byte, 64<<10)
	for left := size - len(head); left > 0; left -= len(zeros) {
		if _, err := w.Write(zeros[:min(left, len(zeros))]); err != nil {
			return err
		}
	}
	return nil
}

func (r *station) videoAsForm(b *testing.B, size int) {
	reader, writer := io.Pipe()
	form := multipart.NewWriter(writer)
	go func() { _ = writer.CloseWithError(writeVideoForm(form, size)) }()
	req, err := http.NewRequestWithContext(b.Context(), http.MethodPost, r.api.Base+"/instance/i1/send/media-file", reader)
	if err != nil {
		b.Error(err)
		return
	}
	req.Header.Set("Content-Type", form.FormDataContentType())
	req.Header.Set("Authorization", "Bearer "+r.tokens[0])
	resp, err := r.api.HTTP.Do(req)
	if err != nil {
		b.Error(err)
		return
	}
	defer func() { _ = resp.Body.Close() }()
	if body, _ := io.ReadAll(resp.Body); resp.StatusCode != http.StatusOK || !strings.Contains(string(body), fmt.Sprintf(`"fileLength":"%d"`, size)) {
		b.Errorf("%d %s", resp.StatusCode, body)
	}
}

func writeVideoForm(form *multipart.Writer, size int) error {
	for name, value := range map[string]string{"number": "4917699000001", "mediaType": "video"} {
		if err := form.WriteField(name, value); err != nil {
			return err
		}
	}
	part, err := form.CreateFormFile("attachment", "film.mp4")
	if err != nil {
		return err
	}
	if err := video(part, size); err != nil {
		return err
	}
	return form.Close()
}

func (r *station) videoByURL(b *testing.B, size int) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _ = video(w, size) }))
	defer server.Close()
	err := r.api.Call(b.Context(), consumer.Bearer(r.tokens[0]), http.MethodPost, "/instance/i1/send/media", map[string]any{
		"number": "4917699000001", "mediaMessage": map[string]any{"mediatype": "video", "media": server.URL},
	}, nil)
	if err != nil {
		b.Error(err)
	}
}
