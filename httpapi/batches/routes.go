package batches

import (
	"net/http"

	"postern/batch"
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
	return []rest.Route{
		{
			Method: "POST", Path: "/message/batches", Auth: rest.UserBearer, Right: rest.ScopeBatch, Check: a.KeyBatch, Handle: a.createBatch,
			ID: "createBatch", Summary: "Create a batch.", About: "It starts at once, or waits for its schedule or for a start command, depending on autoStart and schedule.",
			Once: true, In: rest.TypeOf[BatchRequest](), Status: http.StatusCreated, Out: rest.TypeOf[batch.View](),
			Example: `{"name":"Summer offer","instances":["sales"],"recipients":["4915112345678","4915187654321"],"message":{"type":"text","payload":{"text":"Half price until Sunday."}},"options":{"delay":{"minMs":1000,"maxMs":5000}}}`,
			Codes:   creation,
		},
		{
			Method: "POST", Path: "/message/batches/csv", Auth: rest.UserBearer, Right: rest.ScopeBatch, Check: a.KeyBatch, Handle: a.createBatchFromCSV,
			ID: "createBatchFromCSV", Summary: "Create a batch whose recipients are the rows of a file.",
			About: "The parts come in this order: batch, mapping (optional), file. The file is CSV, in UTF-8, UTF-16 or Windows-1252, separated by commas, semicolons, tabs or |; its first row names the columns.",
			Once:  true, Form: []string{"batch", "mapping"}, File: "file", Status: http.StatusCreated, Out: rest.TypeOf[batch.View](), Codes: creation.And(CodeInvalidCSV),
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
			About: "A row for each item, with a column for each variable. It is UTF-8 with a byte order mark; a cell that begins with = + - @ is preceded by an apostrophe.",
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
