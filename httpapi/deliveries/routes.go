package deliveries

import (
	"net/http"
	"slices"

	"postern/batch"
	"postern/httpapi/rest"
)

// Routes returns the paths of the package, with their handlers and what the documents say about them.
func (a *API) Routes() []rest.Route {
	return slices.Concat(a.deliveryRoutes(), a.outboxRoutes(), a.pullRoutes(), a.receiverRoutes())
}

func (a *API) deliveryRoutes() []rest.Route {
	filters := rest.Cursors("state", "event", "target", "endpointId", "from", "to", "minDurationMs", "query")
	const example = `{"from":"2026-03-01T12:00:00Z","to":"2026-03-01T13:00:00Z","events":["messages.upsert"],"state":["FAILED","DROPPED"],"target":"webhook"}`
	const replayAbout = "Oldest first, through the same queues as new events, which are not delayed. Each delivery gets a new record; deliveries that a replay has delivered are not selected again."
	const retryAbout = "One more attempt of the same record, in any state. A delivery that waits in an ordered line is not sent out of order: the first of its line, which waitsFor names, is sent now, and when it is accepted the others follow at once."
	var all []rest.Route
	for _, log := range []struct {
		base, list, get, retry, replay, status, cancel, whose string

		auth  rest.Scheme
		right rest.Right
	}{
		{"/instance/{i}/webhook", "listDeliveries", "getDelivery", "retryDelivery", "replayDeliveries", "getReplay", "cancelReplay", "the instance", rest.InstanceBearer, rest.ScopeDeliveries},
		{"/webhook", "listAllDeliveries", "getAnyDelivery", "retryAnyDelivery", "replayAllDeliveries", "getAnyReplay", "cancelAnyReplay", "all instances, and of batch events", rest.GlobalKey, rest.ScopeDeliveries | rest.Everywhere},
	} {
		all = append(all, []rest.Route{
			{
				Method: "GET", Path: log.base + "/deliveries", Auth: log.auth, Right: log.right, Handle: a.listDeliveries,
				ID: log.list, Summary: "List the webhook deliveries of " + log.whose + ", newest first.", Query: filters,
				Out: rest.TypeOf[batch.List[DeliveryRecord]](), Codes: rest.Codes{rest.CodeNoCursor},
			},
			{
				Method: "GET", Path: log.base + "/deliveries/{id}", Auth: log.auth, Right: log.right, Handle: a.showDelivery,
				ID: log.get, Summary: "Show a delivery with its body and attempts.", Out: rest.TypeOf[DeliveryDetails](), Codes: rest.Codes{"DELIVERY_NOT_FOUND"},
			},
			{
				Method: "POST", Path: log.base + "/deliveries/{id}/retry", Auth: log.auth, Right: log.right, Handle: a.retryDelivery,
				ID: log.retry, Summary: "Send a delivery now.", About: retryAbout,
				Status: http.StatusAccepted, Out: rest.TypeOf[DeliveryRecord](), Codes: rest.Codes{"DELIVERY_NOT_FOUND", "BODY_GONE", "ENDPOINT_GONE", "LOG_OFF"},
			},
			{
				Method: "POST", Path: log.base + "/deliveries/replay", Auth: log.auth, Right: log.right, Handle: a.replayDeliveries,
				ID: log.replay, Summary: "Send deliveries of " + log.whose + " again.", About: replayAbout, Once: true,
				In: rest.TypeOf[ReplayRequest](), Example: example, Status: http.StatusAccepted, Out: rest.TypeOf[ReplayAccepted](),
				Codes: rest.Codes{CodeInvalidReplay, "REPLAY_RUNNING", "LOG_OFF"},
			},
			{
				Method: "GET", Path: log.base + "/replays/{id}", Auth: log.auth, Right: log.right, Handle: a.showReplay,
				ID: log.status, Summary: "Show the progress of a replay.", Out: rest.TypeOf[ReplayStatus](), Codes: rest.Codes{CodeNoReplay},
			},
			{
				Method: "DELETE", Path: log.base + "/replays/{id}", Auth: log.auth, Right: log.right, Handle: a.cancelReplay,
				ID: log.cancel, Summary: "Stop a replay.", About: "Deliveries already started are not cancelled. A replay that has ended does not change.",
				Out: rest.TypeOf[ReplayStatus](), Codes: rest.Codes{CodeNoReplay},
			},
		}...)
	}
	return all
}

func (a *API) outboxRoutes() []rest.Route {
	return []rest.Route{
		{
			Method: "GET", Path: "/message/batches/{id}/events", Auth: rest.UserBearer, Right: rest.ScopeBatch, Check: a.CheckBatch, Handle: a.listEvents,
			ID: "listBatchEvents", Summary: "List a batch's events with their delivery, oldest first.", Query: rest.Cursors(),
			Out: rest.TypeOf[batch.List[OutboxRecord]](), Codes: rest.Codes{"BATCH_NOT_FOUND"}.And(rest.CodeNoCursor),
		},
		{
			Method: "GET", Path: "/outbox", Auth: rest.GlobalKey, Right: rest.Never, Handle: a.listOutbox,
			ID: "listOutbox", Summary: "List the batch events of all users with their delivery state, newest first.",
			Query: rest.Cursors("state"), Out: rest.TypeOf[batch.List[OutboxRecord]](), Codes: rest.Codes{rest.CodeNoCursor},
		},
		{
			Method: "POST", Path: "/outbox/retry", Auth: rest.GlobalKey, Right: rest.Never, Handle: a.retryOutbox,
			ID: "retryOutbox", Summary: "Retry all pending events now.", Out: rest.TypeOf[RetryAnswer](),
		},
		{
			Method: "POST", Path: "/outbox/{id}/retry", Auth: rest.GlobalKey, Right: rest.Never, Handle: a.retryEntry,
			ID: "retryOutboxEvent", Summary: "Retry a pending event now.", Out: rest.TypeOf[OutboxRecord](),
			Codes: rest.Codes{"OUTBOX_ENTRY_NOT_FOUND", "OUTBOX_ENTRY_NOT_PENDING", "ENDPOINT_GONE"},
		},
	}
}
