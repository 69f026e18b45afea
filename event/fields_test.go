package event

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// The values as the contract lists them, by the Go type that enumerates them.
var contractValues = map[string]string{
	"CallStatus":         "offer ringing preaccept timeout reject accept terminate unknown",
	"ChatUpdateType":     "blocklist blocklist.change archive unarchive.setting clear pin mute mark.read",
	"ConnectionType":     "pair.success connected disconnected logged.out stream.replaced keepalive.timeout keepalive.restored connect.failure manual.reconnect pair.error stream.error cat.refresh.error passkey",
	"Connection":         "connecting open close replaced timeout",
	"ContactSource":      "pushName businessName",
	"ParticipantAction":  "add remove promote demote",
	"PasskeyStep":        "required compare done",
	"GroupRole":          "admin superadmin",
	"LabelTarget":        "chat message",
	"LabelAction":        "add remove",
	"UnavailableType":    "view_once",
	"DecryptFailMode":    "hide",
	"AsyncStatus":        "sent failed",
	"UpdateStatus":       "delivered sent read played server_error retry unknown",
	"NewsletterType":     "join leave live.update message.meta mute.change",
	"SettingsType":       "push.name user.status.mute",
	"InstanceStatusType": "client.outdated temporary.ban offline.sync.preview offline.sync.completed privacy.settings app.state app.state.sync.completed app.state.sync.error account.reachout.timelock account.restricted",
	"WhenRestricted":     "known wait",
	"State":              "offline connecting qr_code pairing_code pairing online reconnecting disconnected connection_timeout logged_out session_missing stream_replaced keepalive_timeout client_outdated temporary_ban connection_error",
	"BatchStatus":        "QUEUED SCHEDULED PROCESSING WAITING_FOR_WINDOW PAUSE_REQUESTED PAUSED WAITING_FOR_INSTANCE STOP_REQUESTED STOPPED INTERRUPTED COMPLETED COMPLETED_WITH_ERRORS",
}

var enumerations = []enumerated{
	CallStatus(""), ChatUpdateType(""), ConnectionType(""), Connection(""), ContactSource(""), ParticipantAction(""),
	GroupRole(""), LabelTarget(""), LabelAction(""), UnavailableType(""), DecryptFailMode(""), AsyncStatus(""),
	UpdateStatus(""), NewsletterType(""), SettingsType(""), InstanceStatusType(""), State(""), BatchStatus(""),
	PasskeyStep(""), WhenRestricted(""),
}

func TestEnumerationsMatchContractAndConstants(t *testing.T) {
	constants := constantsByType(t)
	for _, e := range enumerations {
		name := reflect.TypeOf(e).Name()
		got, want := slices.Sorted(slices.Values(e.values())), strings.Fields(contractValues[name])
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%s:\n got %v\nwant %v", name, got, want)
		}
		declared := slices.DeleteFunc(constants[name], func(v string) bool { return v == string(BatchDraft) })
		slices.Sort(declared)
		if !slices.Equal(got, declared) {
			t.Errorf("%s: constants %v, values %v", name, declared, got)
		}
		delete(constants, name)
	}
	// The last ones are words of requests, of deliveries and of records, not of payloads.
	for _, other := range []string{"Kind", "Flag", "Gate", "MediaKind", "Presence", "Target", "Order", "Network", "MediaOption"} {
		delete(constants, other)
	}
	if len(constants) > 0 {
		t.Errorf("types with constants that this test does not know: %v", slices.Sorted(maps.Keys(constants)))
	}
}

// constantsByType reads the typed string constants of the package's source.
func constantsByType(t *testing.T) map[string][]string {
	t.Helper()
	all := map[string][]string{}
	//nolint:staticcheck // one folder without build tags is all that is to be read
	packages, err := parser.ParseDir(token.NewFileSet(), ".", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(packages["event"], func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || len(spec.Values) != 1 {
			return true
		}
		typeName, ok := spec.Type.(*ast.Ident)
		if !ok {
			return true
		}
		if literal, ok := spec.Values[0].(*ast.BasicLit); ok && literal.Kind == token.STRING {
			v, err := strconv.Unquote(literal.Value)
			if err != nil {
				t.Fatal(err)
			}
			all[typeName.Name] = append(all[typeName.Name], v)
		}
		return true
	})
	return all
}
