package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"postern/app"
	"postern/cli/consumer"
	"postern/internal/peers"
)

// listenCommand is `postern listen`: a receiver that prints one line a webhook.
func listenCommand() *cobra.Command {
	var addr string
	var secrets []string
	var plan listenPlan
	c := &cobra.Command{
		Use:   "listen [--addr ADDR] [--status CODE] [--verify SECRET] [--fail N] [--slow TIME]",
		Short: "receive webhooks and print them",
		Long: "Answers each webhook with the status. --verify answers 401 to wrong signatures and prints the reason. --fail\n" +
			"answers 503 to the first N, so that retries can be observed; --slow delays each answer, and the sender times out\n" +
			"after 15 seconds by default. A summary is printed at the end.",
		Example: "postern listen\npostern listen --addr :9090 --status 503\npostern listen --fail 3 --slow 500ms\n" +
			"postern listen --verify whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=",
		RunE: func(c *cobra.Command, _ []string) error {
			return listen(c.Context(), addr, secrets, plan, c.OutOrStdout())
		},
	}
	f := c.Flags()
	f.StringVar(&addr, "addr", "127.0.0.1:9090", "`ADDR` to listen on")
	f.IntVar(&plan.status, "status", http.StatusOK, "`CODE` to answer with")
	f.StringArrayVar(&secrets, "verify", nil, "signing `SECRET` to require, whsec_...; may be repeated")
	f.DurationVar(&plan.tolerance, "tolerance", consumer.Tolerance, "maximum `TIME` between a signature and the clock")
	f.IntVar(&plan.fail, "fail", 0, "`N` first webhooks to refuse with 503")
	f.DurationVar(&plan.slow, "slow", 0, "`TIME` to wait before each answer")
	noFiles(c, "addr", "status", "verify", "tolerance", "fail", "slow")
	return c
}

func listen(ctx context.Context, addr string, secrets []string, plan listenPlan, out io.Writer) error {
	if err := plan.validate(); err != nil {
		return usageError{err}
	}
	for _, text := range secrets {
		s, err := consumer.ParseSecret(text)
		if err != nil {
			return usageError{fmt.Errorf("--verify: %w", err)}
		}
		plan.secrets = append(plan.secrets, s)
	}
	l, err := listenTCP(ctx, addr)
	if err != nil {
		return fmt.Errorf("%w; choose another --addr", err)
	}
	fmt.Fprintf(out, "receiving webhooks at http://%s/ and answering %s; stop with Ctrl-C\n", l.Addr(), plan)
	to := &listener{plan: plan, out: out}
	err = serveUntil(ctx, l, consumer.Answer(to.answer))
	to.sum()
	return err
}

// serveUntil serves h on l until ctx ends.
func serveUntil(ctx context.Context, l net.Listener, h http.Handler) error {
	srv := &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second}
	stopped := context.AfterFunc(ctx, func() { _ = srv.Close() })
	defer stopped()
	limited := peers.Listen(l, peers.Limits{Total: app.LoneConnections()})
	if err := limited.Serve(srv); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// webhookLine formats a webhook in one line: time, event, instance or batch, and
// the fields that show what happened.
func webhookLine(r consumer.Webhook) string {
	var e struct {
		Instance *struct {
			Name             string `json:"name"`
			ConnectionStatus string `json:"connectionStatus"`
		} `json:"instance"`
		Data json.RawMessage `json:"data"`
	}
	who, what := r.Instance, ""
	if err := json.Unmarshal(r.Body, &e); err != nil {
		what = fmt.Sprintf("not JSON: %.60q", r.Body)
	} else {
		if e.Instance != nil {
			who = e.Instance.Name
		}
		batch, fields := shownOf(e.Data)
		if e.Instance == nil {
			who = batch
		}
		what = fields
	}
	return fmt.Sprintf("%s  %-36s %-12s %s", r.At.Format("15:04:05.000"), r.Event, who, what)
}

// shownFields are the fields of data that are printed, in order.
var shownFields = []string{
	"type", "status", "progress", "connection", "statusReason", "messageType", "text", "keyFromMe",
	"keyRemoteJid", "messageId", "count", "expiresInSeconds", "recipient", "code", "message",
}

// shownOf returns the batch of data and its printed fields.
func shownOf(data json.RawMessage) (batch, fields string) {
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
	for _, name := range shownFields {
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
