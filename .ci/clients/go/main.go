// A client that oapi-codegen generated sends and reads, against a program with
// its sandbox. Nothing in it is cast: the types of the document suffice.
package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log"
	"mime/multipart"
	"net/http"
	"os"
	"time"

	openapi_types "github.com/oapi-codegen/runtime/types"
)

const number = "4915112345678"

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	base := os.Getenv("BASE")
	admin := client(base, func(_ context.Context, r *http.Request) error { r.Header.Set("apikey", os.Getenv("KEY")); return nil })
	created, err := admin.CreateInstanceWithResponse(ctx, CreateInstanceRequest{InstanceName: ptr("go")})
	check(err)
	want("createInstance", created.JSON201 != nil, created.Body)
	account := client(base, bearer(created.JSON201.Auth.Token))
	user, err := admin.CreateUserTokenWithResponse(ctx, UserTokenRequest{ExpiresIn: 3600})
	check(err)
	want("createUserToken", user.JSON201 != nil, user.Body)
	owner := client(base, bearer(user.JSON201.Token))

	online(ctx, account)
	sends(ctx, account)
	batches(ctx, owner)
	lists(ctx, admin, account, owner)
	fmt.Println("Go: sent text, media, a file and six batches, and read the lists")
}

func client(base string, edit RequestEditorFn) *ClientWithResponses {
	c, err := NewClientWithResponses(base, WithRequestEditorFn(edit))
	check(err)
	return c
}

func bearer(token string) RequestEditorFn {
	return func(_ context.Context, r *http.Request) error {
		r.Header.Set("Authorization", "Bearer "+token)
		return nil
	}
}

func online(ctx context.Context, account *ClientWithResponses) {
	connect, err := account.ConnectInstanceWithResponse(ctx, "go", &ConnectInstanceParams{})
	check(err)
	want("connectInstance", connect.JSON200 != nil, connect.Body)
	for {
		status, err := account.GetConnectionStatusWithResponse(ctx, "go")
		check(err)
		want("getConnectionStatus", status.JSON200 != nil, status.Body)
		if status.JSON200.ConnectionStatus == ConnectionStatusONLINE {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
}

func sends(ctx context.Context, account *ClientWithResponses) {
	text, err := account.SendTextWithResponse(ctx, "go", &SendTextParams{IdempotencyKey: ptr("one")}, SendTextRequest{
		Number: ptr(number), TextMessage: TextContent{Text: "hello"}, Options: &SendOptions{Delay: ptr(0), ExternalAttributes: &map[string]any{"order": 42}},
	})
	check(err)
	want("sendText", text.JSON200 != nil && text.JSON200.KeyFromMe && text.JSON200.Content["text"] == "hello", text.Body)

	var quoted QuotedMessageRef
	check(quoted.FromQuotedMessageRef0(text.JSON200.Id))
	media, err := account.SendMediaWithResponse(ctx, "go", &SendMediaParams{}, SendMediaRequest{
		Number: ptr(number), Options: &SendOptions{QuotedMessageId: &quoted},
		MediaMessage: MediaContent{Mediatype: ptr(MediaContentMediatypeImage), Media: ptr(os.Getenv("FILES") + "/photo.jpg"), Caption: ptr("a picture")},
	})
	check(err)
	want("sendMedia", media.JSON200 != nil, media.Body)

	kind, form := fileForm("image")
	file, err := account.SendMediaFileWithBodyWithResponse(ctx, "go", &SendMediaFileParams{}, kind, form)
	check(err)
	want("sendMediaFile", file.JSON200 != nil, file.Body)

	upload, err := account.CreateUploadWithResponse(ctx, "go", UploadRequest{MediaType: UploadRequestMediaTypeImage, Media: os.Getenv("FILES") + "/photo.jpg"})
	check(err)
	want("createUpload", upload.JSON201 != nil, upload.Body)
	var ref UploadRef
	check(ref.FromUploadRef0(upload.JSON201.Id))
	again, err := account.SendMediaWithResponse(ctx, "go", &SendMediaParams{}, SendMediaRequest{
		Number: ptr(number), MediaMessage: MediaContent{Mediatype: ptr(MediaContentMediatypeImage), MediaUploadId: &ref},
	})
	check(err)
	want("sendMedia of an upload", again.JSON200 != nil, again.Body)
}

func fileForm(kind string) (contentType string, body io.Reader) {
	picture, err := os.ReadFile(os.Getenv("FOLDER") + "/photo.jpg")
	check(err)
	var form bytes.Buffer
	w := multipart.NewWriter(&form)
	check(w.WriteField("number", number))
	check(w.WriteField("mediaType", kind))
	part, err := w.CreateFormFile("attachment", "photo.jpg")
	check(err)
	_, err = part.Write(picture)
	check(err)
	check(w.Close())
	return w.FormDataContentType(), &form
}

func batches(ctx context.Context, owner *ClientWithResponses) {
	files := os.Getenv("FILES")
	for i, fill := range []func(*BatchMessage) error{
		func(m *BatchMessage) error {
			return m.FromTextBatchMessage(TextBatchMessage{Type: Text, Payload: TextContent{Text: "hello"}})
		},
		func(m *BatchMessage) error {
			return m.FromLinkBatchMessage(LinkBatchMessage{Type: "link", Payload: LinkContent{Link: "https://example.org/", Title: ptr("an example")}})
		},
		func(m *BatchMessage) error {
			return m.FromMediaBatchMessage(MediaBatchMessage{Type: MediaBatchMessageTypeMedia, Payload: MediaContent{Mediatype: ptr(MediaContentMediatypeImage), Media: ptr(files + "/photo.jpg")}})
		},
		func(m *BatchMessage) error {
			return m.FromAudioBatchMessage(AudioBatchMessage{Type: AudioBatchMessageTypeAudio, Payload: AudioContent{Audio: ptr(files + "/note.ogg")}})
		},
		func(m *BatchMessage) error {
			var payload ContactBatchMessage_Payload
			check(payload.FromContactContent(ContactContent{FullName: "Ada Lovelace", PhoneNumber: ptr("4915187654321")}))
			return m.FromContactBatchMessage(ContactBatchMessage{Type: ContactBatchMessageTypeContact, Payload: payload})
		},
		func(m *BatchMessage) error {
			return m.FromLocationBatchMessage(LocationBatchMessage{Type: Location, Payload: LocationContent{Latitude: 52.5, Longitude: 13.4}})
		},
	} {
		request := CreateBatchRequest{Name: fmt.Sprint("go ", i), Instances: []string{"go"}, Recipients: []CreateBatchRequest_Recipients_Item{{}}}
		check(request.Recipients[0].FromCreateBatchRequestRecipients0(number))
		var m BatchMessage
		check(fill(&m))
		check(request.Message.FromBatchMessage(m))
		made, err := owner.CreateBatchWithResponse(ctx, &CreateBatchParams{}, request)
		check(err)
		want("createBatch", made.JSON201 != nil, made.Body)
		sent, err := made.JSON201.Message.AsBatchMessage()
		check(err)
		message, err := sent.ValueByDiscriminator()
		check(err)
		want("the message of a batch", message != nil, made.Body)
		finish(ctx, owner, made.JSON201.Id)
	}
}

func finish(ctx context.Context, owner *ClientWithResponses, id openapi_types.UUID) {
	for {
		got, err := owner.GetBatchWithResponse(ctx, id)
		check(err)
		want("getBatch", got.JSON200 != nil, got.Body)
		switch got.JSON200.Status {
		case BatchStatusCOMPLETED:
			return
		case BatchStatusCOMPLETEDWITHERRORS, BatchStatusINTERRUPTED, BatchStatusSTOPPED:
			items, err := owner.ListBatchItemsWithResponse(ctx, id, &ListBatchItemsParams{})
			check(err)
			want("a completed batch", false, items.Body)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

func lists(ctx context.Context, admin, account, owner *ClientWithResponses) {
	instances, err := admin.ListInstancesWithResponse(ctx, &ListInstancesParams{})
	check(err)
	want("listInstances", instances.JSON200 != nil && (*instances.JSON200)[0].Auth != nil, instances.Body)

	found, err := owner.ListBatchesWithResponse(ctx, &ListBatchesParams{Limit: ptr(1)})
	check(err)
	want("listBatches", found.JSON200 != nil && found.JSON200.NextCursor != nil, found.Body)
	next, err := owner.ListBatchesWithResponse(ctx, &ListBatchesParams{Limit: ptr(1), NextCursor: found.JSON200.NextCursor})
	check(err)
	want("the next page", next.JSON200 != nil && next.JSON200.Records[0].Id != found.JSON200.Records[0].Id, next.Body)
	items, err := owner.ListBatchItemsWithResponse(ctx, found.JSON200.Records[0].Id, &ListBatchItemsParams{})
	check(err)
	want("listBatchItems", items.JSON200 != nil && items.JSON200.Records[0].Status == BatchItemStatusSUCCESS, items.Body)

	messages, err := account.ListMessagesWithResponse(ctx, "go", ListMessagesRequest{Limit: ptr(1), Filter: &MessageFilter{KeyFromMe: ptr(true)}})
	check(err)
	want("listMessages", messages.JSON200 != nil && len(messages.JSON200.Messages.Records) == 1, messages.Body)
	more, err := account.ListMessagesWithResponse(ctx, "go", ListMessagesRequest{Limit: ptr(1), NextCursor: messages.JSON200.Messages.PageInfo.NextCursor})
	check(err)
	want("the next messages", more.JSON200 != nil && len(more.JSON200.Messages.Records) == 1, more.Body)
	chats, err := account.ListChatsWithResponse(ctx, "go", &ListChatsParams{})
	check(err)
	want("listChats", chats.JSON200 != nil && len(chats.JSON200.Records) > 0, chats.Body)
	uploads, err := account.ListUploadsWithResponse(ctx, "go", &ListUploadsParams{})
	check(err)
	want("listUploads", uploads.JSON200 != nil && len(uploads.JSON200.Records) == 1, uploads.Body)

	nothing, err := account.ListMessagesWithResponse(ctx, "go", ListMessagesRequest{Limit: ptr(1000)})
	check(err)
	want("a refusal", nothing.JSON400 != nil && nothing.JSON400.Code == ErrorCodeINVALIDQUERY, nothing.Body)
}

func ptr[T any](v T) *T { return &v }

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func want(what string, ok bool, body []byte) {
	if !ok {
		log.Fatalf("%s: %s", what, body)
	}
}
