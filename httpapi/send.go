package httpapi

import (
	"encoding/json"
	"net/http"

	"postern/event"
)

// textMessage is the content of a text message.
type textMessage struct {
	Text string `json:"text" strict:"required"`
}

// sendTextRequest is the body of send/text. Exactly one of Number, Chat and
// Recipient names whom the message goes to.
type sendTextRequest struct {
	Number      *string     `json:"number"`
	Chat        *string     `json:"chat"`
	Recipient   *string     `json:"recipient"`
	TextMessage textMessage `json:"textMessage" strict:"required"`
	Options     sendOptions `json:"options"`
}

// sendOptions are the options that are carried out so far.
type sendOptions struct {
	ExternalAttributes *jsonObject `json:"externalAttributes" strict:"null"`
}

// sendText sends a text and answers with the stored message.
func (a *api) sendText(c *call) error {
	var in sendTextRequest
	if err := c.decode(&in, maxBody); err != nil {
		return err
	}
	to, err := in.recipient()
	if err != nil {
		return err
	}
	content, err := textContent(in.TextMessage)
	if err != nil {
		return err
	}
	if err := a.Store.Admit(); err != nil {
		return err
	}
	var attributes event.Attributes
	if in.Options.ExternalAttributes != nil {
		attributes = event.Attributes(*in.Options.ExternalAttributes)
	}
	out := event.Outgoing{ID: a.NewMessageID(), To: to.JID(), Content: content}
	sent, err := a.Supervisor.SendAndStore(c.r.Context(), c.instance.ID, out, attributes, c.requestID)
	if err != nil {
		return err
	}
	return c.w.json(http.StatusOK, sent)
}

func (in sendTextRequest) recipient() (event.Recipient, error) {
	var given []string
	for _, f := range []*string{in.Number, in.Chat, in.Recipient} {
		if f != nil {
			given = append(given, *f)
		}
	}
	if len(given) != 1 {
		return event.Recipient{}, refuse(http.StatusBadRequest, "ONE_RECIPIENT", "give exactly one of number, chat and recipient")
	}
	return event.ParseRecipient(given[0])
}

func textContent(m textMessage) (event.Content, error) {
	payload, err := json.Marshal(event.TextContent{Text: m.Text})
	if err != nil {
		return event.Content{}, err
	}
	return event.ParseContent("text", payload)
}
