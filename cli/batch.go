package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"postern/backup"
	"postern/internal/plural"
)

// batchCommand is `postern batch`: a campaign from a spreadsheet, and its results as one.
func batchCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "batch create|report [--config FILE]",
		Short: "send a message to the rows of a spreadsheet, and read the results",
		Long: "create makes a running program send a text to each row of a CSV file, with {{name}} replaced by the column of that name.\n" +
			"report prints a row for each recipient with what became of it. The program is found by the configuration or --url.",
		Example: "postern batch create people.csv --instance shop --template 'Hello {{name|there}}, your order is ready.' --delay 1s-5s\n" +
			"postern batch report 0196f0a0-0000-7000-8000-000000000001 -o report.csv",
		// The flags belong to a subcommand: report the missing subcommand, not the flags.
		FParseErrWhitelist: cobra.FParseErrWhitelist{UnknownFlags: true},
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return errors.New("the subcommand is missing: create or report")
			}
			return fmt.Errorf("unknown subcommand %.100q: use create or report", args[0])
		},
	}
	c.AddCommand(createBatchCommand(), reportBatchCommand())
	return c
}

// commandUser is the user whose batches the commands use unless --user names another.
const commandUser = "00000000-0000-7000-8000-000000000001"

// batchPlace finds a program and a user of it.
type batchPlace struct {
	place
	user string
}

func (p *batchPlace) flags(c *cobra.Command) {
	p.place.flags(c)
	c.Flags().StringVar(&p.user, "user", commandUser, "`UUID` of the user whose batch it is")
	noFiles(c, "user")
}

// asUser returns the program that is asked for, called as the user.
func (p *batchPlace) asUser(ctx context.Context) (program, error) {
	if _, err := uuid.Parse(p.user); err != nil {
		return program{}, usageError{errors.New("--user must be a UUID")}
	}
	cfg, err := prepare(ctx, p.settings)
	if err != nil {
		return program{}, err
	}
	at, err := p.program(cfg)
	if err != nil {
		return program{}, err
	}
	return at.as(ctx, p.user)
}

// as returns the program, called as a user.
func (p program) as(ctx context.Context, user string) (program, error) {
	resp, err := p.ask(ctx, http.MethodPost, "/auth/user-token", map[string]any{"userId": user, "expiresIn": 3600})
	if err != nil {
		return program{}, err
	}
	defer func() { _ = resp.Body.Close() }()
	var issued struct{ Token string }
	if err := json.NewDecoder(io.LimitReader(resp.Body, 1<<20)).Decode(&issued); err != nil || issued.Token == "" {
		return program{}, fmt.Errorf("%s did not answer like Postern", p.base)
	}
	p.token = issued.Token
	return p, nil
}

// createBatchOptions are the flags of `postern batch create`.
type createBatchOptions struct {
	batchPlace
	template, name, delay, mapping string
	instances                      []string
	spin, dryRun                   bool
}

func createBatchCommand() *cobra.Command {
	var o createBatchOptions
	c := &cobra.Command{
		Use:   "create [--name NAME] [--delay TIME-TIME] [--spin] [--dry-run] [--mapping JSON] [--user UUID] [--url URL --key KEY] [--config FILE] --template TEXT --instance NAME FILE",
		Short: "send a text to each row of a CSV file",
		Args:  fileNeeded("a CSV file whose first row names the columns"),
		RunE: func(c *cobra.Command, args []string) error {
			return o.run(c.Context(), args[0], c.OutOrStdout(), c.ErrOrStderr())
		},
	}
	o.flags(c)
	f := c.Flags()
	f.StringVar(&o.template, "template", "", "the `TEXT`, with variables such as {{name}} or {{name|there}}")
	f.StringArrayVar(&o.instances, "instance", nil, "`NAME` of an instance that sends; may be repeated")
	f.StringVar(&o.name, "name", "", "`NAME` of the batch (default: that of the file)")
	f.StringVar(&o.delay, "delay", "", "`TIME` between two messages, or the least and the most, as 1s-5s")
	f.BoolVar(&o.spin, "spin", false, "choose one of the alternatives in texts such as {Hello|Hi} for each recipient")
	f.BoolVar(&o.dryRun, "dry-run", false, "print as JSON what would be sent, and to which numbers it could not; store and send nothing")
	f.StringVar(&o.mapping, "mapping", "", "which columns are what, as `JSON`: {\"number\":\"Phone\"} (default: number, externalId, and every other is a variable)")
	noFiles(c, "template", "instance", "name", "delay", "mapping")
	return c
}

func (o *createBatchOptions) run(ctx context.Context, path string, out, said io.Writer) error {
	plan, err := o.plan(path)
	if err != nil {
		return usageError{err}
	}
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	p, err := o.asUser(ctx)
	if err != nil {
		return err
	}
	if o.dryRun {
		resp, err := p.sendBatch(ctx, plan, o.mapping, file)
		if err != nil {
			return err
		}
		defer func() { _ = resp.Body.Close() }()
		if _, err := io.Copy(out, resp.Body); err != nil {
			return err
		}
		_, err = fmt.Fprintln(out)
		return err
	}
	made, err := p.createBatch(ctx, plan, o.mapping, file)
	if err != nil {
		return err
	}
	fmt.Fprintf(said, "%s for %s, %s ignored; its results: postern batch report %s\n", made.Status,
		plural.Of(made.Counts.Total, "recipient"), plural.Of(made.Counts.DuplicatesIgnored, "duplicate"), made.ID)
	_, err = fmt.Fprintln(out, made.ID)
	return err
}

// createdBatch is the program's answer to a creation.
type createdBatch struct {
	ID, Status string
	Counts     struct{ Total, DuplicatesIgnored int }
}

// createBatch creates a batch for the rows of a file.
func (p program) createBatch(ctx context.Context, plan []byte, mapping string, file io.Reader) (made createdBatch, err error) {
	resp, err := p.sendBatch(ctx, plan, mapping, file)
	if err != nil {
		return made, err
	}
	defer func() { _ = resp.Body.Close() }()
	if err := json.NewDecoder(io.LimitReader(resp.Body, 16<<20)).Decode(&made); err != nil {
		return made, fmt.Errorf("the batch was created, but the answer of %s is not readable: %w", p.base, err)
	}
	return made, nil
}

// sendBatch sends the rows of a file with the batch that is wanted for them.
func (p program) sendBatch(ctx context.Context, plan []byte, mapping string, file io.Reader) (*http.Response, error) {
	body, w := io.Pipe()
	form := multipart.NewWriter(w)
	go func() { w.CloseWithError(writeBatchForm(form, plan, mapping, file)) }()
	defer func() { _ = body.Close() }()
	return p.send(ctx, http.MethodPost, "/message/batches/csv", "", form.FormDataContentType(), body)
}

// plan returns the batch without its recipients.
func (o *createBatchOptions) plan(path string) ([]byte, error) {
	switch {
	case o.template == "":
		return nil, errors.New("--template is required: the text to send")
	case len(o.instances) == 0:
		return nil, errors.New("--instance is required: who sends")
	}
	least, most, err := delays(o.delay)
	if err != nil {
		return nil, err
	}
	name := o.name
	if name == "" {
		name = path[strings.LastIndexAny(path, `/\`)+1:]
	}
	return json.Marshal(map[string]any{
		"name": name, "instances": o.instances, "dryRun": o.dryRun,
		"message": map[string]any{"type": "text", "payload": map[string]any{"text": o.template}},
		"options": map[string]any{"delay": map[string]any{"minMs": least.Milliseconds(), "maxMs": most.Milliseconds()}, "spin": o.spin},
	})
}

// delays reads one duration, or two with a hyphen between them.
func delays(text string) (least, most time.Duration, err error) {
	if text == "" {
		return 0, 0, nil
	}
	first, second, both := strings.Cut(text, "-")
	if !both {
		second = first
	}
	least, err = time.ParseDuration(first)
	if err == nil {
		most, err = time.ParseDuration(second)
	}
	if err != nil || least < 0 || most < least {
		return 0, 0, fmt.Errorf("--delay must be a duration such as 2s, or the least and the most such as 1s-5s, not %.100q", text)
	}
	return least, most, nil
}

func writeBatchForm(form *multipart.Writer, plan []byte, mapping string, file io.Reader) error {
	if err := form.WriteField("batch", string(plan)); err != nil {
		return err
	}
	if mapping != "" {
		if err := form.WriteField("mapping", mapping); err != nil {
			return err
		}
	}
	part, err := form.CreateFormFile("file", "recipients.csv")
	if err == nil {
		_, err = io.Copy(part, file)
	}
	if err == nil {
		err = form.Close()
	}
	return err
}

func reportBatchCommand() *cobra.Command {
	var o batchPlace
	var path string
	c := &cobra.Command{
		Use:   "report [-o FILE] [--user UUID] [--url URL --key KEY] [--config FILE] ID",
		Short: "print what became of each recipient of a batch, as CSV",
		Args: func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				return errors.New("ID is missing: the id of the batch, as create prints it")
			}
			return operands(1)(c, args)
		},
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(c *cobra.Command, args []string) error {
			p, err := o.asUser(c.Context())
			if err != nil {
				return err
			}
			write := func(w io.Writer) error { return p.report(c.Context(), args[0], w) }
			if path == "" {
				return write(c.OutOrStdout())
			}
			return backup.WriteFile(path, write)
		},
	}
	o.flags(c)
	c.Flags().StringVarP(&path, "output", "o", "", "`FILE` to write (default: standard output)")
	return c
}

// report writes the items of a batch and their results as CSV.
func (p program) report(ctx context.Context, id string, w io.Writer) error {
	resp, err := p.ask(ctx, http.MethodGet, "/message/batches/"+url.PathEscape(id)+"/report.csv", nil)
	if r, is := errors.AsType[*refused](err); is && r.code == "BATCH_NOT_FOUND" {
		return fmt.Errorf("%w; --user names the user whose batch it is", err)
	}
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	if _, err := io.Copy(w, resp.Body); err != nil {
		return fmt.Errorf("the report from %s was truncated: %w", p.base, err)
	}
	return nil
}
