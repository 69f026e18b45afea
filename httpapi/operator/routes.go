package operator

import (
	"net/http"
	"slices"

	"postern/batch"
	"postern/cluster"
	"postern/httpapi/openapi"
	"postern/httpapi/rest"
	"postern/store"
)

// Routes returns the paths of the package, with their handlers and what the documents say about them.
func (a *API) Routes() []rest.Route {
	return slices.Concat(a.accessRoutes(), a.viewRoutes(), a.operationRoutes())
}

func (a *API) accessRoutes() []rest.Route {
	return []rest.Route{
		{
			Method: "POST", Path: "/keys", Auth: rest.GlobalKey, Secret: true, Right: rest.Never, Handle: rest.Audited("key.create", a.createKey),
			ID: "createKey", Summary: "Create a scoped key.", About: "Only this answer has the key's text: the program stores its SHA-256.",
			In:      rest.TypeOf[createKeyRequest](),
			Example: `{"name":"monitoring","instances":["*"],"scopes":["read","metrics"]}`,
			Status:  http.StatusCreated, Out: rest.TypeOf[CreatedKey](), Codes: rest.Codes{rest.CodeInvalidKeyRule, rest.CodeLimitReached, "DISK_FULL"},
		},
		{
			Method: "GET", Path: "/keys", Auth: rest.GlobalKey, Right: rest.Never, Handle: a.listKeys,
			ID: "listKeys", Summary: "List the scoped keys, newest first, including expired ones.", Query: rest.Cursors(), Out: rest.TypeOf[batch.List[KeyView]](), Codes: rest.Codes{rest.CodeNoCursor},
		},
		{
			Method: "GET", Path: "/keys/{id}", Auth: rest.GlobalKey, Right: rest.Never, Handle: a.showKey,
			ID: "getKey", Summary: "Show a scoped key, and what keeps running when it is deleted.", Out: rest.TypeOf[ShownKey](), Codes: rest.Codes{"KEY_NOT_FOUND"},
		},
		{
			Method: "PATCH", Path: "/keys/{id}", Auth: rest.GlobalKey, Right: rest.Never, Handle: rest.Audited("key.change", a.changeKey),
			ID: "changeKey", Summary: "Change the name, instances, recipients, rate limit or expiry of a scoped key.",
			About: "Its scopes cannot be changed. When the change narrows the key or shortens its life, its WebSockets are closed with 4003.",
			In:    rest.TypeOf[changeKeyRequest](), Example: `{"expiresAt":"2027-01-01T00:00:00Z"}`, Out: rest.TypeOf[KeyView](), Codes: rest.Codes{"KEY_NOT_FOUND", rest.CodeInvalidKeyRule},
		},
		{
			Method: "DELETE", Path: "/keys/{id}", Auth: rest.GlobalKey, Right: rest.Never, Handle: rest.Audited("key.delete", a.deleteKey),
			ID: "deleteKey", Summary: "Revoke a scoped key and close its WebSockets.",
			About: "The answer is the key as it was; `batches` and `webhooks` list what it leaves running. With `stop=true` its unfinished batches are stopped, as by POST /message/batches/{id}/stop, and the webhooks and endpoints that it changed last get `enabled: false`; `stopped` has both. " +
				"When such a call fails half-way, or the program ends, the key is already deleted; repeating the call, or the next start, does the rest.",
			Query: []string{"stop"}, Out: rest.TypeOf[DeletedKey](), Codes: rest.Codes{"KEY_NOT_FOUND", "DISK_FULL"},
		},
		{
			Method: "GET", Path: "/audit", Auth: rest.GlobalKey, Right: rest.Never, Handle: a.listAudit,
			ID: "listAudit", Summary: "List the audit log, newest first.",
			About: "An actor adds at most 60 records in a minute; its further changes are combined into one record with the action `audit.more` and their number in `count`, written by the end of the minute. A request scans at most 20,000 records: with a filter, a page may have fewer records than its limit, even none, and still a nextCursor. Continue until it is null.",
			Query: rest.Cursors("actor", "action", "subject", "since", "until"), Out: rest.TypeOf[AuditList](), Codes: rest.Codes{rest.CodeNoCursor},
		},
		{
			Method: "POST", Path: "/session", Auth: rest.SignIn, Secret: true, Right: rest.AnyScope, Handle: a.fewSignIns(rest.Audited("session.create", a.beginSession)),
			ID: "beginSession", Summary: "Sign a browser in.",
			About: "The answer sets the cookie postern_session (over https `__Host-postern_session`, with eight hex digits behind it below a base path), which acts for the key for at most twelve hours. Requests with that cookie that change something need csrf in the header x-postern-csrf. " +
				"The session of the GlobalApiKey opens every instance too and, with the UUID of a user in the header x-postern-user, that user's batches. An address can start at most ten sessions a minute.",
			Status: http.StatusCreated, Out: rest.TypeOf[BegunSession](), Codes: rest.Codes{"DISK_FULL", rest.CodeRateLimited},
		},
		{
			Method: "GET", Path: "/session", Auth: rest.AnyKey, Right: rest.AnyScope, Handle: a.showSession,
			ID: "getSession", Summary: "Show what the key, or the session of the cookie, may do.", Out: rest.TypeOf[ShownSession](),
		},
		{
			Method: "POST", Path: "/session/calls", Auth: rest.AnyKey, Right: rest.AnyScope, Handle: a.noteCall,
			ID: "noteAgentCall", Summary: "Record in the audit log what an agent did with the scoped key.", About: "For programs that serve agents, such as `postern mcp`: 120 calls a minute, and 256 at once. Calls at /mcp are recorded without it.",
			In: rest.TypeOf[agentCall](), Example: `{"tool":"send_message","outcome":"done","instance":"sales"}`, Status: http.StatusNoContent, Codes: rest.Codes{"INVALID_ARGUMENT", "DISK_FULL", rest.CodeScope, rest.CodeRateLimited},
		},
		{
			Method: "DELETE", Path: "/session", Auth: rest.AnyKey, Right: rest.AnyScope, Handle: a.endSession,
			ID: "endSession", Summary: "Sign the browser out, and close the WebSockets of the session.",
			About: "With `all=true` it ends all sessions of the same key; the key itself may do that without a session.",
			Query: []string{"all"}, Status: http.StatusNoContent,
		},
	}
}

func (a *API) viewRoutes() []rest.Route {
	return []rest.Route{
		{
			Method: "GET", Path: "/admin/cluster", Auth: rest.GlobalKey, Right: rest.Never, Handle: a.showCluster,
			ID: "getCluster", Summary: "Show which node owns the data, and how far the others are.",
			About: "Only with `store.url`. Every node answers for itself. `owner` is null while no lease is valid, `engine` while the database does not answer. `nodes` has the nodes that live and, with the role `gone`, those that went within the last hour.",
			Out:   rest.TypeOf[cluster.CellStatus](), Codes: rest.Codes{CodeNotClustered},
		},
		{
			Method: "GET", Path: "/admin/config", Auth: rest.GlobalKey, Right: rest.Never, Handle: a.showConfig,
			ID: "getConfig", Summary: "Show the configuration in effect, each setting with its source.",
			About: "Secrets are masked, and URLs are shown with scheme, host and port only.",
			Out:   rest.TypeOf[SettingList](),
		},
		{
			Method: "GET", Path: "/admin/support", Auth: rest.GlobalKey, Right: rest.Never, Handle: a.makeSupport,
			ID: "makeSupportBundle", Summary: "Get a redacted support bundle, as a zip file of plain text.",
			About: "The same file as `postern support` writes. The answer takes some ten seconds, because it has two readings of the metrics. Only one bundle is written at a time.",
			Media: mediaZip, Codes: rest.Codes{rest.CodeNotFound, CodeSupport},
		},
		{
			Method: "GET", Path: "/admin/samples", Auth: rest.GlobalKey, Right: rest.Never, Handle: a.listSamples,
			ID: "listSamples", Summary: "List samples of the program, one per minute of the last day, or one per hour of the last 30 days.",
			About: "They outlive a restart. Minutes and hours are missing when the program did not run, the machine slept or its clock was changed. The last sample is the current minute or hour.",
			Query: []string{"since", "interval"}, Out: rest.TypeOf[SampleList](),
		},
	}
}

func (a *API) operationRoutes() []rest.Route {
	profileCodes := rest.Codes{CodeProfiling, rest.CodeInvalidQuery}
	return []rest.Route{
		{
			Method: "GET", Path: "/health", Auth: rest.Public, Right: rest.Never, Handle: a.health,
			ID: "getHealth", Summary: "Check whether the process is alive.", Out: rest.TypeOf[Health](),
		},
		{
			Method: "GET", Path: "/ready", Auth: rest.Public, Right: rest.Never, Handle: a.ShowReady,
			ID: "getReadiness", Summary: "Check whether the program can do its work, and if not, why.", Out: rest.TypeOf[Health](),
			Also: []openapi.Answer{{Status: http.StatusServiceUnavailable, Type: rest.TypeOf[Health](), About: "The program cannot do its work; reasons says why."}},
		},
		{
			Method: "GET", Path: "/troubles", Auth: rest.GlobalKey, Right: rest.ScopeRead, Handle: a.showTroubles,
			ID: "listTroubles", Summary: "List what is wrong, the worst first.",
			About: "One item for each kind and, for receivers, each origin, with the worst of its subjects. A scoped key sees what concerns its instances; the deliveries, batches and the program need their own rights. The answer has an ETag.",
			Out:   rest.TypeOf[Troubles](), Also: []openapi.Answer{{Status: http.StatusNotModified, About: "The list is that of If-None-Match."}}, Codes: rest.Codes{rest.CodeInvalidQuery},
		},
		{
			Method: "POST", Path: "/auth/user-token", Auth: rest.GlobalKey, Secret: true, Right: rest.Never, Handle: rest.Audited("token.create", a.issueUserToken),
			ID: "createUserToken", Summary: "Create a token for a user.",
			About: "The operator defines the users by their UUIDs; users own batches.",
			In:    rest.TypeOf[userTokenRequest](), Example: `{"userId":"6f1c1a52-0d6b-4c56-9c0e-6d1a3f4b2c10","expiresIn":86400}`,
			Status: http.StatusCreated, Out: rest.TypeOf[UserToken](), Codes: rest.Codes{"INVALID_USER_ID", rest.CodeExpiresIn},
			Advice: map[string]string{rest.CodeExpiresIn: UserTokenLife().Advice()},
		},
		{
			Method: "POST", Path: "/admin/backup", Auth: rest.GlobalKey, Right: rest.Never, Handle: rest.Audited("backup.create", a.makeBackup),
			ID: "makeBackup", Summary: "Back up the data file and the secrets in one archive.",
			About: "A tar file with manifest.json, postern.db and secrets.json, encrypted with age when there are recipients. The data file is copied first, " +
				"so a slow download is safe. The archive is verified while it is sent, before the encryption; when it could not be restored, or the program stops, the connection " +
				"is closed early. The trailer X-Postern-Sha256 of an encrypted archive is the digest of the body. `postern restore` refuses a truncated archive.",
			In: rest.TypeOf[backupRequest](), Example: `{"recipients":["age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p"]}`, Media: mediaTar, Codes: rest.Codes{CodeBackup, rest.CodeRecipient},
		},
		{
			Method: "POST", Path: "/admin/check", Auth: rest.GlobalKey, Right: rest.Never, Handle: a.checkData,
			ID: "checkDataFile", Summary: "Check the data file for damage.",
			About: "Checks a snapshot of the file: its pages, the checksum of every record, and the references between buckets.",
			Out:   rest.TypeOf[store.Report](), Codes: rest.Codes{CodeBackup},
		},
		{
			Method: "GET", Path: "/admin/log", Auth: rest.GlobalKey, Right: rest.Never, Handle: a.showLog,
			ID: "getLogLevel", Summary: "Show the log level, and until when it differs from the configured one.", Out: rest.TypeOf[LogState](),
		},
		{
			Method: "PUT", Path: "/admin/log", Auth: rest.GlobalKey, Right: rest.Never, Handle: rest.Audited("log.change", a.putLog),
			ID: "changeLogLevel", Summary: "Change the log level temporarily.",
			About: "It reverts to log.level by itself, after 15 minutes unless minutes is given.",
			In:    rest.TypeOf[logChange](), Example: `{"level":"debug","minutes":10}`, Out: rest.TypeOf[LogState](), Codes: rest.Codes{CodeLogLevel},
		},
		{
			Method: "DELETE", Path: "/admin/log", Auth: rest.GlobalKey, Right: rest.Never, Handle: rest.Audited("log.reset", a.resetLog),
			ID: "resetLogLevel", Summary: "Reset the log level to the configured one.", Out: rest.TypeOf[LogState](),
		},
		{
			Method: "GET", Path: "/admin/log/lines", Auth: rest.GlobalKey, Right: rest.Never, Handle: a.showLogLines,
			ID: "getLogLines", Summary: "Get the last 2,000 log lines, as text.", Media: "text/plain",
		},
		{
			Method: "GET", Path: "/admin/stats", Auth: rest.GlobalKey, Right: rest.Never, Handle: a.showStats,
			ID: "getStats", Summary: "Show the contents of the data file by bucket.",
			About: "Reads a snapshot of the file.", Media: "application/json", Codes: rest.Codes{CodeBackup},
		},
		{
			Method: "GET", Path: "/admin/profile/heap", Auth: rest.GlobalKey, Right: rest.Never, Handle: a.profileMemory,
			ID: "getMemoryProfile", Summary: "Get a heap profile for pprof.",
			About: "Memory in use as of the last garbage collection, and all allocations since the start.",
			Query: []string{"debug"}, Media: rest.MediaBytes, Codes: profileCodes,
		},
		{
			Method: "GET", Path: "/admin/profile/goroutine", Auth: rest.GlobalKey, Right: rest.Never, Handle: a.profileGoroutines,
			ID: "getGoroutineProfile", Summary: "Get a goroutine profile for pprof.",
			Query: []string{"debug"}, Media: rest.MediaBytes, Codes: profileCodes,
		},
		{
			Method: "GET", Path: "/admin/profile/cpu", Auth: rest.GlobalKey, Right: rest.Never, Handle: a.profileProcessor,
			ID: "getProcessorProfile", Summary: "Take a CPU profile for pprof.",
			About: "The answer comes after the given seconds, or when the program stops.",
			Query: []string{"seconds"}, Media: rest.MediaBytes, Codes: profileCodes,
		},
	}
}
