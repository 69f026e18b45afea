package batches

import (
	"net/http"

	"postern/batch"
	"postern/batch/optout"
	"postern/batch/paging"
	"postern/httpapi/openapi"
	"postern/httpapi/ref"
	"postern/httpapi/rest"
)

// Routes returns the paths of the package, with their handlers and what the documents say about them.
func (a *API) Routes() []rest.Route {
	filters := rest.Cursors("status", "instanceName", "createdFrom", "createdTo", "name", "query")
	items := rest.Cursors("status", "recipient", "instanceName")
	unknown := rest.Codes{"BATCH_NOT_FOUND"}
	command := unknown.And("INVALID_BATCH_TRANSITION")
	creation := rest.Codes{
		batch.InvalidName, batch.InvalidInstances, batch.InvalidRecipient, batch.TooManyRecipients, batch.InvalidMessage, batch.MissingVariable,
		batch.InvalidOptions, batch.InvalidSchedule, batch.InvalidAttributes, "UPLOAD_NOT_FOUND", "INVALID_MEDIA", ref.CodeNoQuoted, rest.CodeLimitReached, "BATCHES_BEING_CREATED",
	}
	optOuts := rest.Codes{codeInvalidRecipient, "INVALID_ARGUMENT", rest.CodeRecipientNotAllowed}
	dryRun := []openapi.Answer{{Status: http.StatusOK, Type: rest.TypeOf[DryRun](), About: "The answer of a dry run."}}
	return []rest.Route{
		{
			Method: "POST", Path: "/message/batches", Auth: rest.UserBearer, Right: rest.ScopeBatch, Check: a.KeyBatch, Handle: a.createBatch,
			ID: "createBatch", Summary: "Create a batch.", About: "It starts at once, or waits for its schedule or for a start command, depending on autoStart and schedule.",
			Once: true, In: rest.TypeOf[BatchRequest](), Status: http.StatusCreated, Out: rest.TypeOf[batch.View](),
			Also:    dryRun,
			Example: `{"name":"Summer offer","instances":["sales"],"recipients":["4915112345678","4915187654321"],"message":{"type":"text","payload":{"text":"Half price until Sunday."}},"options":{"delay":{"minMs":1000,"maxMs":5000}}}`,
			Codes:   creation,
		},
		{
			Method: "POST", Path: "/message/batches/csv", Auth: rest.UserBearer, Right: rest.ScopeBatch, Check: a.KeyBatch, Handle: a.createBatchFromCSV,
			ID: "createBatchFromCSV", Summary: "Create a batch whose recipients are the rows of a file.",
			About: "The parts come in this order: batch, mapping (optional), file. The file is CSV, in UTF-8, UTF-16 or Windows-1252, separated by commas, semicolons, tabs or |; its first row names the columns.",
			Once:  true, Form: []string{"batch", "mapping"}, File: "file", Status: http.StatusCreated, Out: rest.TypeOf[batch.View](), Also: dryRun, Codes: creation.And(CodeInvalidCSV, rest.CodeMalformedJSON),
		},
		{
			Method: "GET", Path: "/message/batches", Auth: rest.UserBearer, Right: rest.ScopeBatch, Check: a.KeyBatch, Handle: a.listBatchesByQuery,
			ID: "listBatches", Summary: "List batches, newest first.", About: boundedList, Query: filters, Out: rest.TypeOf[batch.List[batch.View]](), Codes: rest.Codes{rest.CodeNoCursor},
		},
		{
			Method: "POST", Path: "/message/batches/list", Auth: rest.UserBearer, Right: rest.ScopeBatch, Check: a.KeyBatch, Handle: a.listBatchesByBody,
			ID: "searchBatches", Summary: "List batches, newest first, with the filter in the body.", About: boundedList, In: rest.TypeOf[BatchFilter](), Example: `{"status":["PROCESSING","PAUSED"],"limit":50}`,
			Out: rest.TypeOf[batch.List[batch.View]](), Codes: rest.Codes{rest.CodeNoCursor, rest.CodeInvalidQuery},
		},
		{
			Method: "GET", Path: "/message/batches/{id}", Auth: rest.UserBearer, Right: rest.ScopeBatch, Check: a.KeyBatch, Handle: a.showBatch,
			ID: "getBatch", Summary: "Show a batch.", Out: rest.TypeOf[batch.View](), Codes: unknown,
		},
		{
			Method: "PATCH", Path: "/message/batches/{id}", Auth: rest.UserBearer, Right: rest.ScopeBatch, Check: a.KeyBatch, Handle: a.changeBatch,
			ID: "changeBatch", Summary: "Change the name, delay, schedule or instances of a batch that is DRAFT, SCHEDULED or PAUSED.",
			About: "Fields that are absent stay as they are. The others are changed all or none.",
			In:    rest.TypeOf[BatchChange](), Example: `{"name":"Autumn offer","options":{"delay":{"minMs":0,"maxMs":8000}}}`, Out: rest.TypeOf[batch.View](),
			Codes: command.And(batch.InvalidName, batch.InvalidInstances, batch.InvalidOptions, batch.InvalidSchedule),
		},
		{
			Method: "POST", Path: "/message/batches/{id}/recipients", Auth: rest.UserBearer, Right: rest.ScopeBatch, Check: a.KeyBatch, Handle: a.appendRecipients,
			ID: "appendBatchRecipients", Summary: "Append recipients to a draft.", About: "The rules are those of a creation with all recipients.",
			Once: true, In: rest.TypeOf[BatchRecipients](), Example: `{"recipients":["4915112345678"]}`, Out: rest.TypeOf[batch.View](),
			Codes: command.And(batch.InvalidRecipient, batch.TooManyRecipients, batch.MissingVariable, batch.InvalidMessage, "BATCHES_BEING_CREATED"),
		},
		{
			Method: "POST", Path: "/message/batches/{id}/retry", Auth: rest.UserBearer, Right: rest.ScopeBatch, Check: a.KeyBatch, Handle: a.retryBatch,
			ID: "retryBatch", Summary: "Create a batch for the recipients of a final one who did not get the message.",
			About: "It has the same message, variables and options, no schedule, and starts at once.",
			Once:  true, In: rest.TypeOf[BatchRetry](), Example: `{"status":["FAILED"],"codes":["SEND_MESSAGE_FAILED"]}`, Status: http.StatusCreated, Out: rest.TypeOf[RetriedBatch](),
			Codes: command.And(batch.InvalidRetry, batch.NothingToRetry, batch.InvalidName, batch.InvalidInstances, "UPLOAD_NOT_FOUND", "INVALID_MEDIA", rest.CodeLimitReached, "BATCHES_BEING_CREATED"),
		},
		{
			Method: "POST", Path: "/message/batches/{id}/check", Auth: rest.UserBearer, Right: rest.ScopeBatch, Check: a.KeyBatch, Handle: a.checkBatch,
			ID: "checkBatch", Summary: "Check a draft without sending anything.", About: "Up to 500 of its numbers are looked up on WhatsApp, 50 a second, by an instance that is online.",
			Out: rest.TypeOf[DryRun](), Codes: command.And(batch.InvalidSchedule, batch.MissingVariable, batch.InvalidMessage, "BATCHES_BEING_CREATED"),
		},
		{
			Method: "DELETE", Path: "/message/batches/{id}", Auth: rest.UserBearer, Right: rest.ScopeBatch, Check: a.KeyBatch, Handle: a.deleteBatch,
			ID: "deleteBatch", Summary: "Delete a final batch.", About: "The batch disappears at once. Its items are removed in the background, its events after their delivery.",
			Status: http.StatusNoContent, Codes: command,
		},
		{
			Method: "GET", Path: "/message/batches/{id}/items", Auth: rest.UserBearer, Right: rest.ScopeBatch, Check: a.KeyBatch, Handle: a.listItems,
			ID: "listBatchItems", Summary: "List a batch's items by position.", Query: items, Out: rest.TypeOf[batch.List[batch.Item]](), Codes: unknown.And(rest.CodeNoCursor),
		},
		{
			Method: "GET", Path: "/message/batches/{id}/items.csv", Auth: rest.UserBearer, Right: rest.ScopeBatch, Check: a.KeyBatch, Handle: a.itemsCSV,
			ID: "getBatchItemsCSV", Summary: "Get a batch's items as CSV.",
			About: "A row for each item, with a column for each variable. It is UTF-8 with a byte order mark; an apostrophe precedes = + - @ at the beginning of a cell and after a tab, ; | or the end of a line in it, so that no program reads a formula.",
			Media: "text/csv", Codes: unknown,
		},
		{
			Method: "GET", Path: "/message/batches/{id}/report.csv", Auth: rest.UserBearer, Right: rest.ScopeBatch, Check: a.KeyBatch, Handle: a.reportCSV,
			ID: "getBatchReportCSV", Summary: "Get a batch's items as CSV, with when their messages were delivered, read and answered.",
			About: "The file of getBatchItemsCSV with the columns deliveredAt, readAt and repliedAt before those of the variables.",
			Media: "text/csv", Codes: unknown,
		},
		{
			Method: "GET", Path: "/message/batches/{id}/insights", Auth: rest.UserBearer, Right: rest.ScopeBatch, Check: a.KeyBatch, Handle: a.showInsights,
			ID: "getBatchInsights", Summary: "Count the recipients who got, read and answered a batch's messages.",
			About: "It counts stored receipts and messages, each in the hour of its own time. A read message was delivered, too. A reply quotes a message of the batch, or is written within 7 days after it.",
			Out:   rest.TypeOf[Insights](), Codes: unknown,
		},
		{
			Method: "GET", Path: "/message/batches/{id}/items/{item}", Auth: rest.UserBearer, Right: rest.ScopeBatch, Check: a.KeyBatch, Handle: a.showItem,
			ID: "getBatchItem", Summary: "Show an item with its attempts.", Out: rest.TypeOf[batch.ItemWithAttempts](), Codes: unknown,
		},
		{
			Method: "GET", Path: "/message/batches/{id}/attempts", Auth: rest.UserBearer, Right: rest.ScopeBatch, Check: a.KeyBatch, Handle: a.listAttempts,
			ID: "listBatchAttempts", Summary: "List a batch's attempts by position.", Query: items, Out: rest.TypeOf[batch.List[batch.Attempt]](), Codes: unknown.And(rest.CodeNoCursor),
		},
		{
			Method: "GET", Path: "/message/batches/{id}/processing", Auth: rest.UserBearer, Right: rest.ScopeBatch, Check: a.KeyBatch, Handle: a.showProcessing,
			ID: "getBatchProcessing", Summary: "Show a batch with all its recipients and attempts.", Out: rest.TypeOf[Processing](), Codes: unknown,
		},
		{
			Method: "POST", Path: "/message/batches/{id}/start", Auth: rest.UserBearer, Right: rest.ScopeBatch, Check: a.KeyBatch, Handle: a.startBatch,
			ID: "startBatch", Summary: "Start or resume a batch.", Out: rest.TypeOf[batch.View](), Codes: command.And("INVALID_MEDIA"),
		},
		{
			Method: "POST", Path: "/message/batches/{id}/pause", Auth: rest.UserBearer, Right: rest.ScopeBatch, Check: a.KeyBatch, Handle: a.pauseBatch,
			ID: "pauseBatch", Summary: "Pause a batch.", Out: rest.TypeOf[batch.View](), Codes: command,
		},
		{
			Method: "POST", Path: "/message/batches/{id}/stop", Auth: rest.UserBearer, Right: rest.ScopeBatch, Check: a.KeyBatch, Handle: a.stopBatch,
			ID: "stopBatch", Summary: "Stop a batch permanently.", Out: rest.TypeOf[batch.View](), Codes: command,
		},
		{
			Method: "GET", Path: "/optouts", Auth: rest.UserBearer, Right: rest.ScopeBatch | rest.Everywhere, Handle: a.listOptOuts,
			ID: "listOptOuts", Summary: "List who opted out of the user's batches, by number.",
			Query: rest.Cursors(), Out: rest.TypeOf[paging.List[optout.Entry]](), Codes: rest.Codes{rest.CodeNoCursor},
		},
		{
			Method: "POST", Path: "/optouts", Auth: rest.UserBearer, Right: rest.ScopeBatch, Handle: a.addOptOuts,
			ID: "addOptOuts", Summary: "Add people who want no more batches of the user.",
			About: "Their items end SKIPPED with OPTED_OUT, in running batches too. An opt-out holds for all forms of a number and for the LID. Adding somebody again changes nothing.",
			In:    rest.TypeOf[OptOutRequest](), Example: `{"numbers":["4915112345678"],"reason":"asked by phone","source":"crm"}`, Out: rest.TypeOf[AddedOptOuts](), Codes: optOuts,
		},
		{
			Method: "DELETE", Path: "/optouts", Auth: rest.UserBearer, Right: rest.ScopeBatch | rest.Everywhere, Handle: rest.Audited("optout.delete", a.removeOptOuts),
			ID: "removeOptOuts", Summary: "Remove opt-outs of people who agreed to batches again.",
			In: rest.TypeOf[OptInRequest](), Example: `{"numbers":["4915112345678"]}`, Out: rest.TypeOf[RemovedOptOuts](), Codes: optOuts,
		},
		{
			Method: "POST", Path: "/optouts/csv", Auth: rest.UserBearer, Right: rest.ScopeBatch, Handle: a.importOptOuts,
			ID: "importOptOuts", Summary: "Add the people of a CSV table.",
			About: "The table is the file of the form, or the whole body as text/csv, in the encodings and with the separators of createBatchFromCSV, at most 100 000 rows and 10 MiB. The first column has the numbers, the second may have reasons; or a header names the columns number and reason. Nothing is added if a row is invalid.",
			Form:  []string{}, Out: rest.TypeOf[AddedOptOuts](), Codes: optOuts.And("INVALID_MEDIA", CodeInvalidCSV),
		},
		{
			Method: "GET", Path: "/admin/batches", Auth: rest.GlobalKey, Right: rest.Never, Handle: a.listAllBatches,
			ID: "listAllBatches", Summary: "List the batches of all users, newest first.",
			Query: rest.Cursors("ownerUserId", "status", "instanceName", "createdFrom", "createdTo", "name", "query"), Out: rest.TypeOf[batch.List[batch.View]](), Codes: rest.Codes{rest.CodeNoCursor},
		},
		{
			Method: "POST", Path: "/admin/batches/{id}/pause", Auth: rest.GlobalKey, Right: rest.Never, Handle: a.pauseAnyBatch,
			ID: "pauseAnyBatch", Summary: "Pause a batch of any user.", Out: rest.TypeOf[batch.View](), Codes: command,
		},
		{
			Method: "POST", Path: "/admin/batches/{id}/stop", Auth: rest.GlobalKey, Right: rest.Never, Handle: a.stopAnyBatch,
			ID: "stopAnyBatch", Summary: "Stop a batch of any user permanently.", Out: rest.TypeOf[batch.View](), Codes: command,
		},
	}
}

// boundedList is the text of lists whose filter may select few of many records.
const boundedList = "A call scans a bounded number of batches: with a filter other than status, a page may have fewer records than its limit, even none, and still a next page."
