package operator

import "postern/httpapi/rest"

// Routes returns the paths of the package, with their handlers.
func (a *API) Routes() []rest.Route {
	return rest.Describe([]rest.Route{
		{Method: "GET", Path: "/health", Auth: rest.Public, Right: rest.Never, Handle: a.health},
		{Method: "GET", Path: "/ready", Auth: rest.Public, Right: rest.Never, Handle: a.ShowReady},
		{Method: "POST", Path: "/keys", Auth: rest.GlobalKey, Right: rest.Never, Handle: rest.Audited("key.create", a.createKey)},
		{Method: "GET", Path: "/keys", Auth: rest.GlobalKey, Right: rest.Never, Handle: a.listKeys},
		{Method: "GET", Path: "/keys/{id}", Auth: rest.GlobalKey, Right: rest.Never, Handle: a.showKey},
		{Method: "PATCH", Path: "/keys/{id}", Auth: rest.GlobalKey, Right: rest.Never, Handle: rest.Audited("key.change", a.changeKey)},
		{Method: "DELETE", Path: "/keys/{id}", Auth: rest.GlobalKey, Right: rest.Never, Handle: rest.Audited("key.delete", a.deleteKey)},
		{Method: "GET", Path: "/audit", Auth: rest.GlobalKey, Right: rest.Never, Handle: a.listAudit},
		{Method: "POST", Path: "/session", Auth: rest.SignIn, Right: rest.AnyScope, Handle: a.fewSignIns(rest.Audited("session.create", a.beginSession))},
		{Method: "GET", Path: "/session", Auth: rest.AnyKey, Right: rest.AnyScope, Handle: a.showSession},
		{Method: "POST", Path: "/session/calls", Auth: rest.AnyKey, Right: rest.AnyScope, Handle: a.noteCall},
		{Method: "DELETE", Path: "/session", Auth: rest.AnyKey, Right: rest.AnyScope, Handle: a.endSession},
		{Method: "POST", Path: "/auth/user-token", Auth: rest.GlobalKey, Right: rest.Never, Handle: rest.Audited("token.create", a.issueUserToken)},
		{Method: "POST", Path: "/admin/backup", Auth: rest.GlobalKey, Right: rest.Never, Handle: rest.Audited("backup.create", a.makeBackup)},
		{Method: "POST", Path: "/admin/check", Auth: rest.GlobalKey, Right: rest.Never, Handle: a.checkData},
		{Method: "GET", Path: "/admin/log", Auth: rest.GlobalKey, Right: rest.Never, Handle: a.showLog},
		{Method: "PUT", Path: "/admin/log", Auth: rest.GlobalKey, Right: rest.Never, Handle: rest.Audited("log.change", a.putLog)},
		{Method: "DELETE", Path: "/admin/log", Auth: rest.GlobalKey, Right: rest.Never, Handle: rest.Audited("log.reset", a.resetLog)},
		{Method: "GET", Path: "/admin/log/lines", Auth: rest.GlobalKey, Right: rest.Never, Handle: a.showLogLines},
		{Method: "GET", Path: "/admin/cluster", Auth: rest.GlobalKey, Right: rest.Never, Handle: a.showCluster},
		{Method: "GET", Path: "/admin/config", Auth: rest.GlobalKey, Right: rest.Never, Handle: a.showConfig},
		{Method: "GET", Path: "/admin/support", Auth: rest.GlobalKey, Right: rest.Never, Handle: a.makeSupport},
		{Method: "GET", Path: "/admin/stats", Auth: rest.GlobalKey, Right: rest.Never, Handle: a.showStats},
		{Method: "GET", Path: "/admin/samples", Auth: rest.GlobalKey, Right: rest.Never, Handle: a.listSamples},
		{Method: "GET", Path: "/admin/profile/heap", Auth: rest.GlobalKey, Right: rest.Never, Handle: a.profileMemory},
		{Method: "GET", Path: "/admin/profile/goroutine", Auth: rest.GlobalKey, Right: rest.Never, Handle: a.profileGoroutines},
		{Method: "GET", Path: "/admin/profile/cpu", Auth: rest.GlobalKey, Right: rest.Never, Handle: a.profileProcessor},
	}, accessDescriptions(), viewDescriptions(), operationDescriptions())
}
