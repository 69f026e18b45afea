package mcp

import (
	"cmp"
	"context"
	"net/http"
	"net/url"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

type startInput struct {
	Instances  []string `json:"instances" jsonschema:"names of the sending instances; each message is sent by one of them"`
	Recipients []string `json:"recipients" jsonschema:"phone numbers with country code"`
	Text       string   `json:"text" jsonschema:"the message, the same for all recipients"`
	Name       string   `json:"name,omitempty" jsonschema:"name of the batch; defaults to the beginning of its text"`
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
		"Makes a batch: one text to many recipients. With a key that may send, it starts at once and messages reach real people; otherwise it stays a DRAFT, which a person starts. Make one only when the user asked for it.",
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
	body := map[string]any{
		"name": cmp.Or(in.Name, clean(in.Text, 60)), "instances": in.Instances, "recipients": in.Recipients,
		"message": map[string]any{"type": "text", "payload": textMessage{in.Text}},
		// A key that may not send one message may not create a batch.
		"autoStart": callerIn(ctx).key.missing(scopeSend) == "",
	}
	err = s.ask(ctx, request{method: http.MethodPost, path: "/message/batches", in: body, once: true}, &out)
	return out, err
}
