package httpapi

import (
	"encoding/json"
	"maps"
	"reflect"

	"postern/access"
	"postern/batch"
	"postern/batch/mailing"
	"postern/batch/optout"
	"postern/batch/record"
	"postern/console/trouble"
	"postern/delivery"
	"postern/event"
	"postern/httpapi/alerts"
	"postern/httpapi/batches"
	"postern/httpapi/chats"
	"postern/httpapi/deliveries"
	"postern/httpapi/files"
	"postern/httpapi/instances"
	"postern/httpapi/openapi"
	"postern/httpapi/operator"
	"postern/httpapi/ref"
	"postern/httpapi/rest"
	"postern/httpapi/sends"
	"postern/httpapi/strict"
	"postern/instance"
	"postern/instance/pace"
	"postern/instance/webhooks"
	"postern/messages"
	"postern/whatsapp/proxy"
)

// types are the Go types whose schema or name differs from the Go declaration.
func types() map[reflect.Type]openapi.Type {
	all := map[reflect.Type]openapi.Type{
		rest.TypeOf[rest.ErrorBody]():              {Name: "Error", About: "The body of every refusal."},
		rest.TypeOf[event.InstanceStatus]():        {Name: "InstanceStatusUpdate"},
		rest.TypeOf[event.State]():                 {Name: "ConnectionState", About: "The state of the connection of an instance."},
		rest.TypeOf[event.Snapshot]():              {Name: "InstanceSnapshot", About: "An instance as it was when the event happened."},
		rest.TypeOf[event.Message]():               {Name: "Message", About: "A message, sent or received."},
		rest.TypeOf[event.Channel]():               {Name: "Newsletter"},
		rest.TypeOf[batch.View]():                  {Name: "Batch", About: "A message for many recipients, and its progress."},
		rest.TypeOf[batch.Item]():                  {Name: "BatchItem", About: "One recipient of a batch."},
		rest.TypeOf[batch.Attempt]():               {Name: "BatchAttempt", About: "One attempt to send an item."},
		rest.TypeOf[event.BatchView]():             {Name: "EventBatch", Words: rest.TypeOf[batch.View](), About: "A batch as events report it. The times of its phases are present only in the events of these phases."},
		rest.TypeOf[event.BatchProgressReduced]():  {Words: rest.TypeOf[batch.View]()},
		rest.TypeOf[event.BatchCompletedReduced](): {Words: rest.TypeOf[batch.View]()},
		rest.TypeOf[event.BatchInstanceReduced]():  {Words: rest.TypeOf[event.BatchInstance]()},
		rest.TypeOf[batches.BatchOptions]():        {Name: "CreateBatchOptions", Words: rest.TypeOf[event.BatchOptions]()},
		rest.TypeOf[batch.Held]():                  {Name: "BatchHeld", About: "What keeps an instance of a batch from sending now."},
		rest.TypeOf[batches.Processing]():          {Name: "BatchProcessing", About: "A batch with all its recipients and attempts."},
		rest.TypeOf[batches.BatchFilter]():         {Name: "BatchFilter"},
		rest.TypeOf[chats.JoinRequest]():           {Name: "JoinGroupRequest"},
		rest.TypeOf[instances.CreateRequest]():     {Name: "CreateInstanceRequest"},
		rest.TypeOf[batches.BatchRequest]():        {Name: "CreateBatchRequest"},
		rest.TypeOf[chats.MuteRequest]():           {Name: "MuteChatRequest"},
		rest.TypeOf[chats.MuteAnswer]():            {Name: "NewsletterMuteAnswer"},
		rest.TypeOf[instances.TryRequest]():        {Name: "TestWebhookRequest"},
		rest.TypeOf[instances.TryAnswer]():         {Name: "TestWebhookAnswer"},
		rest.TypeOf[instances.ProxyView]():         {Name: "Proxy", About: "The proxy of an instance, without the password."},
		rest.TypeOf[sends.UploadView]():            {Name: "Upload", About: "A file stored at WhatsApp, without its decryption keys."},

		rest.TypeOf[proxy.Use]():  {Name: "ProxyUse", About: "What goes through a proxy.", Schema: openapi.Words(proxy.Uses()...)},
		rest.TypeOf[proxy.Step](): {Name: "ProxyStep", About: "A step of a dial through a proxy.", Schema: openapi.Words(proxy.Resolve, proxy.Connect, proxy.Auth, proxy.TLS)},

		rest.TypeOf[rest.FailedStep](): {Schema: func(r rest.Ref) openapi.Object { return r(rest.TypeOf[proxy.Step]()) }},

		rest.TypeOf[operator.SettingList]():   {Name: "SettingList", About: "The configuration in effect."},
		rest.TypeOf[operator.ConfigSetting](): {Name: "ConfigSetting", About: "A setting of the configuration, with secrets masked."},
		rest.TypeOf[operator.SettingValue]():  {Name: "SettingValue", About: "The value of a setting.", Schema: operator.SettingSchema},
		rest.TypeOf[consoleMessage]():         {Name: "ConsoleMessage", About: "A change. type determines which other fields are present."},
		rest.TypeOf[operator.SampleList]():    {Name: "SampleList"},
		rest.TypeOf[operator.MinuteShown]():   {Name: "Sample", About: "Figures of the program for one minute."},
		rest.TypeOf[operator.BackupState]():   {Name: "BackupState", About: "The state of scheduled backups."},

		rest.TypeOf[alerts.Notification](): {Name: "Notification", Open: true, About: "A post of a monitoring system: alerts, as Alertmanager and Grafana post them, or a title or message. Other fields are ignored."},
		rest.TypeOf[alerts.Alert]():        {Name: "Alert", Open: true, About: "A firing or resolved alert."},
		rest.TypeOf[sends.NotifyAnswer]():  {Name: "NotifyAnswer", About: "The result of a notification."},

		rest.TypeOf[instances.PortalState](): {Name: "PortalState", About: "What the page of a portal link shows."},
		rest.TypeOf[operator.KeyView]():      {Name: "Key", About: "A scoped key, without its text."},
		rest.TypeOf[operator.CreatedKey]():   {Name: "CreatedKey", Words: rest.TypeOf[operator.KeyView](), About: "A scoped key as created, with its text."},
		rest.TypeOf[operator.KeyRate]():      {Name: "KeyRate", About: "How many requests a scoped key may make."},
		rest.TypeOf[operator.AuditRecord]():  {Name: "AuditRecord", About: "One change, and who made it."},
		rest.TypeOf[access.Scope]():          {Name: "KeyScope", About: "What a scoped key may do.", Schema: openapi.Words(access.Scopes()...)},

		rest.TypeOf[deliveries.OutboxRecord]():    {Name: "OutboxEvent", About: "An event for the global webhook, without its body."},
		rest.TypeOf[deliveries.DeliveryRecord]():  {Name: "Delivery", About: "One event for one destination, without its body."},
		rest.TypeOf[deliveries.DeliveryDetails](): {Name: "DeliveryDetails", Words: rest.TypeOf[deliveries.DeliveryRecord](), About: "A delivery with its body and attempts."},
		rest.TypeOf[deliveries.DeliveryAttempt](): {Name: "DeliveryAttempt", About: "One attempt of a delivery."},
		rest.TypeOf[deliveries.ReplayRequest]():   {Name: "ReplayRequest"},
		rest.TypeOf[deliveries.ReplayAccepted]():  {Name: "ReplayAccepted"},
		rest.TypeOf[deliveries.ReplayStatus]():    {Name: "Replay", About: "The progress of a replay of deliveries."},
		rest.TypeOf[delivery.State]():             {Name: "DeliveryState", About: "The state of a delivery.", Schema: openapi.Words(delivery.States()...)},
		rest.TypeOf[instance.Settings]():          {Name: "InstanceSettings", About: "The automatic behaviour of an instance."},
		rest.TypeOf[pace.Limits]():                {Name: "InstanceLimits", About: "What an instance may send."},
		rest.TypeOf[pace.WarmUp]():                {Name: "WarmUp"},
		rest.TypeOf[pace.QuietHours]():            {Name: "QuietHours"},
		rest.TypeOf[pace.Jitter]():                {Name: "Jitter"},
		rest.TypeOf[pace.Status]():                {Name: "LimitStatus", About: "Usage of an instance's limits; limits that are not set are absent."},
		rest.TypeOf[pace.Use]():                   {Name: "LimitUse", About: "How much of a limit is used."},
		rest.TypeOf[webhooks.Webhook]():           {Name: "Webhook", About: "The destination of an instance's events, and which events it gets."},
		rest.TypeOf[instances.ListedInstance]():   {Name: "Instance", About: "An instance as the operator sees it."},

		rest.TypeOf[batch.ItemWithAttempts]():                {Name: "BatchItemWithAttempts"},
		rest.TypeOf[batch.List[batch.View]]():                {Name: "BatchList"},
		rest.TypeOf[batch.List[batch.Item]]():                {Name: "BatchItemList"},
		rest.TypeOf[batch.List[batch.Attempt]]():             {Name: "BatchAttemptList"},
		rest.TypeOf[batch.List[optout.Entry]]():              {Name: "OptOutList"},
		rest.TypeOf[optout.Entry]():                          {Name: "OptOut", About: "A person who wants no batches of the user."},
		rest.TypeOf[batches.OptOutRequest]():                 {Name: "AddOptOutsRequest"},
		rest.TypeOf[batches.OptInRequest]():                  {Name: "RemoveOptOutsRequest"},
		rest.TypeOf[batches.AddedOptOuts]():                  {Name: "AddedOptOuts"},
		rest.TypeOf[batches.RemovedOptOuts]():                {Name: "RemovedOptOuts"},
		rest.TypeOf[batch.List[deliveries.OutboxRecord]]():   {Name: "OutboxEventList"},
		rest.TypeOf[batch.List[deliveries.DeliveryRecord]](): {Name: "DeliveryList"},
		rest.TypeOf[batch.List[sends.UploadView]]():          {Name: "UploadList"},
		rest.TypeOf[batch.List[operator.KeyView]]():          {Name: "KeyList"},
		rest.TypeOf[operator.AuditList]():                    {Name: "AuditList"},
		rest.TypeOf[chats.PicturedGroup]():                   {Name: "GroupWithPicture", About: "A group as the account sees it, with its new picture."},
		rest.TypeOf[files.KeptFile]():                        {Name: "KeptFile", About: "The state of the file of a message."},
		rest.TypeOf[batch.List[files.KeptFile]]():            {Name: "KeptFileList"},
		rest.TypeOf[event.MediaLink]():                       {Name: "MediaLink", About: "The address of the file of a message."},
		rest.TypeOf[sends.FileAnswer]():                      {Name: "MediaFile", About: "The file of a message."},
		rest.TypeOf[event.GroupUpsert]():                     {Name: "Group", About: "A group as the account sees it."},
		rest.TypeOf[event.GroupParticipantsUpdate]():         {Name: "GroupParticipantsUpdate"},
		rest.TypeOf[messages.Stored]():                       {Name: "StoredMessage", About: "A message with what became of it."},
		rest.TypeOf[sends.SentMessage]():                     {Name: "SentMessage", About: "The message that was sent, as it is stored.", Answers: true, Schema: sends.SentMessageSchema},
		sends.AlbumItem():                                    {Answers: true, Schema: sends.AlbumItemSchema},
		rest.TypeOf[sends.AcceptedAnswer]():                  {Answers: true, Schema: sends.AcceptedAnswerSchema},
		rest.TypeOf[sends.AcceptedReaction]():                {Answers: true, Schema: sends.AcceptedReactionSchema},
		rest.TypeOf[trouble.Item]():                          {Name: "Trouble", About: "One kind of trouble, of receivers at one origin."},
		rest.TypeOf[trouble.Subject]():                       {Name: "TroubleSubject", About: "What a trouble is about."},
		rest.TypeOf[sends.ScheduledView]():                   {Name: "ScheduledSend", About: "A message that is sent at a later time."},
		rest.TypeOf[batch.List[sends.ScheduledView]]():       {Name: "ScheduledSendList"},
		rest.TypeOf[batch.List[deliveries.Receiver]]():       {Name: "ReceiverList"},
		rest.TypeOf[batches.BatchMessages]():                 {Schema: batchMessagesSchema},
		rest.TypeOf[record.Messages]():                       {Schema: batchMessagesSchema},
		rest.TypeOf[event.BatchMessage]():                    {Name: "BatchMessage", About: "What a batch sends: type names the form of payload.", Schema: batchMessageSchema},
		rest.TypeOf[variant[event.TextContent]]():            variantOf[event.TextContent]("TextBatchMessage", "text"),
		rest.TypeOf[variant[event.LinkContent]]():            variantOf[event.LinkContent]("LinkBatchMessage", "link"),
		rest.TypeOf[variant[event.MediaContent]]():           variantOf[event.MediaContent]("MediaBatchMessage", "media"),
		rest.TypeOf[variant[event.AudioContent]]():           variantOf[event.AudioContent]("AudioBatchMessage", "audio", "ptt", "whatsapp-audio", "whatsapp_audio"),
		rest.TypeOf[variant[contactPayload]]():               variantOf[contactPayload]("ContactBatchMessage", "contact"),
		rest.TypeOf[variant[event.LocationContent]]():        variantOf[event.LocationContent]("LocationBatchMessage", "location"),
		rest.TypeOf[variant[event.PollContent]]():            variantOf[event.PollContent]("PollBatchMessage", "poll"),
		rest.TypeOf[variant[event.StickerContent]]():         variantOf[event.StickerContent]("StickerBatchMessage", "sticker"),
		rest.TypeOf[variant[event.AlbumItems]]():             variantOf[event.AlbumItems]("AlbumBatchMessage", "album"),
		rest.TypeOf[variant[event.ForwardContent]]():         variantOf[event.ForwardContent]("ForwardBatchMessage", "forward"),
		rest.TypeOf[event.BatchStatus]():                     {Name: "BatchStatus", About: "The status of a batch. No event reports DRAFT.", Schema: openapi.Words(batches.BatchStatuses()...)},
		rest.TypeOf[instances.StateInCapitals]():             {Name: "ConnectionStatus", About: "The state of the connection of an instance, in capitals.", Schema: openapi.Words(instances.StatesInCapitals()...)},
		rest.TypeOf[ref.Message]():                           {Name: "MessageRef", About: "A stored message: a number is its id here, a string its id at WhatsApp.", Schema: messageRefSchema},
		rest.TypeOf[ref.Quoted]():                            {Name: "QuotedMessageRef", About: "A stored message to answer: a number is its id here, a string its id at WhatsApp.", Schema: quotedRefSchema},
		rest.TypeOf[event.MessageID]():                       {Name: "FileOfMessage", About: "The stored message whose file is sent: a number is its id here, a string its id at WhatsApp.", Schema: messageIDSchema},
		rest.TypeOf[event.UploadID]():                        {Name: "UploadRef", About: "An upload, by either of its ids: a number, or a UUID.", Schema: uploadRefSchema},
		rest.TypeOf[chats.MessageCursor]():                   {Name: "MessageCursor", About: "The start of a page of messages.", Schema: messageCursorSchema},
		rest.TypeOf[chats.MessagePlace]():                    {Name: "MessagePlace", About: "The page beside a message."},
		rest.TypeOf[contactPayload]():                        {Schema: contactPayloadSchema},
		rest.TypeOf[chats.Flag]():                            {Schema: flagSchema},
		rest.TypeOf[batches.OneOrMore]():                     {Schema: oneOrMoreSchema},
		rest.TypeOf[mailing.Recipients]():                    {Schema: recipientsSchema},
		rest.TypeOf[chats.PictureURL]():                      {Schema: func(rest.Ref) openapi.Object { return openapi.Object{"type": []string{"string", "null"}} }},
		rest.TypeOf[strict.Object]():                         {Schema: openapi.AnyObject},
		rest.TypeOf[event.Attributes]():                      {Schema: openapi.AnyObject},
		rest.TypeOf[json.RawMessage]():                       {Schema: openapi.AnyObject},
		rest.TypeOf[record.ItemStatus]():                     {Name: "BatchItemStatus", Schema: openapi.Words(record.ItemPending, record.ItemSending, record.ItemSuccess, record.ItemFailed, record.ItemSkipped, record.ItemUnknown)},
		rest.TypeOf[record.AttemptStatus]():                  {Name: "BatchAttemptStatus", Schema: openapi.Words(record.AttemptSending, record.AttemptSuccess, record.AttemptFailed, record.AttemptUnavailable, record.AttemptUnknown)},
	}
	maps.Copy(all, instances.OptionsTypes())
	return all
}

func messageRefSchema(rest.Ref) openapi.Object {
	return openapi.Object{"oneOf": []openapi.Object{
		{"type": "integer", "minimum": 1, "description": "The id of the message here."},
		{"type": "string", "minLength": 1, "description": "The id of the message at WhatsApp."},
	}}
}

func quotedRefSchema(rest.Ref) openapi.Object {
	return openapi.Object{"oneOf": []openapi.Object{
		{"type": "integer", "minimum": 0, "description": "The id of the message here; 0: none."},
		{"type": "string", "minLength": 1, "description": "The id of the message at WhatsApp."},
	}}
}

func messageCursorSchema(r rest.Ref) openapi.Object {
	return openapi.Object{"oneOf": []openapi.Object{
		{"type": "string", "description": "A cursor of pageInfo."},
		r(rest.TypeOf[chats.MessagePlace]()),
	}}
}

func messageIDSchema(rest.Ref) openapi.Object {
	return openapi.Object{"oneOf": []openapi.Object{
		{"type": "integer", "minimum": 0, "description": "Its id here; 0: none."},
		{"type": "string", "description": "Its id at WhatsApp, or its id here as text."},
	}}
}

func uploadRefSchema(rest.Ref) openapi.Object {
	return openapi.Object{"oneOf": []openapi.Object{
		{"type": "integer", "minimum": 0, "description": "The number of the upload; 0: none."},
		{"type": "string", "description": "The UUID of the upload, or its number as text."},
	}}
}

// flagSchema leaves out that a text is taken too: clients that send one exist
// already, and those that are generated should send what it is.
func flagSchema(rest.Ref) openapi.Object { return openapi.Object{"type": "boolean"} }

func recipientsSchema(r rest.Ref) openapi.Object {
	return openapi.Object{"type": "array", "items": openapi.Object{"oneOf": []openapi.Object{
		{"type": "string", "description": "A phone number with its country code."}, r(rest.TypeOf[mailing.Recipient]()),
	}}}
}

func oneOrMoreSchema(rest.Ref) openapi.Object {
	return openapi.Object{"oneOf": []openapi.Object{{"type": "string"}, {"type": "array", "items": openapi.Object{"type": "string"}}}}
}

// contactPayload is what a batch of contacts may have for its payload.
type contactPayload struct{}

func contactPayloadSchema(r rest.Ref) openapi.Object {
	one := r(rest.TypeOf[event.ContactContent]())
	return openapi.Object{"oneOf": []openapi.Object{one, r(rest.TypeOf[event.ContactsContent]()), {"type": "array", "items": one, "description": "The same as contacts."}}}
}

// variant is a message of a batch whose payload is a P.
type variant[P any] struct {
	Type    string
	Payload P
}

// variantOf describes the messages of a batch of these types.
func variantOf[P any](name string, kinds ...string) openapi.Type {
	return openapi.Type{Name: name, Schema: func(r rest.Ref) openapi.Object {
		kind := openapi.OneOf(kinds...)
		kind["type"], kind["description"] = "string", "What the message is."
		payload := r(rest.TypeOf[P]())
		payload["description"] = "The content of the message."
		return openapi.Object{
			"type": "object", "properties": openapi.Object{"type": kind, "payload": payload},
			"required": []string{"payload", "type"}, "additionalProperties": false,
		}
	}}
}

func batchMessagesSchema(r rest.Ref) openapi.Object {
	one := r(rest.TypeOf[event.BatchMessage]())
	return openapi.Object{"oneOf": []openapi.Object{one, {"type": "array", "items": one, "minItems": 1, "maxItems": batch.MaxParts}}}
}

func batchMessageSchema(r rest.Ref) openapi.Object {
	mapping, shapes := openapi.Object{}, []openapi.Object{}
	for _, v := range []struct {
		t     reflect.Type
		kinds []string
	}{
		{rest.TypeOf[variant[event.TextContent]](), []string{"text"}},
		{rest.TypeOf[variant[event.LinkContent]](), []string{"link"}},
		{rest.TypeOf[variant[event.MediaContent]](), []string{"media"}},
		{rest.TypeOf[variant[event.AudioContent]](), []string{"audio", "ptt", "whatsapp-audio", "whatsapp_audio"}},
		{rest.TypeOf[variant[contactPayload]](), []string{"contact"}},
		{rest.TypeOf[variant[event.LocationContent]](), []string{"location"}},
		{rest.TypeOf[variant[event.PollContent]](), []string{"poll"}},
		{rest.TypeOf[variant[event.StickerContent]](), []string{"sticker"}},
		{rest.TypeOf[variant[event.AlbumItems]](), []string{"album"}},
		{rest.TypeOf[variant[event.ForwardContent]](), []string{"forward"}},
	} {
		shape := r(v.t)
		shapes = append(shapes, shape)
		for _, kind := range v.kinds {
			mapping[kind] = shape["$ref"]
		}
	}
	return openapi.Object{"oneOf": shapes, "discriminator": openapi.Object{"propertyName": "type", "mapping": mapping}}
}
