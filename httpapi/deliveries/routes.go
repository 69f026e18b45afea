package deliveries

import "postern/httpapi/rest"

// Routes returns the paths of the package, with their handlers.
func (a *API) Routes() []rest.Route {
	return rest.Describe([]rest.Route{
		{Method: "GET", Path: "/instance/{i}/webhook/deliveries", Auth: rest.InstanceBearer, Right: rest.ScopeDeliveries, Handle: a.listDeliveries},
		{Method: "GET", Path: "/instance/{i}/webhook/deliveries/{id}", Auth: rest.InstanceBearer, Right: rest.ScopeDeliveries, Handle: a.showDelivery},
		{Method: "POST", Path: "/instance/{i}/webhook/deliveries/{id}/retry", Auth: rest.InstanceBearer, Right: rest.ScopeDeliveries, Handle: a.retryDelivery},
		{Method: "POST", Path: "/instance/{i}/webhook/deliveries/replay", Auth: rest.InstanceBearer, Right: rest.ScopeDeliveries, Handle: a.replayDeliveries},
		{Method: "GET", Path: "/instance/{i}/webhook/replays/{id}", Auth: rest.InstanceBearer, Right: rest.ScopeDeliveries, Handle: a.showReplay},
		{Method: "DELETE", Path: "/instance/{i}/webhook/replays/{id}", Auth: rest.InstanceBearer, Right: rest.ScopeDeliveries, Handle: a.cancelReplay},
		{Method: "GET", Path: "/message/batches/{id}/events", Auth: rest.UserBearer, Right: rest.ScopeBatch, Check: a.CheckBatch, Handle: a.listEvents},
		{Method: "GET", Path: "/outbox", Auth: rest.GlobalKey, Right: rest.Never, Handle: a.listOutbox},
		{Method: "POST", Path: "/outbox/retry", Auth: rest.GlobalKey, Right: rest.Never, Handle: a.retryOutbox},
		{Method: "POST", Path: "/outbox/{id}/retry", Auth: rest.GlobalKey, Right: rest.Never, Handle: a.retryEntry},
		{Method: "GET", Path: "/webhook/deliveries", Auth: rest.GlobalKey, Right: rest.ScopeDeliveries | rest.Everywhere, Handle: a.listDeliveries},
		{Method: "GET", Path: "/webhook/deliveries/{id}", Auth: rest.GlobalKey, Right: rest.ScopeDeliveries | rest.Everywhere, Handle: a.showDelivery},
		{Method: "POST", Path: "/webhook/deliveries/{id}/retry", Auth: rest.GlobalKey, Right: rest.ScopeDeliveries | rest.Everywhere, Handle: a.retryDelivery},
		{Method: "POST", Path: "/webhook/deliveries/replay", Auth: rest.GlobalKey, Right: rest.ScopeDeliveries | rest.Everywhere, Handle: a.replayDeliveries},
		{Method: "GET", Path: "/webhook/replays/{id}", Auth: rest.GlobalKey, Right: rest.ScopeDeliveries | rest.Everywhere, Handle: a.showReplay},
		{Method: "DELETE", Path: "/webhook/replays/{id}", Auth: rest.GlobalKey, Right: rest.ScopeDeliveries | rest.Everywhere, Handle: a.cancelReplay},
	}, deliveryDescriptions(), outboxDescriptions())
}
