package openapi

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"postern/event"
)

// asyncAPI describes the WebSockets with the schemas of the webhooks, because both carry the same bodies.
func (d *document) asyncAPI() Object {
	channels, operations, messages := Object{}, Object{}, Object{}
	schemes := Object{"bearer": Object{"type": "http", "scheme": "bearer", "bearerFormat": "JWT", "description": "The token in the header Authorization of the handshake."}}
	for _, s := range d.api.Sockets {
		own := Object{}
		for _, kind := range s.Events {
			name := EventName(event.Kind(kind))
			messages[name] = d.message(event.Kind(kind))
			own[name] = reference("messages", name)
		}
		for _, m := range s.Messages {
			name := s.Name + words(m.Name)
			messages[name] = d.plainMessage(m)
			own[name] = reference("messages", name)
		}
		handshake := d.operationOf(s.ID)
		channels[s.Name] = Object{
			"address": handshake.Path, "title": s.Name, "summary": handshake.Summary, "description": s.About, "messages": own,
			"servers":  []Object{{"$ref": "#/servers/postern"}},
			"bindings": Object{"ws": Object{"method": handshake.Method, "query": d.query(handshake), "bindingVersion": "0.1.0"}},
		}
		operations["send"+strings.ToUpper(s.Name[:1])+s.Name[1:]] = Object{
			"action": "send", "title": handshake.Summary, "summary": "Postern sends each of them as one text message.", "description": s.About,
			"channel":  Object{"$ref": "#/channels/" + s.Name},
			"security": d.opens(handshake, schemes),
		}
	}
	doc := Object{
		"asyncapi": "3.0.0", "defaultContentType": "application/json",
		"info": Object{
			"title": d.api.Title + " WebSockets", "version": d.api.Version,
			"description": "Events as they happen, each byte for byte as the body of its webhook, and what changes, for pages of operators. Clients send nothing but the handshake.",
			"license":     Object{"name": "GPL-3.0-or-later"},
		},
		"servers": Object{"postern": d.socketServer()}, "channels": channels, "operations": operations,
	}
	doc["components"] = Object{
		"messages": messages, "schemas": plainDiscriminators(d.all), "securitySchemes": schemes,
	}
	prune(doc)
	return doc
}

// opens lists the credentials of a handshake, any of which is sufficient, and adds their schemes to
// schemes.
func (d *document) opens(handshake Operation, schemes Object) (all []Object) {
	for _, c := range handshake.Credentials {
		scheme := maps.Clone(d.api.Credentials[c.Name])
		if scheme["in"] == "query" { // for clients that cannot set headers
			all = append(all, reference("securitySchemes", "bearer"))
		}
		if scheme["type"] == "apiKey" {
			scheme["type"] = "httpApiKey"
		}
		schemes[c.Name] = scheme
		all = append(all, reference("securitySchemes", c.Name))
	}
	return all
}

// plainMessage describes a message other than an event.
func (d *document) plainMessage(m Message) Object {
	return Object{
		"name": m.Name, "title": m.Name, "summary": m.About, "contentType": "application/json",
		"payload": Object{"allOf": []Object{d.answer(m.Type), {
			"type": "object", "properties": Object{"type": Object{"const": m.Name}}, "required": append([]string{"type"}, m.Fields...),
		}}},
	}
}

// plainDiscriminators copies schemas for AsyncAPI, where a discriminator is the name of its property.
func plainDiscriminators(part any) any {
	switch part := part.(type) {
	case Object:
		all := Object{}
		for key, v := range part {
			if o, ok := v.(Object); ok && key == "discriminator" {
				v = o["propertyName"]
			}
			all[key] = plainDiscriminators(v)
		}
		return all
	case []Object:
		all := make([]any, len(part))
		for i, v := range part {
			all[i] = plainDiscriminators(v)
		}
		return all
	}
	return part
}

func (d *document) operationOf(id string) Operation {
	i := slices.IndexFunc(d.api.Operations, func(o Operation) bool { return o.ID == id })
	if i < 0 {
		d.fail(fmt.Sprintf("no operation is the handshake %s", id))
		return Operation{}
	}
	return d.api.Operations[i]
}

// query returns the schema of the parameters of a handshake.
func (d *document) query(o Operation) Object {
	properties, required := Object{}, []string{}
	for _, name := range o.Query {
		s := Object{"type": "string"}
		d.explain("?"+name, s, o.ID)
		if s[mustBeThere] == true {
			required = append(required, name)
		}
		delete(s, mustBeThere)
		properties[name] = s
	}
	return Object{"type": "object", "properties": properties, "required": required}
}

func (d *document) message(k event.Kind) Object {
	about, _ := event.Lookup(k)
	m := Object{
		"name": string(k), "title": string(k), "summary": aboutEvent(about), "contentType": "application/json",
		"payload": reference("schemas", EventName(k)),
	}
	var examples []Object
	for _, x := range event.Examples(k) {
		body, err := event.ExampleBody(k, x)
		var value Object
		if err == nil {
			err = json.Unmarshal(body, &value)
		}
		if err != nil {
			d.fail(fmt.Sprintf("the example %s of %s: %v", x.Name, k, err))
		}
		examples = append(examples, Object{"name": x.Name, "payload": value})
	}
	m["examples"] = examples
	return m
}

// socketServer returns the address of the sockets. A program without a known public address leaves it to
// the reader.
func (d *document) socketServer() Object {
	scheme, host, known := strings.Cut(d.api.Server, "://")
	if !known {
		server := Object{
			"host": "{address}", "protocol": "ws", "description": "This program.",
			"variables": Object{"address": Object{"default": "localhost:8084", "description": "Host and port of the program; wss behind TLS."}},
		}
		if d.api.Base != "" {
			server["pathname"] = d.api.Base
		}
		return server
	}
	host, path, _ := strings.Cut(host, "/")
	server := Object{"host": host, "protocol": strings.Replace(scheme, "http", "ws", 1), "description": "This program."}
	if path != "" {
		server["pathname"] = "/" + strings.TrimSuffix(path, "/")
	}
	return server
}
