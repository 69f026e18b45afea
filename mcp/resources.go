package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"net/url"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// The resources. In a URI an address is percent-encoded: its @ is %40.
const (
	uriPrefix    = "postern://instance/"
	uriOfChats   = uriPrefix + "{name}/chats"
	uriOfChat    = uriPrefix + "{name}/chat/{jid}"
	typeJSON     = "application/json"
	resourcePage = 50 // chats or messages of a resource
)

// place is what a URI names.
type place struct {
	instance string
	chat     string // empty: the chats of the instance
}

var errURI = errors.New("the URI must be " + uriOfChats + " or " + uriOfChat + ", with the address percent-encoded")

// parseURI reads the URI of a resource, with everything in it percent-encoded once.
func parseURI(uri string) (place, error) {
	rest, ok := strings.CutPrefix(uri, uriPrefix)
	if !ok {
		return place{}, errURI
	}
	parts := strings.Split(rest, "/")
	for i, p := range parts {
		plain, err := url.PathUnescape(p)
		if err != nil || escaped(plain) != p && !strings.EqualFold(escaped(plain), p) {
			return place{}, errURI
		}
		parts[i] = plain
	}
	switch {
	case !isName(parts[0]):
		return place{}, errURI
	case len(parts) == 2 && parts[1] == "chats":
		return place{instance: parts[0]}, nil
	case len(parts) == 3 && parts[1] == "chat" && jid(parts[2]) != "":
		return place{parts[0], parts[2]}, nil
	}
	return place{}, errURI
}

// escaped returns a segment of a URI: everything but the unreserved characters of RFC 3986 is
// percent-encoded.
func escaped(segment string) string {
	return strings.ReplaceAll(url.QueryEscape(segment), "+", "%20")
}

func chatsURI(instance string) string { return uriPrefix + escaped(instance) + "/chats" }

func chatURI(instance, chat string) string {
	return uriPrefix + escaped(instance) + "/chat/" + escaped(chat)
}

func mediaURI(instance, message string) string {
	return uriPrefix + escaped(instance) + "/media/" + escaped(message)
}

func (s *Server) addResources() {
	s.sdk.AddResourceTemplate(&sdk.ResourceTemplate{
		Name: "chats", Title: "Chats of an instance", URITemplate: uriOfChats, MIMEType: typeJSON,
		Description: "The latest chats, as find_chats returns them. " + warning,
	}, s.readResource)
	s.sdk.AddResourceTemplate(&sdk.ResourceTemplate{
		Name: "chat", Title: "Messages of a chat", URITemplate: uriOfChat, MIMEType: typeJSON,
		Description: "The newest messages of a chat, as read_messages returns them; the address is percent-encoded. " + warning,
	}, s.readResource)
}

func (s *Server) readResource(ctx context.Context, req *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
	at, err := parseURI(req.Params.URI)
	if err != nil {
		return nil, err
	}
	var out any
	if at.chat == "" {
		out, err = s.chats(ctx, findChatsInput{Instance: at.instance, Limit: resourcePage})
	} else {
		out, err = s.messages(ctx, readInput{Instance: at.instance, Chat: at.chat, Limit: resourcePage})
	}
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(out)
	return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{{URI: req.Params.URI, MIMEType: typeJSON, Text: string(text)}}}, err
}

// listResources returns the chats of the instances that the key may read.
func (s *Server) listResources(ctx context.Context, who *caller) (*sdk.ListResourcesResult, error) {
	out := &sdk.ListResourcesResult{Resources: []*sdk.Resource{}, Cacheable: sdk.Cacheable{CacheScope: cachePrivate}}
	if who.key.missing(scopeRead) != "" {
		return out, nil
	}
	all, err := s.instances(ctx)
	if err != nil {
		return nil, err
	}
	for _, one := range all.Instances {
		out.Resources = append(out.Resources, &sdk.Resource{Name: one.Name, Title: "Chats of " + one.Name, URI: chatsURI(one.Name), MIMEType: typeJSON})
	}
	return out, nil
}
