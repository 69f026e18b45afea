package mcp

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"postern/internal/plural"
)

type startInput struct {
	Instances  []string `json:"instances" jsonschema:"names of the sending instances; each message is sent by one of them"`
	Recipients []string `json:"recipients" jsonschema:"phone numbers with country code"`
	Text       string   `json:"text" jsonschema:"the message, the same for all recipients but for its variables"`
	Name       string   `json:"name,omitempty" jsonschema:"name of the batch; defaults to the beginning of its text"`

	Variables []map[string]string `json:"variables,omitempty" jsonschema:"an object for each recipient, in the same order: its values of {{name}} in text; {{name|there}} has a fallback"`
}

// recipients returns what the API takes: numbers, or objects if there are variables.
func (in startInput) recipients() (any, error) {
	switch len(in.Variables) {
	case 0:
		return in.Recipients, nil
	case len(in.Recipients):
	default:
		return nil, fmt.Errorf("variables must have an entry for each of the %s, not %d", plural.Of(len(in.Recipients), "recipient"), len(in.Variables))
	}
	all := make([]map[string]any, len(in.Recipients))
	for i, number := range in.Recipients {
		all[i] = map[string]any{"number": number, "variables": in.Variables[i]}
	}
	return all, nil
}

type batchInput struct {
	ID string `json:"id" jsonschema:"id of the batch, from start_batch"`
}

// Batch is the result of start_batch and get_batch.
type Batch struct {
	ID        string `json:"id"`
	Name      string `json:"name"`
	Status    string `json:"status" jsonschema:"DRAFT: nothing is sent until a person starts it"`
	Progress  int    `json:"progress" jsonschema:"percent"`
	Counts    Counts `json:"counts" jsonschema:"of its recipients"`
	CreatedAt string `json:"createdAt"`
}

// Counts are the recipients of a batch by status.
type Counts struct {
	Total   int `json:"total"`
	Pending int `json:"pending"`
	Sending int `json:"sending"`
	Success int `json:"success"`
	Failed  int `json:"failed"`
	Skipped int `json:"skipped"`
	Unknown int `json:"unknown" jsonschema:"outcome unknown: may or may not have arrived"`
}

func (s *Server) addBatchTools() {
	add(s, "start_batch", tool{
		"Start batch",
		"Makes a batch: one text to many recipients, which may have variables. With a key that may send, it starts at once and messages reach real people; otherwise it stays a DRAFT, which a person starts. Make one only when the user asked for it.",
		[]string{scopeBatch},
		true,
	}, func(ctx context.Context, in startInput) (Batch, []sdk.Content, error) {
		out, err := s.startBatch(ctx, in)
		return out, nil, err
	})
	add(s, "get_batch", tool{"Get batch", "Returns the progress of a batch.", []string{scopeBatch}, false},
		func(ctx context.Context, in batchInput) (Batch, []sdk.Content, error) {
			var out Batch
			err := s.ask(ctx, request{method: http.MethodGet, path: "/message/batches/" + url.PathEscape(in.ID)}, &out)
			return out, nil, err
		})
}

func (s *Server) startBatch(ctx context.Context, in startInput) (out Batch, err error) {
	recipients, err := in.recipients()
	if err != nil {
		return out, err
	}
	body := map[string]any{
		"name": cmp.Or(in.Name, clean(in.Text, 60)), "instances": in.Instances, "recipients": recipients,
		"message": map[string]any{"type": "text", "payload": textMessage{in.Text}},
		// A key that may not send one message may not create a batch.
		"autoStart": callerIn(ctx).key.missing(scopeSend) == "",
	}
	err = s.ask(ctx, request{method: http.MethodPost, path: "/message/batches", in: body, once: true}, &out)
	return out, err
}
