package httpapi

import (
	"strings"

	"postern/httpapi/openapi"
)

// tagOf groups routes by topic.
func tagOf(path string) string {
	for _, t := range []struct{ part, tag string }{
		{"/batches", tagBatches},
		{"/admin/batches", tagBatches},
		{"/optouts", tagBatches},
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
		{Name: tagConnection, About: "Linking an instance to a phone, and the state of its connection."},
		{Name: tagWebhook, About: "The webhook of an instance and its options."},
		{Name: tagDeliveries, About: "The log of webhook deliveries with their attempts, retry and replay."},
		{Name: tagSending, About: "Sending one message. The answer comes when WhatsApp has acknowledged it and it is stored."},
		{Name: tagMedia, About: "Uploading files to WhatsApp ahead of a send, and downloading those of messages."},
		{Name: tagChats, About: "Actions in the chat list and in a chat."},
		{Name: tagStored, About: "Stored messages, contacts and chats."},
		{Name: tagGroups, About: "Groups, their members and invitations."},
		{Name: tagNewsletters, About: "Newsletters, which WhatsApp shows as channels."},
		{Name: tagLabels, About: "Labels of business accounts."},
		{Name: tagBatches, About: "One message for many recipients, sent at a human pace and durable across restarts."},
		{Name: tagOutbox, About: "Batch events for the global webhook."},
		{Name: tagSockets, About: "Events as they happen. /asyncapi.json describes the messages."},
		{Name: tagOperation, About: "Operating the program."},
	}
}
