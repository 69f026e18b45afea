package operator

import (
	"net/http"

	"postern/cluster"
	"postern/event"
	"postern/httpapi/openapi"
	"postern/httpapi/rest"
	"postern/store"
)

func operationDescriptions() map[string]rest.Words {
	profileCodes := rest.Codes{CodeProfiling, rest.CodeInvalidQuery}
	return map[string]rest.Words{
		"POST /admin/backup": {
			ID: "makeBackup", Summary: "Back up the data file and the secrets in one archive.",
			About: "A tar file with manifest.json, postern.db and secrets.json, encrypted with age when there are recipients. The data file is copied first, " +
				"so a slow download is safe. The archive is verified while it is sent, before the encryption; when it could not be restored, or the program stops, the connection " +
				"is closed early. The trailer X-Postern-Sha256 of an encrypted archive is the digest of the body. `postern restore` refuses a truncated archive.",
			In: rest.TypeOf[backupRequest](), Example: `{"recipients":["age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p"]}`, Media: mediaTar, Codes: rest.Codes{CodeBackup, rest.CodeRecipient},
		},
		"GET /health": {ID: "getHealth", Summary: "Check whether the process is alive.", Out: rest.TypeOf[Health]()},
		"GET /ready": {
			ID: "getReadiness", Summary: "Check whether the program can do its work, and if not, why.", Out: rest.TypeOf[Health](),
			Also: []openapi.Answer{{Status: http.StatusServiceUnavailable, Type: rest.TypeOf[Health](), About: "The program cannot do its work; reasons says why."}},
		},
		"POST /admin/check": {
			ID: "checkDataFile", Summary: "Check the data file for damage.",
			About: "Checks a snapshot of the file: its pages, the checksum of every record, and the references between buckets.",
			Out:   rest.TypeOf[store.Report](), Codes: rest.Codes{CodeBackup},
		},
		"GET /admin/log": {ID: "getLogLevel", Summary: "Show the log level, and until when it differs from the configured one.", Out: rest.TypeOf[LogState]()},
		"PUT /admin/log": {
			ID: "changeLogLevel", Summary: "Change the log level temporarily.",
			About: "It reverts to log.level by itself, after 15 minutes unless minutes is given.",
			In:    rest.TypeOf[logChange](), Example: `{"level":"debug","minutes":10}`, Out: rest.TypeOf[LogState](), Codes: rest.Codes{CodeLogLevel},
		},
		"DELETE /admin/log":    {ID: "resetLogLevel", Summary: "Reset the log level to the configured one.", Out: rest.TypeOf[LogState]()},
		"GET /admin/log/lines": {ID: "getLogLines", Summary: "Get the last 2,000 log lines, as text.", Media: "text/plain"},
		"GET /admin/stats": {
			ID: "getStats", Summary: "Show the contents of the data file by bucket.",
			About: "Reads a snapshot of the file.", Media: "application/json", Codes: rest.Codes{CodeBackup},
		},
		"GET /admin/profile/heap": {
			ID: "getMemoryProfile", Summary: "Get a heap profile for pprof.",
			About: "Memory in use as of the last garbage collection, and all allocations since the start.",
			Query: []string{"debug"}, Media: rest.MediaBytes, Codes: profileCodes,
		},
		"GET /admin/profile/goroutine": {
			ID: "getGoroutineProfile", Summary: "Get a goroutine profile for pprof.",
			Query: []string{"debug"}, Media: rest.MediaBytes, Codes: profileCodes,
		},
		"GET /admin/profile/cpu": {
			ID: "getProcessorProfile", Summary: "Take a CPU profile for pprof.",
			About: "The answer comes after the given seconds, or when the program stops.",
			Query: []string{"seconds"}, Media: rest.MediaBytes, Codes: profileCodes,
		},
		"POST /auth/user-token": {
			ID: "createUserToken", Summary: "Create a token for a user.",
			About: "The operator defines the users by their UUIDs; users own batches.",
			In:    rest.TypeOf[userTokenRequest](), Example: `{"userId":"6f1c1a52-0d6b-4c56-9c0e-6d1a3f4b2c10","expiresIn":86400}`,
			Status: http.StatusCreated, Out: rest.TypeOf[UserToken](), Codes: rest.Codes{"INVALID_USER_ID", rest.CodeExpiresIn},
			Advice: map[string]string{rest.CodeExpiresIn: UserTokenLife().Advice()},
		},
	}
}

// OperationFields are the fields of the operator's routes and of the outbox.
func OperationFields() openapi.Fields {
	return openapi.Fields{

		"Report.buckets":               rest.Say("The number of buckets.", 62),
		"Report.records":               rest.Say("The number of records, without the store's internal ones.", 1042),
		"Report.bytes":                 rest.Say("The size of the file, in bytes.", 16805888),
		"Report.faults":                rest.Say("The faults, each with its effect and whether a start repairs it; empty when there is none.", []string{}),
		"?debug":                       rest.Say("1: as readable text instead of the pprof format.", "1", openapi.OneOf("1")),
		"BackupRequest.withoutSecrets": rest.Say("Whether to leave out the API key and the token secret.", false),
		"BackupRequest.recipients":     rest.Say("age public keys; any of their private keys can decrypt the backup; empty: it is not encrypted.", []string{"age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p"}),
		"LogChange.level":              rest.Say("The new log level.", "debug", openapi.OneOf("debug", "info", "warn", "error")),
		"LogChange.minutes":            rest.Say("The duration in minutes; null or absent: 15.", 10, openapi.Range(1, maxLogMinutes)),
		"LogState.level":               rest.Say("The current log level.", "debug"),
		"LogState.usual":               rest.Say("The configured level, to which it reverts.", "info"),
		"LogState.until":               rest.Say("When it reverts; null when it is the configured one.", "2026-03-04T05:06:07.000Z"),

		"Health.status":   rest.Say("ok for a live process; ready, or that it is not ready.", "ready"),
		"Health.reasons":  rest.Say("Why the program cannot do its work.", nil),
		"Health.warnings": rest.Say("Problems that need the operator's attention although the program works.", nil),

		"UserTokenRequest.userId":    rest.Say("The user; a new one when absent.", rest.ExampleUUID, openapi.Format("uuid")),
		"UserTokenRequest.expiresIn": rest.Say("How long the token is valid, in seconds.", 86_400, UserTokenLife().Schema()),
		"UserToken.token":            rest.Say("The token, for Authorization: Bearer.", "eyJhbGciOiJIUzI1NiJ9.e30.signature"),
		"UserToken.userId":           rest.Say("The user that it is for.", rest.ExampleUUID, openapi.Format("uuid")),

		"OutboxEvent.id":            rest.Say("Its number among the events of all users, in commit order.", 17, openapi.AtLeast(1)),
		"OutboxEvent.sequence":      rest.Say("Its sequence number for its user, from 1 and without gaps; since of the WebSocket refers to it.", 5, openapi.AtLeast(1)),
		"OutboxEvent.event":         rest.Say("Its name.", string(event.BatchCompleted), openapi.OneOf(rest.EventKinds(event.Batch)...)),
		"OutboxEvent.timestamp":     rest.Say("The time in the event's body.", rest.ExampleTime),
		"OutboxEvent.state":         rest.Say("pending, delivered, or created while the global webhook was disabled.", "delivered", openapi.OneOf("pending", "delivered", "disabled")),
		"OutboxEvent.attempts":      rest.Say("The number of attempts.", 1, openapi.AtLeast(0)),
		"OutboxEvent.lastStatus":    rest.Say("The status of the receiver's last answer; null when there was none.", 200),
		"OutboxEvent.lastError":     rest.Say("Why the last attempt failed; null when none did.", "connection refused"),
		"OutboxEvent.nextAttemptAt": rest.Say("The time of the next attempt; null unless it is pending.", rest.ExampleTime),
		"OutboxEvent.deliveredAt":   rest.Say("When the receiver accepted it; null until then.", rest.ExampleTime),
		"RetryAnswer.retried":       rest.Say("How many pending events are due now.", 3, openapi.AtLeast(0)),
	}
}

func Unique(all []string) (each []string) {
	seen := map[string]bool{}
	for _, s := range all {
		if !seen[s] {
			seen[s] = true
			each = append(each, s)
		}
	}
	return each
}

func viewDescriptions() map[string]rest.Words {
	return map[string]rest.Words{
		"GET /admin/samples": {
			ID: "listSamples", Summary: "List samples of the program, one per minute of the last day.",
			About: "They are kept in memory and lost on restart. Minutes may be missing when the machine slept or its clock was changed. The last sample is the current minute.",
			Query: []string{"since"}, Out: rest.TypeOf[SampleList](),
		},
		"GET /admin/cluster": {
			ID: "getCluster", Summary: "Show which node owns the data, and how far the others are.",
			About: "Only with `store.url`. Every node answers for itself. `owner` is null while no lease is valid, `engine` while the database does not answer. `nodes` has nodes that live and, with the role `gone`, those of the last hour.",
			Out:   rest.TypeOf[cluster.Status](), Codes: rest.Codes{CodeNotClustered},
		},
		"GET /admin/config": {
			ID: "getConfig", Summary: "Show the configuration in effect, each setting with its source.",
			About: "Secrets are masked, and URLs are shown with scheme, host and port only.",
			Out:   rest.TypeOf[SettingList](),
		},
		"GET /admin/support": {
			ID: "makeSupportBundle", Summary: "Get a redacted support bundle, as a zip file of plain text.",
			About: "The same file as `postern support` writes. The answer takes some ten seconds, because it has two readings of the metrics. Only one bundle is written at a time.",
			Media: mediaZip, Codes: rest.Codes{rest.CodeNotFound, CodeSupport},
		},
	}
}
