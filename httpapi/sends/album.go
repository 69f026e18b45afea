package sends

import (
	"fmt"
	"net/http"
	"reflect"
	"strings"

	"postern/event"
	"postern/httpapi/openapi"
	"postern/httpapi/rest"
	"postern/httpapi/strict"
	"postern/instance"
	"postern/store"
)

// sendAlbumRequest has the options that apply to an album: the quote, the presence and the delay are those of the
// message that begins it.
type sendAlbumRequest struct {
	sendTarget
	AlbumMessage event.AlbumItems `json:"albumMessage" strict:"required" doc:"The content of the album."`
}

func (r *sendAlbumRequest) content() (event.Content, error) {
	c, err := r.AlbumMessage.Content()
	if err != nil {
		return c, strict.Under(err, "albumMessage")
	}
	switch o := r.Options; {
	case o.MentionAll || o.Mentions != nil:
		err = fmt.Errorf("%w: an album mentions nobody; leave out options.mentions and options.mentionAll", event.ErrContent)
	case o.SendAt != "":
		err = fmt.Errorf("%w: an album is sent at once; leave out options.sendAt, or send it in a batch with a schedule", event.ErrContent)
	}
	return c, err
}

// albumAnswer is an album as it was sent.
type albumAnswer struct {
	Album event.Message     `json:"album" doc:"The message that begins it."`
	Items []albumItemAnswer `json:"items" doc:"Its messages, in order."`
}

// albumItemAnswer is a stored message, or the error of one that was not sent.
type albumItemAnswer struct {
	sent   *event.Message
	failed *albumItemError
}

// MarshalJSON implements json.Marshaler.
func (a albumItemAnswer) MarshalJSON() ([]byte, error) {
	if a.sent != nil {
		return event.Marshal(*a.sent)
	}
	return event.Marshal(*a.failed)
}

// AlbumItem is the type of albumItemAnswer, for the documents.
func AlbumItem() reflect.Type { return rest.TypeOf[albumItemAnswer]() }

// AlbumItemSchema is either of the two.
func AlbumItemSchema(r rest.Ref) openapi.Object {
	return openapi.Object{"oneOf": []openapi.Object{r(rest.TypeOf[event.Message]()), r(rest.TypeOf[albumItemError]())}}
}

type albumItemError struct {
	Error albumItemFault `json:"error" doc:"Why the message was not sent."`
}

type albumItemFault struct {
	Code    string `json:"code" doc:"The code that a send of its own would have." example:"SEND_MESSAGE_FAILED"`
	Message string `json:"message" doc:"What happened, for people." example:"WhatsApp refused the message"`
}

// sendAlbum sends pictures and videos that are shown as one.
func (a *API) sendAlbum(c *rest.Call) error {
	var in sendAlbumRequest
	given, err := a.decode(c, &in, event.MaxAlbum)
	if err != nil {
		return err
	}
	defer given.Discard()
	content, err := in.content()
	if err != nil {
		return err
	}
	if err := mayReach(c, in.target(), content); err != nil {
		return err
	}
	if err := a.attach(c, given, content); err != nil {
		return err
	}
	defer detach(content)
	out, err := a.outgoing(c, in.target(), content)
	if err != nil {
		return err
	}
	if err := a.Store.Admit(); err != nil {
		return err
	}
	ctx, done := c.SendContext()
	defer done()
	out.Leaving, out.Warn = c.Begin, c.Warn
	var inCommit func(*store.Tx, instance.Album) error
	if keep := rest.KeepInCommit[albumAnswer](c, http.StatusOK); keep != nil {
		inCommit = func(tx *store.Tx, sent instance.Album) error { return keep(tx, albumAnswerOf(c, sent)) }
	}
	sent, err := a.Supervisor.SendAlbum(ctx, c.Instance.ID, out, instance.Keeping{
		Attributes: in.Options.attributes(), RequestID: c.RequestID,
	}, a.NewMessageID, inCommit)
	if err != nil {
		return err
	}
	return c.Response.JSON(http.StatusOK, albumAnswerOf(c, sent))
}

// albumAnswerOf returns the answer to a call that sent an album.
func albumAnswerOf(c *rest.Call, sent instance.Album) albumAnswer {
	answer := albumAnswer{Album: sent.Begin}
	for _, item := range sent.Items {
		one := albumItemAnswer{sent: &item.Message}
		if item.Err != nil {
			r, _ := c.AnswerTo(item.Err)
			one = albumItemAnswer{failed: &albumItemError{albumItemFault{r.Code, strings.Join(r.Messages, "; ")}}}
		}
		answer.Items = append(answer.Items, one)
	}
	return answer
}
