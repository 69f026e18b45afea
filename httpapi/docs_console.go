package httpapi

import (
	"postern/httpapi/openapi"
	"postern/httpapi/rest"
)

// consoleMessages are the kinds of messages on /ws/console.
func consoleMessages() []openapi.Message {
	all := []openapi.Message{
		{Name: "hello", About: "The first message, with the server's time.", Fields: []string{"at"}},
		{Name: "instance", About: "An instance was created or changed.", Fields: []string{"name", "instance"}},
		{Name: "instanceDeleted", About: "An instance was deleted.", Fields: []string{"name"}},
		{Name: "batch", About: "A batch was created or changed.", Fields: []string{"batch"}},
		{Name: "batchDeleted", About: "Its owner deleted the batch.", Fields: []string{"id"}},
		{Name: "delivery", About: "A delivery was created or changed.", Fields: []string{"delivery"}},
		{Name: "deliveries", About: "Too many deliveries changed to send each of them.", Fields: []string{"changed"}},
		{Name: "figures", About: "The current minute, every five seconds.", Fields: []string{"figures"}},
	}
	for i := range all {
		all[i].Type = rest.TypeOf[consoleMessage]()
	}
	return all
}

func consoleFields() openapi.Fields {
	var names []string
	for _, m := range consoleMessages() {
		names = append(names, m.Name)
	}
	return openapi.Fields{
		"ConsoleMessage.type":    rest.Say("The kind of the message.", "instance", openapi.OneOf(names...)),
		"ConsoleMessage.changed": rest.Say("With deliveries: the number of changes of deliveries that were not sent, because there were too many.", 412),
	}
}
