package sends

import (
	"encoding/json"
	"fmt"
	"net/http"

	"postern/event"
	"postern/httpapi/ref"
	"postern/httpapi/rest"
)

// Posts of newsletters, and reactions to them.

// forChannel refuses what a post of a newsletter cannot have.
func (o *sendOptions) forChannel(content event.Content) error {
	for _, not := range []struct {
		given bool
		name  string
	}{
		{o.QuotedMessageID.Given(), "options.quotedMessageId"},
		{o.QuotedMessage.given(), "options.quotedMessage"},
		{o.MentionAll, "options.mentionAll"},
		{o.Mentions != nil, "options.mentions"},
		{content.Media != nil && content.Media.ViewOnce, "viewOnce"},
	} {
		if not.given {
			return fmt.Errorf("%w: %s is not for newsletters; leave it out", event.ErrContent, not.name)
		}
	}
	if !content.Postable() {
		return fmt.Errorf("%w: a newsletter takes texts, links, files, stickers, polls and reactions", event.ErrContent)
	}
	return nil
}

type reactionAnswer struct {
	Status string `json:"status" doc:"That the reaction left. WhatsApp does not acknowledge it." example:"sent" rules:"enum=sent"`
}

// sendReaction reacts to a message. WhatsApp acknowledges no reaction to a post of a newsletter: it is not stored,
// and causes no event.
func (a *API) sendReaction(c *rest.Call) error {
	var in sendReactionRequest
	if err := c.Decode(&in, rest.MaxBody); err != nil {
		return err
	}
	content, err := in.content()
	if err != nil {
		return err
	}
	to, err := in.Destination()
	if err != nil {
		return err
	}
	switch {
	case to.IsChannel():
		return a.reactToPost(c, &in, content)
	case content.Reaction.ServerID != nil:
		return fmt.Errorf("%w: reactionMessage.serverId names posts of newsletters; give key", event.ErrContent)
	}
	return a.sendContent(c, &in.sendTarget, content)
}

func (a *API) reactToPost(c *rest.Call, in *sendReactionRequest, content event.Content) error {
	if in.Options.SendAt != "" {
		return fmt.Errorf("%w: options.sendAt is not for reactions in newsletters, whose result is not known", event.ErrContent)
	}
	out, err := a.outgoing(c, &in.sendTarget, content)
	if err != nil {
		return err
	}
	if content.Reaction.ServerID == nil {
		number, err := a.numberOfPost(c, content.Reaction.Key)
		if err != nil {
			return err
		}
		out.Content.Reaction = &event.ReactionContent{ServerID: &number, Reaction: content.Reaction.Reaction}
	}
	ctx, done := c.SendContext()
	defer done()
	out.Leaving, out.Warn = c.Begin, c.Warn
	if _, err := a.Supervisor.Send(ctx, c.Instance.ID, out); err != nil {
		return err
	}
	return c.Response.JSON(http.StatusAccepted, reactionAnswer{"sent"})
}

// numberOfPost returns the newsletter's number of a stored post.
func (a *API) numberOfPost(c *rest.Call, key event.MessageKey) (int, error) {
	m, err := ref.FindToWrite(c, a.Messages, ref.Message{KeyID: key.ID})
	if err != nil {
		return 0, err
	}
	var about struct {
		ServerID int `json:"serverId"`
	}
	_ = json.Unmarshal(m.Metadata, &about)
	if m.KeyRemoteJID == nil || *m.KeyRemoteJID != key.RemoteJID || about.ServerID <= 0 {
		return 0, fmt.Errorf("%w: reactionMessage.key names no post of the newsletter whose number is known; give serverId", event.ErrContent)
	}
	return about.ServerID, nil
}
