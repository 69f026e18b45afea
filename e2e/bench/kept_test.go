package bench

import (
	"bufio"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"postern/app"
	"postern/cli/consumer"
	"postern/event"
	"postern/instance"
	"postern/media/kept"
	"postern/messages"
	"postern/store"
)

const (
	keptFiles    = 10_000
	keptFileSize = 1 << 20
)

// BenchmarkKeptFiles starts a program with 10 000 kept files of 1 MiB, lists them, and gets
// one of them after the other beside http.ServeContent in a process of its own, which
// serves the same files; the two take turns. The files are links to one: they share their bytes on the
// disk and in the system's memory.
func BenchmarkKeptFiles(b *testing.B) {
	for b.Loop() {
		folder := b.TempDir()
		env := []string{"MEDIA_STORE_KIND=local", "MEDIA_STORE_PATH=" + filepath.Join(folder, "kept"), "MEDIA_STORE_MAX_BYTES=0", "MEDIA_STORE_RETENTION=0"}
		p := serve(b, folder, env...)
		shop := p.instance(b, "shop")
		p.stop()
		fillKept(b, folder)
		var started []time.Duration
		for range 3 {
			begin := time.Now()
			p = serve(b, folder, env...)
			started = append(started, time.Since(begin))
			if len(started) < 3 {
				p.stop()
			}
		}
		b.ReportMetric(percentile(started, 0.5).Seconds(), "s-start")
		const path = "/instance/shop/media/files?limit="
		p.measure(b, shop, list{"100", http.MethodGet, path + "100", nil}, list{"200-stored", http.MethodGet, path + "200&state=STORED", nil}, list{"200-failed", http.MethodGet, path + "200&state=FAILED", nil})
		p.getKept(b, shop, filepath.Join(folder, "kept", "1"))
		p.end()
	}
	b.ReportMetric(0, "ns/op")
}

// fillKept stores messages with kept files.
func fillKept(b *testing.B, folder string) {
	b.Helper()
	s, err := store.Open(store.Options{Path: filepath.Join(folder, "p.db"), Buckets: app.Buckets(), NoSync: true})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	archive, err := messages.Open(b.Context(), messages.Config{Store: s, Owner: instance.There, SaveMessages: true})
	if err != nil {
		b.Fatal(err)
	}
	defer archive.Close()
	dir := filepath.Join(folder, "kept", "1")
	content := randomBytes(keptFileSize)
	sum := sha256.Sum256(content)
	about, _ := json.Marshal(map[string]any{"mimetype": "image/jpeg", "fileLength": strconv.Itoa(len(content)), "fileSha256": sum[:], "directPath": "/v/x"})
	mark, err := os.ReadFile(filepath.Join(folder, "kept", ".postern"))
	if err == nil {
		err = os.MkdirAll(dir, 0o700)
	}
	first := filepath.Join(folder, "first")
	for name, raw := range map[string][]byte{first: content, filepath.Join(dir, ".postern"): mark} {
		if err == nil {
			err = os.WriteFile(name, raw, 0o600)
		}
	}
	if err != nil {
		b.Fatal(err)
	}
	for done := 0; done < keptFiles; done += 500 {
		var ids []int64
		err := s.Update(b.Context(), func(tx *store.Tx) error {
			ids = nil
			for i := range 500 {
				at := tx.Now().Add(time.Duration(done+i-keptFiles) * time.Second)
				chat := fmt.Sprintf("49%010d@s.whatsapp.net", i)
				id, err := archive.StoreMessage(tx, 1, &event.Message{KeyID: fmt.Sprintf("K%d", done+i), KeyRemoteJID: &chat, MessageType: "imageMessage", Content: about, MessageTimestamp: at.Unix()})
				if err == nil {
					err = store.PutJSON(tx, "media_file", store.Key(int64(1), id), kept.Record{State: kept.Stored, Size: keptFileSize, Type: "image/jpeg", StoredAt: event.At(at), Attempts: 1, Since: at.UnixMilli()})
				}
				if err == nil {
					err = tx.Put("media_file_old", store.Key(int64(1), event.At(at).UnixMilli(), id), nil)
				}
				if err != nil {
					return err
				}
				ids = append(ids, id)
			}
			return nil
		})
		for _, id := range ids {
			if err == nil {
				err = os.Link(first, filepath.Join(dir, strconv.FormatInt(id, 10)))
			}
		}
		if err != nil {
			b.Fatal(err)
		}
	}
}

func randomBytes(n int) []byte {
	content := make([]byte, n)
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range content {
		content[i] = byte(rng.Uint32())
	}
	return content
}

// getKept reports how many files a second are served, as a part of what http.ServeContent
// serves, alone and with eight requests at once, and when their first bytes come.
func (p process) getKept(b *testing.B, by consumer.Credential, dir string) {
	b.Helper()
	reference := startReference(b, dir)
	ids, err := filepath.Glob(filepath.Join(dir, "[0-9]*"))
	if err != nil || len(ids) != keptFiles {
		b.Fatal(len(ids), err)
	}
	ours := func(id string) string { return p.api.Base + "/instance/shop/messages/" + id + "/media" }
	theirs := func(id string) string { return reference + "/" + id }
	for _, at := range []int{1, 8} {
		var ratios []float64
		var first []time.Duration
		for round := range 30 {
			var took [2]time.Duration
			for i, url := range []func(string) string{ours, theirs} {
				if round%2 == 1 { // in turns
					i, url = 1-i, []func(string) string{ours, theirs}[1-i]
				}
				begin := time.Now()
				got := getAll(b, by, at, func(n int) string { return url(filepath.Base(ids[(round*64+n)%len(ids)])) })
				took[i] = time.Since(begin)
				if i == 0 {
					first = append(first, got...)
				}
			}
			ratios = append(ratios, took[1].Seconds()/took[0].Seconds())
		}
		slices.Sort(ratios)
		b.ReportMetric(ratios[len(ratios)/2], fmt.Sprintf("x-ServeContent-%d", at))
		b.ReportMetric(ms(percentile(first, 0.5)), fmt.Sprintf("ms-first-byte-%d", at))
		b.ReportMetric(ms(percentile(first, 0.99)), fmt.Sprintf("p99-ms-first-byte-%d", at))
	}
}

// startReference starts http.ServeContent and returns its address.
func startReference(b *testing.B, dir string) string {
	b.Helper()
	self, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), asReference+"="+dir)
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		b.Fatal(err)
	}
	return "http://" + strings.TrimSpace(line)
}

// getAll gets 64 files, so many at once, and returns when their first bytes came.
func getAll(b *testing.B, by consumer.Credential, at int, url func(n int) string) (first []time.Duration) {
	b.Helper()
	var mu sync.Mutex
	var work sync.WaitGroup
	next := 0
	for range at {
		work.Go(func() {
			for {
				mu.Lock()
				n := next
				next++
				mu.Unlock()
				if n >= 64 {
					return
				}
				took, err := getOne(b, by, url(n))
				if err != nil {
					b.Error(err)
					return
				}
				mu.Lock()
				first = append(first, took)
				mu.Unlock()
			}
		})
	}
	work.Wait()
	return first
}

func getOne(b *testing.B, by consumer.Credential, url string) (first time.Duration, err error) {
	req, err := http.NewRequestWithContext(b.Context(), http.MethodGet, url, nil)
	if err != nil {
		return 0, err
	}
	req.Header.Set(by.Name, by.Value)
	begin := time.Now()
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err
	}
	defer res.Body.Close()
	_, err = io.ReadFull(res.Body, make([]byte, 1))
	first = time.Since(begin)
	if err != nil {
		return 0, err
	}
	n, err := io.Copy(io.Discard, res.Body)
	if err == nil && (n != keptFileSize-1 || res.StatusCode != http.StatusOK) {
		err = fmt.Errorf("%d, %d bytes", res.StatusCode, n)
	}
	return first, err
}
