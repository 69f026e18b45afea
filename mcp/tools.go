package mcp

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/google/jsonschema-go/jsonschema"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// tool is one tool, besides its name: what a client shows of it, and what a key needs.
type tool struct {
	title  string
	text   string // for the model
	scopes []string
	writes bool // it sends, or creates something to send
}

// add gives the server a tool. do returns the result and, where there is more than
// JSON, further content.
func add[In, Out any](s *Server, name string, t tool, do func(context.Context, In) (Out, []sdk.Content, error)) {
	s.scopes[name] = t.scopes
	hints := &sdk.ToolAnnotations{Title: t.title, ReadOnlyHint: !t.writes, IdempotentHint: !t.writes}
	if !t.writes {
		hints.DestructiveHint = new(false)
	}
	s.inputs[name] = inputOf[In]()
	sdk.AddTool(s.sdk, &sdk.Tool{Name: name, Title: t.title, Description: t.text, Annotations: hints, InputSchema: s.inputs[name], OutputSchema: schemaOf[Out]()},
		func(ctx context.Context, _ *sdk.CallToolRequest, in In) (*sdk.CallToolResult, Out, error) {
			if t.writes {
				callerIn(ctx).does(name, in)
			}
			out, more, err := do(ctx, in)
			if err != nil || more == nil {
				return nil, out, err
			}
			text, err := json.Marshal(out)
			return &sdk.CallToolResult{Content: append([]sdk.Content{&sdk.TextContent{Text: string(text)}}, more...)}, out, err
		})
}

// schemaOf returns the schema of a struct in which nothing is null: some clients take no
// field that may be of two types.
func schemaOf[T any]() *jsonschema.Schema {
	s, err := jsonschema.For[T](nil)
	if err != nil {
		panic(fmt.Sprintf("mcp: the schema of %T: %v", *new(T), err)) // a programming error, which every test detects
	}
	withoutNull(s)
	return s
}

func withoutNull(s *jsonschema.Schema) {
	if len(s.Types) == 2 && s.Types[0] == "null" {
		s.Type, s.Types = s.Types[1], nil
	}
	for _, p := range s.Properties {
		withoutNull(p)
	}
	if s.Items != nil {
		withoutNull(s.Items)
	}
}

// inputOf returns the schema of a tool's arguments, with the limits of its fields.
func inputOf[In any]() *jsonschema.Schema {
	s := schemaOf[In]()
	for name, p := range s.Properties {
		if b, ok := bounds[name]; ok {
			b(p)
		}
	}
	return s
}

// bounds are the limits of the arguments, each of which means the same in all tools.
var bounds = map[string]func(*jsonschema.Schema){
	"instance": func(p *jsonschema.Schema) { p.Pattern = nameForm.String() },
	"instances": func(p *jsonschema.Schema) {
		p.MinItems, p.MaxItems, p.Items.Pattern = new(1), new(1000), nameForm.String()
	},
	"recipients": func(p *jsonschema.Schema) {
		p.MinItems, p.MaxItems, p.Items.MinLength, p.Items.MaxLength = new(1), new(10_000), new(1), new(64)
	},
	"variables": func(p *jsonschema.Schema) { p.MaxItems, p.Items.MaxProperties = new(10_000), new(32) },
	"chat":      length(1, 128),
	"group":     length(1, 128),
	"to":        length(1, 128),
	"query":     length(1, 255),
	"cursor":    length(1, 64),
	"messageId": length(1, 128),
	"replyTo":   length(1, 128),
	"from":      func(p *jsonschema.Schema) { p.Format = "date-time"; length(1, 40)(p) },
	"text":      length(1, 65536),
	"caption":   length(1, 65536),
	"reaction":  length(0, 32),
	"mediaUrl":  length(1, 2048),
	"name":      length(1, 255),
	"id":        func(p *jsonschema.Schema) { p.Pattern = batchForm },
	"limit": func(p *jsonschema.Schema) {
		least, most := 1.0, float64(maxLimit)
		p.Minimum, p.Maximum = &least, &most
	},
}

// batchForm is the form of a batch's id.
const batchForm = `^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`

func length(least, most int) func(*jsonschema.Schema) {
	return func(p *jsonschema.Schema) { p.MinLength, p.MaxLength = &least, &most }
}
