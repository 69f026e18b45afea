package httpapi

// route is one row of the route table. In path, a segment in braces is a
// parameter: {i} an instance name, {id} a batch, {item} an item of it.
type route struct {
	method string
	path   string
	auth   scheme
	handle func(*api, *call) error
}

// routes is every path of the program but those of a mounted handler. Legacy
// paths are in [aliases].
func routes() []route {
	return []route{
		{"GET", "/health", public, (*api).health},
		{"GET", "/ready", public, (*api).ready},

		{"POST", "/auth/user-token", globalKey, (*api).issueUserToken},

		{"GET", "/message/batches", userBearer, (*api).listBatchesByQuery},
		{"POST", "/message/batches/list", userBearer, (*api).listBatchesByBody},
		{"GET", "/message/batches/{id}", userBearer, (*api).showBatch},
		{"GET", "/message/batches/{id}/items", userBearer, (*api).listItems},
		{"GET", "/message/batches/{id}/items/{item}", userBearer, (*api).showItem},
		{"GET", "/message/batches/{id}/attempts", userBearer, (*api).listAttempts},
		{"POST", "/message/batches/{id}/start", userBearer, (*api).startBatch},
		{"POST", "/message/batches/{id}/pause", userBearer, (*api).pauseBatch},
		{"POST", "/message/batches/{id}/stop", userBearer, (*api).stopBatch},
	}
}
