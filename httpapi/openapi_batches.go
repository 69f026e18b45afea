package httpapi

import (
	"net/http"

	"postern/batch"
)

func batchDescriptions() map[string]description {
	filters := cursors("status", "instanceName", "createdFrom", "createdTo", "name", "query")
	items := cursors("status", "recipient", "instanceName")
	unknown := codes{"BATCH_NOT_FOUND"}
	command := unknown.and("INVALID_BATCH_TRANSITION")
	return map[string]description{
		"POST /message/batches": {
			id: "createBatch", summary: "Create a batch.", about: "It starts at once, or waits for its schedule or for a command, as autoStart and schedule say.",
			once: true, in: body[batchRequest](), status: http.StatusCreated, out: body[batch.View](),
			example: `{"name":"Summer offer","instances":["sales"],"recipients":["4915112345678","4915187654321"],"message":{"type":"text","payload":{"text":"Half price until Sunday."}},"options":{"delay":{"minMs":1000,"maxMs":5000}}}`,
			codes: codes{
				batch.InvalidName, batch.InvalidInstances, batch.InvalidRecipient, batch.TooManyRecipients, batch.InvalidMessage,
				batch.InvalidOptions, batch.InvalidSchedule, batch.InvalidAttributes, "UPLOAD_NOT_FOUND", "INVALID_MEDIA", codeNoQuoted, codeLimitReached,
			},
		},
		"GET /message/batches": {
			id: "listBatches", summary: "List batches, newest first.", query: filters, out: body[batch.List[batch.View]](), codes: codes{codeNoCursor},
		},
		"POST /message/batches/list": {
			id: "searchBatches", summary: "List batches, newest first, by a body.", in: body[batchFilter](), example: `{"status":["PROCESSING","PAUSED"],"limit":50}`,
			out: body[batch.List[batch.View]](), codes: codes{codeNoCursor, codeInvalidQuery},
		},
		"GET /message/batches/{id}": {id: "getBatch", summary: "Show a batch.", out: body[batch.View](), codes: unknown},
		"GET /message/batches/{id}/items": {
			id: "listBatchItems", summary: "List a batch's items by position.", query: items, out: body[batch.List[batch.Item]](), codes: unknown.and(codeNoCursor),
		},
		"GET /message/batches/{id}/items/{item}": {id: "getBatchItem", summary: "Show an item with its attempts.", out: body[batch.ItemWithAttempts](), codes: unknown},
		"GET /message/batches/{id}/attempts": {
			id: "listBatchAttempts", summary: "List a batch's attempts by position.", query: items, out: body[batch.List[batch.Attempt]](), codes: unknown.and(codeNoCursor),
		},
		"GET /message/batches/{id}/processing": {
			id: "getBatchProcessing", summary: "Show a batch with all its recipients and attempts.", out: body[processing](), codes: unknown,
		},
		"POST /message/batches/{id}/start": {id: "startBatch", summary: "Start a batch, or go on with it.", out: body[batch.View](), codes: command},
		"POST /message/batches/{id}/pause": {id: "pauseBatch", summary: "Pause a batch.", out: body[batch.View](), codes: command},
		"POST /message/batches/{id}/stop":  {id: "stopBatch", summary: "Stop a batch for good.", out: body[batch.View](), codes: command},
		"DELETE /message/batches/{id}": {
			id: "deleteBatch", summary: "Delete a final batch.", about: "It is gone at once. Its items are removed in the background, its events once they are delivered.",
			status: http.StatusNoContent, codes: command,
		},
		"GET /admin/batches": {
			id: "listAllBatches", summary: "List the batches of all users, newest first.",
			query: cursors("ownerUserId", "status", "instanceName", "createdFrom", "createdTo", "name", "query"), out: body[batch.List[batch.View]](), codes: codes{codeNoCursor},
		},
		"POST /admin/batches/{id}/pause": {id: "pauseAnyBatch", summary: "Pause a batch of any user.", out: body[batch.View](), codes: command},
		"POST /admin/batches/{id}/stop":  {id: "stopAnyBatch", summary: "Stop a batch of any user for good.", out: body[batch.View](), codes: command},
		"GET /message/batches/{id}/events": {
			id: "listBatchEvents", summary: "List a batch's events with their delivery, oldest first.", query: cursors(),
			out: body[batch.List[outboxRecord]](), codes: unknown.and(codeNoCursor),
		},
	}
}
