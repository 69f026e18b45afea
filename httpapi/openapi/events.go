package openapi

import (
	"fmt"
	"strings"

	"postern/event"
)

// events makes the components of all events.
func (d *document) events() {
	for _, e := range event.Catalogue() {
		s := d.answers().Event(e.Kind)
		s["description"] = "The body of the event " + string(e.Kind) + "."
		d.all[EventName(e.Kind)] = s
	}
	for _, socket := range d.api.Sockets {
		if len(socket.Events) == 0 {
			continue
		}
		shapes, mapping := []Object{}, Object{}
		for _, kind := range socket.Events {
			ref := reference("schemas", EventName(event.Kind(kind)))
			shapes = append(shapes, ref)
			mapping[kind] = ref["$ref"]
		}
		d.all[socket.Union] = Object{
			"description": "Any event of this family; the field event names it.", "oneOf": shapes,
			"discriminator": Object{"propertyName": "event", "mapping": mapping},
		}
	}
}

// EventName returns the component name of an event: MessagesUpsertEvent.
func EventName(k event.Kind) string { return words(string(k)) + "Event" }

// words joins the words of a name: messages.upsert becomes MessagesUpsert.
func words(name string) string {
	var b strings.Builder
	for _, w := range strings.FieldsFunc(name, func(r rune) bool { return strings.ContainsRune(".-_/{}", r) }) {
		b.WriteString(strings.ToUpper(w[:1]) + w[1:])
	}
	return b.String()
}

func aboutEvent(e event.Descriptor) string {
	about := fmt.Sprintf("Sent to the instance's webhook when its flag `%s` is set, to the global webhook, and on the WebSocket of the instance.", e.Flag)
	if e.Family == event.Batch {
		about = "Sent to the global webhook until it is accepted, and on the WebSocket of the batch's owner."
	}
	if e.Gate != event.NoGate {
		about += fmt.Sprintf(" Needs `%s`.", e.Gate)
	}
	return about
}

// webhooks describes the webhook bodies, by event. The AsyncAPI document, whose messages have the same
// bodies, has complete examples; here each field has one.
func (d *document) webhooks() Object {
	d.responseParts["EventAccepted"] = Object{"description": "Accepted."}
	d.responseParts["EventNotAccepted"] = Object{"description": "Not accepted, like every other status: an instance event is lost then, a batch event is tried again."}
	all := Object{}
	for _, e := range event.Catalogue() {
		body := Object{"schema": reference("schemas", EventName(e.Kind))}
		all[string(e.Kind)] = Object{"post": Object{
			"operationId": "on" + words(string(e.Kind)), "summary": "The event " + string(e.Kind),
			"description": aboutEvent(e), "tags": []string{eventsTag}, "security": []Object{},
			"requestBody": Object{"required": true, "content": Object{"application/json": body}},
			"responses":   Object{"2XX": reference("responses", "EventAccepted"), "4XX": reference("responses", "EventNotAccepted")},
		}}
	}
	return all
}
