package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"postern/peers"
)

// maxWebhook bounds one received webhook: a message with a large thumbnail is
// far below it.
const maxWebhook = 64 << 20

// listen is `postern listen`: a receiver that prints one line a webhook.
func listen(ctx context.Context, args []string, out io.Writer) error {
	var addr string
	var status int
	err := parseFlags("listen", args, out, func(fs *flag.FlagSet) {
		fs.StringVar(&addr, "addr", "127.0.0.1:9090", "`ADDR` to listen on")
		fs.IntVar(&status, "status", http.StatusOK, "`CODE` to answer with")
	})
	if err != nil {
		return err
	}
	if status < 200 || status > 599 {
		return usageError{errors.New("--status must be from 200 to 599")}
	}
	l, err := listenTCP(ctx, addr)
	if err != nil {
		return fmt.Errorf("%w; choose another --addr", err)
	}
	fmt.Fprintf(out, "receiving webhooks at http://%s/ and answering %d; stop with Ctrl-C\n", l.Addr(), status)
	printer := &webhookPrinter{out: out}
	return serveUntil(ctx, l, receiver(status, printer.print))
}

// serveUntil serves h on l until ctx ends.
func serveUntil(ctx context.Context, l net.Listener, h http.Handler) error {
	srv := &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second}
	stopped := context.AfterFunc(ctx, func() { _ = srv.Close() })
	defer stopped()
	limited := peers.Listen(l, peers.Limits{Total: clientConnections(peers.Descriptors(), ownDescriptors)})
	if err := limited.Serve(srv); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// received is one webhook as it came in.
type received struct {
	at       time.Time
	event    string // from the header
	instance string // from the header, empty for batch events
	body     []byte
}

// receiver answers every POST with status after handing it to got, which must
// be safe for concurrent use.
func receiver(status int, got func(received)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxWebhook))
		if err != nil || r.Method != http.MethodPost {
			http.Error(w, "send webhooks with POST", http.StatusMethodNotAllowed)
			return
		}
		got(received{time.Now(), r.Header.Get("x-webhook-event"), r.Header.Get("x-instance-name"), body})
		w.WriteHeader(status)
	})
}

// webhookPrinter writes webhooks as readable lines.
type webhookPrinter struct {
	mu  sync.Mutex
	out io.Writer
}

func (p *webhookPrinter) print(r received) {
	p.mu.Lock()
	defer p.mu.Unlock()
	fmt.Fprintln(p.out, webhookLine(r))
}

// webhookLine is one webhook in one line: time, event, instance or batch, and
// the fields that tell what happened.
func webhookLine(r received) string {
	var e struct {
		Instance *struct {
			Name             string `json:"name"`
			ConnectionStatus string `json:"connectionStatus"`
		} `json:"instance"`
		Data json.RawMessage `json:"data"`
	}
	who, what := r.instance, ""
	if err := json.Unmarshal(r.body, &e); err != nil {
		what = fmt.Sprintf("not JSON: %.60q", r.body)
	} else {
		if e.Instance != nil {
			who = e.Instance.Name
		}
		batch, fields := telling(e.Data)
		if e.Instance == nil {
			who = batch
		}
		what = fields
	}
	return fmt.Sprintf("%s  %-36s %-12s %s", r.at.Format("15:04:05.000"), r.event, who, what)
}

// tellingFields are the fields of data worth a line, in order.
var tellingFields = []string{
	"type", "status", "progress", "connection", "statusReason", "messageType", "text", "keyFromMe",
	"keyRemoteJid", "messageId", "count", "expiresInSeconds", "recipient", "code", "message",
}

// telling returns the batch that data speaks of and its telling fields.
func telling(data json.RawMessage) (batch, fields string) {
	var d map[string]any
	if json.Unmarshal(data, &d) != nil {
		return "", string(bytes.TrimSpace(data))
	}
	if b, ok := d["batch"].(map[string]any); ok {
		d = b
		batch, _ = d["name"].(string)
	} else if id, ok := d["batchId"].(string); ok {
		batch = id
	}
	if content, ok := d["content"].(map[string]any); ok {
		d["text"] = content["text"]
	}
	if e, ok := d["error"].(map[string]any); ok {
		d["code"], d["message"] = e["code"], e["message"]
	}
	var b strings.Builder
	for _, name := range tellingFields {
		switch v := d[name].(type) {
		case string:
			fmt.Fprintf(&b, "%s=%s ", name, shorten(v))
		case float64, bool:
			fmt.Fprintf(&b, "%s=%v ", name, v)
		}
	}
	return batch, strings.TrimSpace(b.String())
}

// shorten keeps lines readable: QR texts are long.
func shorten(s string) string {
	const most = 40
	if r := []rune(s); len(r) > most {
		s = string(r[:most]) + "…"
	}
	return s
}

func listenTCP(ctx context.Context, addr string) (net.Listener, error) {
	return (&net.ListenConfig{}).Listen(ctx, "tcp", addr)
}
