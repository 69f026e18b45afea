package httpapi

import (
	"strings"

	"postern/httpapi/openapi"
)

// tagOf groups routes by what they are about.
func tagOf(path string) string {
	for _, t := range []struct{ part, tag string }{
		{"/batches", tagBatches},
		{"/admin/batches", tagBatches},
		{"/outbox", tagOutbox},
		{"/ws/", tagSockets},
		{"/connect", tagConnection},
		{"/logout", tagConnection},
		{"/restart", tagConnection},
		{"/app-state", tagConnection},
		{".png", tagConnection},
		{"/proxy", tagConnection},
		{"/deliveries", tagDeliveries},
		{"/replays", tagDeliveries},
		{"/webhook", tagWebhook},
		{"/send/", tagSending},
		{"/media/", tagMedia},
		{"/upload/", tagMedia},
		{"/group", tagGroups},
		{"/newsletter", tagNewsletters},
		{"/label", tagLabels},
		{"/db/", tagStored},
		{"/contacts", tagStored},
		{"/chats", tagStored},
		{"/chat/", tagChats},
		{"/instance", tagInstances},
	} {
		if strings.Contains(path, t.part) {
			return t.tag
		}
	}
	return tagOperation
}

// The groups of routes.
const (
	tagInstances   = "Instances"
	tagConnection  = "Connection"
	tagWebhook     = "Webhook"
	tagDeliveries  = "Deliveries"
	tagSending     = "Sending"
	tagMedia       = "Media"
	tagChats       = "Chats"
	tagStored      = "Stored messages"
	tagGroups      = "Groups"
	tagNewsletters = "Newsletters"
	tagLabels      = "Labels"
	tagBatches     = "Batches"
	tagOutbox      = "Outbox"
	tagSockets     = "WebSockets"
	tagOperation   = "Operation"
)

func tags() []openapi.Tag {
	return []openapi.Tag{
		{Name: tagInstances, About: "WhatsApp accounts of this program, and their tokens."},
		{Name: tagConnection, About: "Linking an instance with a phone, and the state of its connection."},
		{Name: tagWebhook, About: "Where the events of an instance go."},
		{Name: tagDeliveries, About: "Every webhook that was sent or is to be, with its attempts; sending it again."},
		{Name: tagSending, About: "Sending one message. Answers come when WhatsApp has acknowledged it and it is stored."},
		{Name: tagMedia, About: "Files: brought to WhatsApp before they are needed, and fetched from messages."},
		{Name: tagChats, About: "What a person does in the list of chats and inside a chat."},
		{Name: tagStored, About: "What this program keeps of messages, contacts and chats."},
		{Name: tagGroups, About: "Groups, their members and how people come in."},
		{Name: tagNewsletters, About: "Newsletters, which WhatsApp shows as channels."},
		{Name: tagLabels, About: "Labels of business accounts."},
		{Name: tagBatches, About: "One message for many recipients, sent at a human pace, that survives restarts."},
		{Name: tagOutbox, About: "Events of batches on their way to the global webhook."},
		{Name: tagSockets, About: "Events as they happen. What is sent on them is described by /asyncapi.json."},
		{Name: tagOperation, About: "For whoever runs the program."},
	}
}
