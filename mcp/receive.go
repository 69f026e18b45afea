package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// The methods that are served. Everything else is answered as unknown: what is left
// keeps a stream open or is about the client's own abilities.
const (
	methodTools     = "tools/list"
	methodCall      = "tools/call"
	methodResources = "resources/list"
	methodTemplates = "resources/templates/list"
	methodRead      = "resources/read"
)

// open are the methods that need no key: they reveal nothing that is not in the
// documentation.
var open = []string{"initialize", "ping", "server/discover", "notifications/initialized", "notifications/cancelled", "notifications/progress", "notifications/roots/list_changed"}

// errUnknownCaller is a request that came by a way which has no credential.
var errUnknownCaller = errors.New("the request has no credential")

// receive returns the middleware of every request: it finds the key, hides what that key
// may not use, and records the call.
func (s *Server) receive(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, req sdk.Request) (res sdk.Result, err error) {
		defer func() {
			if cause := recover(); cause != nil { // the SDK runs us in a goroutine of its own
				s.log.Error("handler panicked; this is a bug, report it with a bundle of postern support", "method", method, "panic", cause, "stack", string(debug.Stack()))
				res, err = nil, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "internal error"}
			}
		}()
		switch method {
		case methodTools, methodCall, methodResources, methodTemplates, methodRead:
		default:
			if slices.Contains(open, method) {
				return next(ctx, method, req)
			}
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: "this server has no such method"}
		}
		who := callerOf(req)
		if who == nil {
			return nil, errUnknownCaller
		}
		ctx, cancel := context.WithTimeout(withCaller(ctx, who), callTimeout)
		defer cancel()
		if who.key == nil {
			if err := s.identify(ctx, who); err != nil {
				return nil, err
			}
		}
		leave, no := s.calls.enter(who.key.ID, audited(method))
		if no != "" { // not recorded: the audit log is bounded
			return notNow(method, no)
		}
		defer leave()
		res, err = s.carryOut(ctx, who, method, req, next)
		if audited(method) {
			s.note(ctx, who, method, req, outcome(who, res, err))
		}
		return res, err
	}
}

// carryOut executes a request with the rights of the caller's key.
func (s *Server) carryOut(ctx context.Context, who *caller, method string, req sdk.Request, next sdk.MethodHandler) (sdk.Result, error) {
	switch method {
	case methodCall:
		if no := who.key.missing(s.scopes[toolOf(req)]...); no != "" {
			who.refused = true
			return refused("SCOPE: this key does not have the scope " + no), nil
		}
		if p, ok := req.GetParams().(*sdk.CallToolParamsRaw); ok && p != nil {
			args, faults := s.arguments(p.Name, p.Arguments)
			if len(faults) > 0 {
				return refused("INVALID_ARGUMENTS: " + strings.Join(faults, "; ")), nil
			}
			p.Arguments = args
		}
	case methodRead:
		if no := who.key.missing(scopeRead); no != "" {
			who.refused = true
			return nil, fmt.Errorf("SCOPE: this key does not have the scope %s", no)
		}
	case methodResources:
		return s.listResources(ctx, who)
	}
	res, err := next(ctx, method, req)
	switch list := res.(type) {
	case *sdk.ListToolsResult:
		if list != nil {
			list.Tools = slices.DeleteFunc(slices.Clone(list.Tools), func(t *sdk.Tool) bool { return who.key.missing(s.scopes[t.Name]...) != "" })
		}
	case *sdk.ListResourceTemplatesResult:
		if list != nil && who.key.missing(scopeRead) != "" {
			list.ResourceTemplates = []*sdk.ResourceTemplate{}
		}
	}
	return res, err
}

// refused returns the result of a refused call, for the model.
func refused(text string) *sdk.CallToolResult {
	return &sdk.CallToolResult{IsError: true, Content: []sdk.Content{&sdk.TextContent{Text: text}}}
}

// callUnknown is the recorded name of a tool that does not exist.
const callUnknown = "unknown"

// Calls returns all names that a [Call] may have.
func Calls() []string {
	return []string{
		"list_instances", "find_chats", "find_contacts", "get_group", "read_messages", "get_media", "get_poll", "send_message", "start_batch", "get_batch",
		methodRead, callUnknown,
	}
}

// audited returns the methods whose calls are all recorded.
func audited(method string) bool { return method == methodCall || method == methodRead }

func notNow(method, text string) (sdk.Result, error) {
	if method == methodCall {
		return refused(text), nil
	}
	return nil, errors.New(text)
}

// toolOf returns the name of the tool that a request calls.
func toolOf(req sdk.Request) string {
	if p, ok := req.GetParams().(*sdk.CallToolParamsRaw); ok && p != nil {
		return p.Name
	}
	return ""
}

// note records a call in the audit log. Of the caller's input, it records only
// well-formed names.
func (s *Server) note(ctx context.Context, who *caller, method string, req sdk.Request, how Outcome) {
	c := Call{KeyID: who.key.ID, Tool: method, Outcome: how, From: who.from, Forwarded: who.forwarded}
	var names struct {
		Instance  string
		Instances []string
	}
	switch p := req.GetParams().(type) {
	case *sdk.CallToolParamsRaw:
		if c.Tool = p.Name; s.scopes[p.Name] == nil {
			c.Tool = callUnknown
		}
		_ = json.Unmarshal(p.Arguments, &names) // malformed arguments have no names
	case *sdk.ReadResourceParams:
		if at, err := parseURI(p.URI); err == nil {
			names.Instance = at.instance
		}
	}
	for _, name := range append([]string{names.Instance}, names.Instances...) {
		if isName(name) {
			c.Instance = name
			break
		}
	}
	s.cfg.Audit(context.WithoutCancel(ctx), c)
}

func outcome(who *caller, res sdk.Result, err error) Outcome {
	switch result, _ := res.(*sdk.CallToolResult); {
	case who.refused:
		return Refused
	case err != nil || result != nil && result.IsError:
		return Failed
	}
	return Done
}
