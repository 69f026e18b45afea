package sandbox

import (
	"context"
	"slices"
)

// messageActs are the acts of a phone that writes and reads.
func messageActs() []act {
	return []act{
		row("text", "the phone sends a text", actText),
		row("receipt", "the phone tells an account that its messages were delivered, read or played", actReceipt),
	}
}

type textFields struct {
	To   string `json:"to" help:"the account to write to: a number or an address"`
	Text string `json:"text" help:"the text"`
}

func actText(ctx context.Context, _ *Server, p *Phone, f textFields) (any, error) {
	to, err := address("to", f.To)
	if err != nil {
		return nil, err
	}
	if f.Text == "" {
		return nil, invalidField("text", "is missing")
	}
	id, err := p.SendText(ctx, to, f.Text)
	return map[string]string{"id": id}, err
}

type receiptFields struct {
	To   string   `json:"to" help:"the account that sent the messages: a number or an address"`
	IDs  []string `json:"ids" help:"the message ids"`
	Type string   `json:"type" help:"delivery (default), read, played, inactive or server-error"`
}

func actReceipt(ctx context.Context, _ *Server, p *Phone, f receiptFields) (any, error) {
	to, err := address("to", f.To)
	if err != nil {
		return nil, err
	}
	if len(f.IDs) == 0 || slices.Contains(f.IDs, "") {
		return nil, invalidField("ids", "has to name messages")
	}
	kind := f.Type
	switch kind {
	case "", "delivery":
		kind = ""
	case "read", "played", "inactive", "server-error":
	default:
		return nil, invalidField("type", "is not one of delivery, read, played, inactive, server-error")
	}
	return nil, p.SendReceipt(ctx, to, kind, f.IDs...)
}
