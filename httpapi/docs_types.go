package httpapi

import (
	"encoding/json"
	"maps"
	"reflect"

	"postern/access"
	"postern/batch"
	"postern/delivery"
	"postern/event"
	"postern/httpapi/alerts"
	"postern/httpapi/openapi"
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
		body[errorBody]():                   {Name: "Error", About: "The body of every refusal."},
		body[event.InstanceStatus]():        {Name: "InstanceStatusUpdate", Words: "InstanceStatus"},
		body[event.State]():                 {Name: "ConnectionState", About: "The state of the connection of an instance."},
		body[event.Snapshot]():              {Name: "InstanceSnapshot", About: "An instance as it was when the event happened."},
		body[event.Message]():               {Name: "Message", About: "A message, sent or received."},
		body[event.Channel]():               {Name: "Newsletter"},
		body[batch.View]():                  {Name: "Batch", About: "A message for many recipients, and its progress."},
		body[batch.Item]():                  {Name: "BatchItem", About: "One recipient of a batch."},
		body[batch.Attempt]():               {Name: "BatchAttempt", About: "One attempt to send an item."},
		body[event.BatchView]():             {Name: "EventBatch", Words: "Batch", About: "A batch as events report it. The times of its phases are present only in the events of these phases."},
		body[event.BatchProgressReduced]():  {Words: "Batch"},
		body[event.BatchCompletedReduced](): {Words: "Batch"},
		body[event.BatchInstanceReduced]():  {Words: "BatchInstance"},
		body[batchOptions]():                {Name: "CreateBatchOptions", Words: "BatchOptions"},
		body[batch.Held]():                  {Name: "BatchHeld", About: "What keeps an instance of a batch from sending now."},
		body[processing]():                  {Name: "BatchProcessing", About: "A batch with all its recipients and attempts."},
		body[batchFilter]():                 {Name: "BatchFilter"},
		body[joinRequest]():                 {Name: "JoinGroupRequest"},
		body[createRequest]():               {Name: "CreateInstanceRequest"},
		body[batchRequest]():                {Name: "CreateBatchRequest"},
		body[muteRequest]():                 {Name: "MuteChatRequest"},
		body[muteAnswer]():                  {Name: "NewsletterMuteAnswer"},
		body[tryRequest]():                  {Name: "TestWebhookRequest"},
		body[tryAnswer]():                   {Name: "TestWebhookAnswer"},
		body[proxyView]():                   {Name: "Proxy", About: "The proxy of an instance, without the password."},
		body[uploadView]():                  {Name: "Upload", About: "A file stored at WhatsApp, without its decryption keys."},

		body[proxy.Use]():  {Name: "ProxyUse", About: "What goes through a proxy.", Schema: openapi.Words(proxy.Uses()...)},
		body[proxy.Step](): {Name: "ProxyStep", About: "A step of a dial through a proxy.", Schema: openapi.Words(proxy.Resolve, proxy.Connect, proxy.Auth, proxy.TLS)},

		body[SettingList]():    {Name: "SettingList", About: "The configuration in effect."},
		body[ConfigSetting]():  {Name: "ConfigSetting", About: "A setting of the configuration, with secrets masked."},
		body[SettingValue]():   {Name: "SettingValue", About: "The value of a setting.", Schema: settingSchema},
		body[consoleMessage](): {Name: "ConsoleMessage", About: "A change. type determines which other fields are present."},
		body[sampleList]():     {Name: "SampleList"},
		body[minuteShown]():    {Name: "Sample", About: "Figures of the program for one minute."},
		body[backupState]():    {Name: "BackupState", About: "The state of scheduled backups."},

		body[alerts.Notification](): {Name: "Notification", Open: true, About: "A post of a monitoring system: alerts, as Alertmanager and Grafana post them, or a title or message. Other fields are ignored."},
		body[alerts.Alert]():        {Name: "Alert", Open: true, About: "A firing or resolved alert."},
		body[notifyAnswer]():        {Name: "NotifyAnswer", About: "The result of a notification."},

		body[portalState]():  {Name: "PortalState", About: "What the page of a portal link shows."},
		body[keyView]():      {Name: "Key", About: "A scoped key, without its text."},
		body[createdKey]():   {Name: "CreatedKey", Words: "Key", About: "A scoped key as created, with its text."},
		body[keyRate]():      {Name: "KeyRate", About: "How many requests a scoped key may make."},
		body[auditRecord]():  {Name: "AuditRecord", About: "One change, and who made it."},
		body[access.Scope](): {Name: "KeyScope", About: "What a scoped key may do.", Schema: openapi.Words(access.Scopes()...)},

		body[outboxRecord]():      {Name: "OutboxEvent", About: "An event for the global webhook, without its body."},
		body[deliveryRecord]():    {Name: "Delivery", About: "One event for one destination, without its body."},
		body[deliveryDetails]():   {Name: "DeliveryDetails", Words: "Delivery", About: "A delivery with its body and attempts."},
		body[deliveryAttempt]():   {Name: "DeliveryAttempt", About: "One attempt of a delivery."},
		body[replayRequest]():     {Name: "ReplayRequest"},
		body[replayAccepted]():    {Name: "ReplayAccepted"},
		body[replayStatus]():      {Name: "Replay", About: "The progress of a replay of deliveries."},
		body[delivery.State]():    {Name: "DeliveryState", About: "The state of a delivery.", Schema: openapi.Words(delivery.States()...)},
		body[instance.Settings](): {Name: "InstanceSettings", About: "The automatic behaviour of an instance."},
		body[pace.Limits]():       {Name: "InstanceLimits", About: "What an instance may send."},
		body[pace.WarmUp]():       {Name: "WarmUp"},
		body[pace.QuietHours]():   {Name: "QuietHours"},
		body[pace.Jitter]():       {Name: "Jitter"},
		body[pace.Status]():       {Name: "LimitStatus", About: "Usage of an instance's limits; limits that are not set are absent."},
		body[pace.Use]():          {Name: "LimitUse", About: "How much of a limit is used."},
		body[webhooks.Webhook]():  {Name: "Webhook", About: "The destination of an instance's events, and which events it gets."},
		body[listedInstance]():    {Name: "Instance", About: "An instance as the operator sees it."},

		body[batch.ItemWithAttempts]():         {Name: "BatchItemWithAttempts"},
		body[batch.List[batch.View]]():         {Name: "BatchList"},
		body[batch.List[batch.Item]]():         {Name: "BatchItemList"},
		body[batch.List[batch.Attempt]]():      {Name: "BatchAttemptList"},
		body[batch.List[outboxRecord]]():       {Name: "OutboxEventList"},
		body[batch.List[deliveryRecord]]():     {Name: "DeliveryList"},
		body[batch.List[uploadView]]():         {Name: "UploadList"},
		body[batch.List[keyView]]():            {Name: "KeyList"},
		body[auditList]():                      {Name: "AuditList"},
		body[picturedGroup]():                  {Name: "GroupWithPicture", About: "A group as the account sees it, with its new picture."},
		body[fileAnswer]():                     {Name: "MediaFile", About: "The file of a message."},
		body[event.GroupUpsert]():              {Name: "Group", About: "A group as the account sees it."},
		body[event.GroupParticipantsUpdate]():  {Name: "GroupParticipantsUpdate"},
		body[messages.Stored]():                {Name: "StoredMessage", About: "A message with what became of it."},
		body[sentMessage]():                    {Name: "SentMessage", About: "The message that was sent, as it is stored.", Answers: true, Schema: sentMessageSchema},
		body[batchMessage]():                   {Schema: func(r ref) object { return r(body[event.BatchMessage]()) }},
		body[event.BatchMessage]():             {Name: "BatchMessage", About: "What a batch sends: type names the form of payload.", Schema: batchMessageSchema},
		body[variant[event.TextContent]]():     variantOf[event.TextContent]("TextBatchMessage", "text"),
		body[variant[event.LinkContent]]():     variantOf[event.LinkContent]("LinkBatchMessage", "link"),
		body[variant[event.MediaContent]]():    variantOf[event.MediaContent]("MediaBatchMessage", "media"),
		body[variant[event.AudioContent]]():    variantOf[event.AudioContent]("AudioBatchMessage", "audio", "ptt", "whatsapp-audio", "whatsapp_audio"),
		body[variant[contactPayload]]():        variantOf[contactPayload]("ContactBatchMessage", "contact"),
		body[variant[event.LocationContent]](): variantOf[event.LocationContent]("LocationBatchMessage", "location"),
		body[event.BatchStatus]():              {Name: "BatchStatus", About: "The status of a batch. No event reports DRAFT.", Schema: openapi.Words(batchStatuses()...)},
		body[stateInCapitals]():                {Name: "ConnectionStatus", About: "The state of the connection of an instance, in capitals.", Schema: openapi.Words(statesInCapitals()...)},
		body[messageRef]():                     {Name: "MessageRef", About: "A stored message: a number is its id here, a string its id at WhatsApp.", Schema: messageRefSchema},
		body[quotedRef]():                      {Name: "QuotedMessageRef", About: "A stored message to answer: a number is its id here, a string its id at WhatsApp.", Schema: quotedRefSchema},
		body[event.UploadID]():                 {Name: "UploadRef", About: "An upload, by either of its ids: a number, or a UUID.", Schema: uploadRefSchema},
		body[messageCursor]():                  {Name: "MessageCursor", About: "The start of a page of messages.", Schema: messageCursorSchema},
		body[messagePlace]():                   {Name: "MessagePlace", About: "The page beside a message."},
		body[contactPayload]():                 {Schema: contactPayloadSchema},
		body[flag]():                           {Schema: flagSchema},
		body[oneOrMore]():                      {Schema: oneOrMoreSchema},
		body[batch.Packed]():                   {Schema: textsSchema},
		body[strict.Object]():                  {Schema: openapi.AnyObject},
		body[event.Attributes]():               {Schema: openapi.AnyObject},
		body[json.RawMessage]():                {Schema: openapi.AnyObject},
		body[batch.ItemStatus]():               {Name: "BatchItemStatus", Schema: openapi.Words(batch.ItemPending, batch.ItemSending, batch.ItemSuccess, batch.ItemFailed, batch.ItemSkipped, batch.ItemUnknown)},
		body[batch.AttemptStatus]():            {Name: "BatchAttemptStatus", Schema: openapi.Words(batch.AttemptSending, batch.AttemptSuccess, batch.AttemptFailed, batch.AttemptUnavailable, batch.AttemptUnknown)},
	}
	maps.Copy(all, optionsTypes())
	return all
}

// stateInCapitals is a state as the answers about the connection write it.
type stateInCapitals string

func statesInCapitals() (all []stateInCapitals) {
	for _, s := range event.States() {
		all = append(all, stateInCapitals(upper(s)))
	}
	return all
}

// sentMessage is a stored message as the answer to a send.
type sentMessage struct{}

// sentMessageSchema has the field that identifies the other answer to a send, so that
// generated types can distinguish the two. A field of type null would say more exactly
// that it is absent, but clients of openapi-fetch drop those.
func sentMessageSchema(r ref) object {
	status := object{"type": "string", "enum": []any{"sent"}, "description": "Absent. In an answer with the status 202 it is processing."}
	return object{"allOf": []object{r(body[event.Message]()), {"type": "object", "properties": object{"status": status}}}}
}

type ref = func(reflect.Type) object

func messageRefSchema(ref) object {
	return object{"oneOf": []object{
		{"type": "integer", "minimum": 1, "description": "The id of the message here."},
		{"type": "string", "minLength": 1, "description": "The id of the message at WhatsApp."},
	}}
}

func quotedRefSchema(ref) object {
	return object{"oneOf": []object{
		{"type": "integer", "minimum": 0, "description": "The id of the message here; 0: none."},
		{"type": "string", "minLength": 1, "description": "The id of the message at WhatsApp."},
	}}
}

func messageCursorSchema(r ref) object {
	return object{"oneOf": []object{
		{"type": "string", "description": "A cursor of pageInfo."},
		r(body[messagePlace]()),
	}}
}

func uploadRefSchema(ref) object {
	return object{"oneOf": []object{
		{"type": "integer", "minimum": 0, "description": "The number of the upload; 0: none."},
		{"type": "string", "description": "The UUID of the upload, or its number as text."},
	}}
}

// flagSchema leaves out that a text is taken too: clients that send one exist
// already, and those that are generated should send what it is.
func flagSchema(ref) object { return object{"type": "boolean"} }

func textsSchema(ref) object {
	return object{"type": "array", "items": object{"type": "string"}}
}

func oneOrMoreSchema(ref) object {
	return object{"oneOf": []object{{"type": "string"}, {"type": "array", "items": object{"type": "string"}}}}
}

// contactPayload is what a batch of contacts may have for its payload.
type contactPayload struct{}

func contactPayloadSchema(r ref) object {
	one := r(body[event.ContactContent]())
	return object{"oneOf": []object{one, r(body[event.ContactsContent]()), {"type": "array", "items": one, "description": "The same as contacts."}}}
}

// variant is a message of a batch whose payload is a P.
type variant[P any] struct {
	Type    string
	Payload P
}

// variantOf describes the messages of a batch of these types.
func variantOf[P any](name string, kinds ...string) openapi.Type {
	return openapi.Type{Name: name, Schema: func(r ref) object {
		kind := openapi.OneOf(kinds...)
		kind["type"], kind["description"] = "string", "What the message is."
		payload := r(body[P]())
		payload["description"] = "The content of the message."
		return object{
			"type": "object", "properties": object{"type": kind, "payload": payload},
			"required": []string{"payload", "type"}, "additionalProperties": false,
		}
	}}
}

func batchMessageSchema(r ref) object {
	mapping, shapes := object{}, []object{}
	for _, v := range []struct {
		t     reflect.Type
		kinds []string
	}{
		{body[variant[event.TextContent]](), []string{"text"}},
		{body[variant[event.LinkContent]](), []string{"link"}},
		{body[variant[event.MediaContent]](), []string{"media"}},
		{body[variant[event.AudioContent]](), []string{"audio", "ptt", "whatsapp-audio", "whatsapp_audio"}},
		{body[variant[contactPayload]](), []string{"contact"}},
		{body[variant[event.LocationContent]](), []string{"location"}},
	} {
		shape := r(v.t)
		shapes = append(shapes, shape)
		for _, kind := range v.kinds {
			mapping[kind] = shape["$ref"]
		}
	}
	return object{"oneOf": shapes, "discriminator": object{"propertyName": "type", "mapping": mapping}}
}
