package batches

import "postern/httpapi/rest"

// Routes returns the paths of the package, with their handlers.
func (a *API) Routes() []rest.Route {
	return rest.Describe([]rest.Route{
		{Method: "POST", Path: "/message/batches", Auth: rest.UserBearer, Right: rest.ScopeBatch, Check: a.KeyBatch, Handle: a.createBatch},
		{Method: "GET", Path: "/message/batches", Auth: rest.UserBearer, Right: rest.ScopeBatch, Check: a.KeyBatch, Handle: a.listBatchesByQuery},
		{Method: "POST", Path: "/message/batches/list", Auth: rest.UserBearer, Right: rest.ScopeBatch, Check: a.KeyBatch, Handle: a.listBatchesByBody},
		{Method: "GET", Path: "/message/batches/{id}", Auth: rest.UserBearer, Right: rest.ScopeBatch, Check: a.KeyBatch, Handle: a.showBatch},
		{Method: "DELETE", Path: "/message/batches/{id}", Auth: rest.UserBearer, Right: rest.ScopeBatch, Check: a.KeyBatch, Handle: a.deleteBatch},
		{Method: "GET", Path: "/message/batches/{id}/items", Auth: rest.UserBearer, Right: rest.ScopeBatch, Check: a.KeyBatch, Handle: a.listItems},
		{Method: "GET", Path: "/message/batches/{id}/items/{item}", Auth: rest.UserBearer, Right: rest.ScopeBatch, Check: a.KeyBatch, Handle: a.showItem},
		{Method: "GET", Path: "/message/batches/{id}/attempts", Auth: rest.UserBearer, Right: rest.ScopeBatch, Check: a.KeyBatch, Handle: a.listAttempts},
		{Method: "GET", Path: "/message/batches/{id}/processing", Auth: rest.UserBearer, Right: rest.ScopeBatch, Check: a.KeyBatch, Handle: a.showProcessing},
		{Method: "POST", Path: "/message/batches/{id}/start", Auth: rest.UserBearer, Right: rest.ScopeBatch, Check: a.KeyBatch, Handle: a.startBatch},
		{Method: "POST", Path: "/message/batches/{id}/pause", Auth: rest.UserBearer, Right: rest.ScopeBatch, Check: a.KeyBatch, Handle: a.pauseBatch},
		{Method: "POST", Path: "/message/batches/{id}/stop", Auth: rest.UserBearer, Right: rest.ScopeBatch, Check: a.KeyBatch, Handle: a.stopBatch},
		{Method: "GET", Path: "/admin/batches", Auth: rest.GlobalKey, Right: rest.Never, Handle: a.listAllBatches},
		{Method: "POST", Path: "/admin/batches/{id}/pause", Auth: rest.GlobalKey, Right: rest.Never, Handle: a.pauseAnyBatch},
		{Method: "POST", Path: "/admin/batches/{id}/stop", Auth: rest.GlobalKey, Right: rest.Never, Handle: a.stopAnyBatch},
	}, batchDescriptions())
}
