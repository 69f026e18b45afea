package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"postern/app"
	"postern/cli/consumer"
	"postern/config"
	"postern/event"
	"postern/httpapi/tokens"
	"postern/internal/plural"
	"postern/sandbox"
)

const (
	demoItems       = 40
	demoStepTimeout = 30 * time.Second // for any one step
)

// demoCommand is `postern demo`: the whole program on real input, in a temporary
// folder, with the sandbox in place of WhatsApp. It uses the HTTP API only, as
// a user would.
func demoCommand() *cobra.Command {
	var keep bool
	c := &cobra.Command{
		Use:     "demo [--keep]",
		Short:   "show the main job: sandbox, two paired instances, a batch, the webhooks as they arrive",
		Long:    "It works in a temporary folder and leaves nothing behind.",
		Example: "postern demo\npostern demo --keep",
		RunE:    func(c *cobra.Command, _ []string) error { return demo(c.Context(), keep, c.OutOrStdout()) },
	}
	c.Flags().BoolVar(&keep, "keep", false, "go on running at the end, and print what to try")
	return c
}

func demo(ctx context.Context, keep bool, out io.Writer) error {
	folder, err := os.MkdirTemp("", "postern-demo-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)

	d := &demoRun{out: out, counts: map[string]int{}, changed: make(chan struct{})}
	return d.run(ctx, folder, keep)
}

// demoRun is one run of the demo with its results.
type demoRun struct {
	out io.Writer
	app *app.App
	api *consumer.Client
	key consumer.Credential

	mu        sync.Mutex
	counts    map[string]int  // webhooks by event
	latencies []time.Duration // from the commit to the receipt
	online    int
	answers   int // texts that arrived for an instance
	batch     map[string]any
	changed   chan struct{} // closed and replaced when any of these changed
}

func (d *demoRun) run(ctx context.Context, folder string, keep bool) (err error) {
	hook, stopHook, err := d.receive(ctx)
	if err != nil {
		return err
	}
	defer stopHook()
	cfg := demoConfig(folder, hook)
	sec := config.NewSecrets()
	d.app, err = app.Start(ctx, cfg, sec, slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError})))
	if err != nil {
		return err
	}
	d.app.GatherSupport(gatherFor(d.app, sec))
	defer func() {
		stopCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cfg.Server.ShutdownTimeout)
		defer cancel()
		err = errors.Join(err, d.app.Stop(stopCtx))
	}()
	d.api, d.key = consumer.NewClient(d.app.URL()), consumer.Key(sec.GlobalAuthToken)
	d.say("Postern is at %s, its data in %s, the sandbox in place of WhatsApp.", d.app.URL(), folder)

	paired, err := d.pair(ctx, "red", "blue")
	if err != nil {
		return err
	}
	if err := d.chat(ctx, paired["red"]); err != nil {
		return err
	}
	user, err := tokens.ForUser([]byte(sec.JWTSecret), uuid.New(), 24*time.Hour, time.Now())
	if err != nil {
		return err
	}
	if err := d.campaign(ctx, sec.GlobalAuthToken, "red"); err != nil {
		return err
	}
	recipients, err := d.send(ctx, user, "red", "blue")
	if err != nil {
		return err
	}
	d.settle(ctx)
	if err := d.summary(recipients); err != nil {
		return err
	}
	if keep {
		d.invite(sec.GlobalAuthToken, paired["red"], user)
		<-ctx.Done()
	}
	return nil
}

func demoConfig(folder, hook string) *config.Config {
	c := config.Default()
	c.Server.Listen = "127.0.0.1:0"
	c.Store.Path = filepath.Join(folder, "postern.db")
	c.Webhook.GlobalURL, c.Webhook.GlobalEnabled = hook, true
	c.Sandbox.Enabled, c.Sandbox.Path = true, filepath.Join(folder, "sandbox.db")
	return c
}

// receive starts the receiver of the webhooks.
func (d *demoRun) receive(ctx context.Context) (url string, stop func(), err error) {
	l, err := listenTCP(ctx, "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	var served sync.WaitGroup
	receiving, cancel := context.WithCancel(context.WithoutCancel(ctx))
	served.Go(func() { _ = serveUntil(receiving, l, consumer.Receive(http.StatusOK, d.got)) })
	return "http://" + l.Addr().String() + "/", func() { cancel(); served.Wait() }, nil
}

// got prints one webhook and records data for the summary.
func (d *demoRun) got(r consumer.Webhook) {
	var e struct {
		Data      json.RawMessage `json:"data"`
		Timestamp event.Time      `json:"timestamp"`
	}
	if err := json.Unmarshal(r.Body, &e); err != nil {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	line := webhookLine(r)
	d.counts[r.Event]++
	d.latencies = append(d.latencies, max(0, r.At.Sub(e.Timestamp.Time)))
	if strings.HasPrefix(r.Event, "message.batch.") {
		line += d.noteBatch(e.Data)
	} else {
		d.noteInstance(event.Kind(r.Event), e.Data)
	}
	fmt.Fprintln(d.out, line)
	close(d.changed)
	d.changed = make(chan struct{})
}

func (d *demoRun) noteInstance(kind event.Kind, data json.RawMessage) {
	var fields struct {
		Type      event.ConnectionType `json:"type"`
		KeyFromMe bool                 `json:"keyFromMe"`
	}
	if json.Unmarshal(data, &fields) != nil {
		return
	}
	if kind == event.ConnectionUpdated && fields.Type == event.TypeConnected {
		d.online++
	}
	if kind == event.MessagesUpsert && !fields.KeyFromMe {
		d.answers++
	}
}

// noteBatch keeps the newest state of the batch and returns a progress bar.
func (d *demoRun) noteBatch(data json.RawMessage) string {
	var fields struct{ Batch map[string]any }
	if json.Unmarshal(data, &fields) != nil || fields.Batch == nil {
		return ""
	}
	d.batch = fields.Batch
	percent, _ := fields.Batch["progress"].(float64)
	const width = 20
	full := int(percent) * width / 100
	return fmt.Sprintf("  [%s%s] %3.0f %%", strings.Repeat("#", full), strings.Repeat("-", width-full), percent)
}

// until waits for a condition on the received webhooks.
func (d *demoRun) until(ctx context.Context, what string, ok func() bool) error {
	ctx, cancel := context.WithTimeoutCause(ctx, demoStepTimeout, fmt.Errorf("%s: not within %v", what, demoStepTimeout))
	defer cancel()
	for {
		d.mu.Lock()
		done, changed := ok(), d.changed
		d.mu.Unlock()
		if done {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// settle waits until no webhook has come for a moment: the last receipts are
// still on their way when the batch is done.
func (d *demoRun) settle(ctx context.Context) {
	const quiet = 300 * time.Millisecond
	for {
		d.mu.Lock()
		changed := d.changed
		d.mu.Unlock()
		select {
		case <-changed:
		case <-time.After(quiet):
			return
		case <-ctx.Done():
			return
		}
	}
}

func (d *demoRun) say(format string, args ...any) {
	d.mu.Lock()
	defer d.mu.Unlock()
	fmt.Fprintf(d.out, "\n"+format+"\n", args...)
}

// pair creates the instances and connects them; the sandbox's phones scan the
// codes. It returns their tokens.
func (d *demoRun) pair(ctx context.Context, names ...string) (map[string]string, error) {
	d.say("Two instances pair by QR code; simulated phones scan.")
	tokens := map[string]string{}
	for _, name := range names {
		var created struct{ Auth struct{ Token string } }
		err := d.api.Call(ctx, d.key, http.MethodPost, "/instance", map[string]any{"instanceName": name}, &created)
		if err != nil {
			return nil, err
		}
		tokens[name] = created.Auth.Token
		if err := d.api.Call(ctx, consumer.Bearer(created.Auth.Token), http.MethodPost, "/instance/"+name+"/connect", nil, nil); err != nil {
			return nil, err
		}
	}
	return tokens, d.until(ctx, "pairing", func() bool { return d.online >= len(names) })
}

// demoContact is a number of the sandbox's network; it answers texts that
// begin with "echo ".
const demoContact = "4915550001001"

func (d *demoRun) chat(ctx context.Context, token string) error {
	d.say("A contact is written to and answers.")
	text := map[string]any{"number": demoContact, "textMessage": map[string]any{"text": "echo Nice to meet you."}}
	if err := d.api.Call(ctx, consumer.Bearer(token), http.MethodPost, "/instance/red/send/text", text, nil); err != nil {
		return err
	}
	return d.until(ctx, "the contact's answer", func() bool { return d.answers > 0 })
}

// send runs the batch and returns its recipients.
func (d *demoRun) send(ctx context.Context, user string, instances ...string) ([]string, error) {
	d.say("A batch of %d texts over both instances.", demoItems)
	recipients := make([]string, demoItems)
	for i := range recipients {
		recipients[i] = fmt.Sprintf("491555100%04d", i+1)
	}
	request := map[string]any{
		"name": "spring", "instances": instances, "recipients": recipients,
		"message": map[string]any{"type": "text", "payload": map[string]any{"text": "Spring is here."}},
		"options": map[string]any{"delay": map[string]any{"minMs": 20, "maxMs": 60}},
	}
	var made createdBatch
	if err := d.api.Call(ctx, consumer.Bearer(user), http.MethodPost, "/message/batches", request, &made); err != nil {
		return nil, err
	}
	return recipients, d.until(ctx, "the end of the batch", d.ended(made))
}

// ended returns a condition that is true when a batch has ended.
func (d *demoRun) ended(b createdBatch) func() bool {
	return func() bool {
		status, _ := d.batch["status"].(string)
		return d.batch["id"] == b.ID && strings.HasPrefix(status, string(event.BatchIsCompleted))
	}
}

// demoPeople is the file of a campaign.
const demoPeople = "number,externalId,name,due\n4915552000001,c-1,Ana,3 May\n4915552000002,c-2,Bruno,4 May\n4915552000003,c-3,,5 May\n"

// campaign sends a text with variables to the rows of a file, as `postern batch` does.
func (d *demoRun) campaign(ctx context.Context, key, instance string) error {
	o := createBatchOptions{template: "Hello {{name|there}}, your order is ready on {{due}}.", instances: []string{instance}}
	d.say("A campaign from a spreadsheet: postern batch create people.csv --instance %s --template '%s'", instance, o.template)
	p := program{base: d.app.URL(), key: key}
	p.url, p.way = reach(p.base, false)
	p, err := p.as(ctx, commandUser)
	if err != nil {
		return err
	}
	plan, err := o.plan("people.csv")
	if err != nil {
		return err
	}
	made, err := p.createBatch(ctx, plan, "", strings.NewReader(demoPeople))
	if err != nil {
		return err
	}
	if err := d.until(ctx, "the end of the campaign", d.ended(made)); err != nil {
		return err
	}
	return d.received(ctx, demoPeople, o.template)
}

// received prints what the phones of a file received, and compares it with the template. A message is
// acknowledged before the phone has decrypted it.
func (d *demoRun) received(ctx context.Context, file, template string) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	d.say("What the phones of the campaign received")
	for _, row := range strings.Split(strings.TrimSpace(file), "\n")[1:] {
		cells := strings.Split(row, ",")
		phone, ok := d.app.Phone(cells[0])
		if ok {
			_, _ = phone.WaitReceived(ctx, func(sandbox.Received) bool { return true })
		}
		if !ok || len(phone.Received()) != 1 {
			return fmt.Errorf("the phone %s has not received one message", cells[0])
		}
		got := phone.Received()[0].Text
		fmt.Fprintf(d.out, "  %s  %s\n", cells[0], got)
		want := strings.NewReplacer("{{name|there}}", cmp.Or(cells[2], "there"), "{{due}}", cells[3]).Replace(template)
		if got != want {
			return fmt.Errorf("the phone %s received %q instead of %q", cells[0], got, want)
		}
	}
	return nil
}

// summary compares what was sent with what the phones decrypted.
func (d *demoRun) summary(recipients []string) error {
	decrypted, twice := 0, 0
	for _, number := range recipients {
		phone, ok := d.app.Phone(number)
		if !ok {
			continue
		}
		received := phone.Received()
		if len(received) > 0 {
			decrypted++
		}
		if len(received) > 1 {
			twice++
		}
	}
	d.say("Summary")
	d.mu.Lock()
	defer d.mu.Unlock()
	counts, _ := d.batch["counts"].(map[string]any)
	fmt.Fprintf(d.out, "  batch        %v: %v sent, %v failed, %v unknown\n", d.batch["status"], counts["success"], counts["failed"], counts["unknown"])
	fmt.Fprintf(d.out, "  phones       %d of %d decrypted the text, %d of them more than once\n", decrypted, len(recipients), twice)
	slices.Sort(d.latencies)
	n := len(d.latencies)
	fmt.Fprintf(d.out, "  deliveries   %s; from commit to receipt: median %v, slowest %v\n", plural.Of(n, "webhook"),
		d.latencies[n/2].Round(time.Millisecond/10), d.latencies[n-1].Round(time.Millisecond/10))
	for _, row := range event.Catalogue() {
		if c := d.counts[string(row.Kind)]; c > 0 {
			fmt.Fprintf(d.out, "  %-36s %4d\n", row.Kind, c)
		}
	}
	if decrypted != len(recipients) || twice > 0 {
		return fmt.Errorf("%d of %d phones decrypted the text, %d more than once", decrypted, len(recipients), twice)
	}
	return nil
}

// invite prints what to try while the demo continues to run.
func (d *demoRun) invite(key, instanceToken, user string) {
	d.say("Still running; stop with Ctrl-C. Try:")
	fmt.Fprintf(d.out, `
  API=%s
  KEY=%s
  TOKEN=%s
  USER_TOKEN=%s

  curl -s $API/instance -H "apikey: $KEY"
  curl -s $API/instance/red/connection/status -H "Authorization: Bearer $TOKEN"
  curl -s -X POST $API/instance/red/send/text -H "Authorization: Bearer $TOKEN" \
    --json '{"number":"%s","textMessage":{"text":"echo hello"}}'
  curl -s $API/message/batches -H "Authorization: Bearer $USER_TOKEN"
  curl -s $API/sandbox/phones -H "apikey: $KEY"
`, d.app.URL(), key, instanceToken, user, demoContact)
}
