package sandbox

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"

	"go.mau.fi/whatsmeow/appstate"
	waBinary "go.mau.fi/whatsmeow/binary"
	"go.mau.fi/whatsmeow/proto/waE2E"
	"go.mau.fi/whatsmeow/proto/waSyncAction"
	"google.golang.org/protobuf/encoding/protojson"

	"postern/sandbox/network"
	"postern/sandbox/phone"
)

// maxHistory is the largest number of messages in one piece of history.
const maxHistory = 200_000

// syncActs are messages of the own phone to its linked devices.
func syncActs() []act {
	return slices.Concat(chatStateActs(), messageStateActs(), settingStateActs(), []act{
		row("app-state", "the phone makes any change of app state", actAppState),
		row("app-state-error", "linked devices receive a change of app state that they cannot verify", actAppStateError),
		row("app-state-conflict", "the next changes of app state by linked devices are refused, as if another device were first each time", actAppStateConflict),
		row("own-requests", "the phone answers requests of its linked devices (copies of messages, keys, copies of app state), or not, like a phone that is off", actOwnRequests),
		row("app-state-keys", "the phone sends linked devices the key of app state, as at their first login", actAppStateKeys),
		row("history-sync", "the phone sends its linked devices a piece of generated history", actHistory),
		row("past", "the phone has older messages of a chat, which it sends to devices linked later, and on request", actPast),
		row("media-retry", "the phone answers a request to upload a file again", actMediaRetry),
	})
}

type appStateFields struct {
	Collection string          `json:"collection" help:"critical_block, critical_unblock_low, regular_high, regular_low or regular (default)"`
	Index      []string        `json:"index" help:"the index of the change: a name and its parameters; default primary_feature"`
	Value      json.RawMessage `json:"value" help:"the action, a SyncActionValue as protobuf JSON; default empty"`
}

func actAppState(ctx context.Context, s *network.Server, p *phone.Phone, f appStateFields) (any, error) {
	name, err := collectionName(f.Collection, appstate.WAPatchRegular)
	if err != nil {
		return nil, err
	}
	if len(f.Index) == 0 {
		f.Index = []string{appstate.IndexPrimaryFeature}
	}
	// The library reads a second part of a label's index without a check.
	if f.Index[0] == "" || (f.Index[0] == appstate.IndexLabelEdit && len(f.Index) < 2) {
		return nil, invalidField("index", "has to name what is changed, with its parameters")
	}
	value := &waSyncAction.SyncActionValue{}
	if len(f.Value) > 0 {
		if err := protojson.Unmarshal(f.Value, value); err != nil {
			return nil, invalidField("value", "is not a SyncActionValue as protobuf JSON")
		}
	}
	return nil, s.ChangeState(ctx, p, appstate.PatchInfo{Type: name, Mutations: []appstate.MutationInfo{
		{Index: f.Index, Version: 1, Value: value},
	}})
}

func collectionName(text string, byDefault appstate.WAPatchName) (appstate.WAPatchName, error) {
	if text == "" {
		return byDefault, nil
	}
	if !slices.Contains(appstate.AllPatchNames[:], appstate.WAPatchName(text)) {
		return "", invalidField("collection", "is not one of critical_block, critical_unblock_low, regular_high, regular_low, regular")
	}
	return appstate.WAPatchName(text), nil
}

type appStateErrorFields struct {
	Collection string `json:"collection" help:"as for app-state; default regular_low"`
	Kind       string `json:"kind" help:"once (default): one change has a wrong signature, and nothing changes; lasting: so has all state of the server, and only the phone has a valid copy; key: the change is made with a key that the devices must request"`
}

func actAppStateError(ctx context.Context, s *network.Server, p *phone.Phone, f appStateErrorFields) (any, error) {
	name, err := collectionName(f.Collection, appstate.WAPatchRegularLow)
	if err != nil {
		return nil, err
	}
	info := appstate.PatchInfo{Type: name, Mutations: []appstate.MutationInfo{
		{Index: []string{appstate.IndexPrimaryFeature}, Version: 1, Value: &waSyncAction.SyncActionValue{}},
	}}
	switch f.Kind {
	case "", "once":
		return nil, s.DamageState(ctx, p, info)
	case "lasting":
		return nil, s.SpoilState(ctx, p, info)
	case "key":
		return nil, s.RekeyState(ctx, p, info)
	default:
		return nil, invalidField("kind", "is not one of once, lasting, key")
	}
}

// maxConflicts is the largest number of changes that an act refuses.
const maxConflicts = 1_000_000

type conflictFields struct {
	Times int `json:"times" help:"how many changes; a client tries each twice; 0 ends it"`
}

func actAppStateConflict(_ context.Context, s *network.Server, p *phone.Phone, f conflictFields) (any, error) {
	if f.Times < 0 || f.Times > maxConflicts {
		return nil, invalidField("times", "is not from 0 to 1000000")
	}
	return nil, s.ConflictState(p.JID(), f.Times)
}

type ownRequestsFields struct {
	Answered *bool `json:"answered" help:"default true"`
}

func actOwnRequests(ctx context.Context, _ *network.Server, p *phone.Phone, f ownRequestsFields) (any, error) {
	p.Answer(ctx, orTrue(f.Answered))
	return nil, nil
}

func actAppStateKeys(ctx context.Context, s *network.Server, p *phone.Phone, _ struct{}) (any, error) {
	return nil, s.ShareStateKey(ctx, p)
}

type historyFields struct {
	SyncType      string `json:"syncType" help:"INITIAL_BOOTSTRAP, INITIAL_STATUS_V3, FULL, RECENT (default), PUSH_NAME, NON_BLOCKING_DATA or ON_DEMAND"`
	Conversations *int   `json:"conversations" help:"how many conversations; default 1"`
	Messages      *int   `json:"messages" help:"how many messages in each; default 1; at most 200000 in all"`
	Progress      int    `json:"progress" help:"progress in percent, 0 to 100"`
	ChunkOrder    int    `json:"chunkOrder" help:"the number of this piece"`
	Blob          bool   `json:"blob" help:"true: downloaded as a file even if it is small"`
}

func actHistory(ctx context.Context, s *network.Server, p *phone.Phone, f historyFields) (any, error) {
	if f.SyncType == "" {
		f.SyncType = waE2E.HistorySyncType_RECENT.String()
	}
	kind, ok := waE2E.HistorySyncType_value[f.SyncType]
	if !ok || kind > int32(waE2E.HistorySyncType_ON_DEMAND) {
		return nil, invalidField("syncType", "is not a kind of history")
	}
	h := network.History{Kind: waE2E.HistorySyncType(kind), Conversations: 1, Messages: 1, Blob: f.Blob}
	if f.Conversations != nil {
		h.Conversations = *f.Conversations
	}
	if f.Messages != nil {
		h.Messages = *f.Messages
	}
	switch {
	case h.Conversations < 0 || h.Conversations > maxHistory:
		return nil, invalidField("conversations", fmt.Sprintf("has to be 0 to %d", maxHistory))
	case h.Messages < 0 || h.Messages > maxHistory || h.Conversations*h.Messages > maxHistory:
		return nil, invalidField("messages", fmt.Sprintf("cannot be negative nor more than %d in all conversations", maxHistory))
	case f.Progress < 0 || f.Progress > 100:
		return nil, invalidField("progress", "has to be 0 to 100")
	case f.ChunkOrder < 0 || f.ChunkOrder > 1_000_000:
		return nil, invalidField("chunkOrder", "has to be 0 to 1000000")
	}
	h.Progress, h.Chunk = uint32(f.Progress), uint32(f.ChunkOrder)
	return nil, s.SendHistory(ctx, p, h)
}

type mediaRetryFields struct {
	Chat        string `json:"chat" help:"the chat of the message: a number or an address"`
	ID          string `json:"id" help:"the message id"`
	FromMe      bool   `json:"fromMe" help:"the account sent the message"`
	Participant string `json:"participant" help:"its sender, in a group"`
	Error       int    `json:"error" help:"the error code, 2 if the phone does not have the file; 0 (default) is a success"`
	MediaKey    string `json:"mediaKey" help:"base64 of the file's key, with which a success is encrypted; missing: random"`
	DirectPath  string `json:"directPath" help:"the new path of the file, for a success"`
}

func actMediaRetry(_ context.Context, s *network.Server, p *phone.Phone, f mediaRetryFields) (any, error) {
	m, err := readMessage(namedMessage{f.Chat, f.ID, f.FromMe, f.Participant})
	if err != nil {
		return nil, err
	}
	key, err := base64.StdEncoding.DecodeString(f.MediaKey)
	if err != nil || (len(key) != 32 && f.MediaKey != "") {
		return nil, invalidField("mediaKey", "is not base64 of 32 bytes")
	}
	if f.Error < 0 {
		return nil, invalidField("error", "cannot be negative")
	}
	rmr := waBinary.Node{Tag: "rmr", Attrs: waBinary.Attrs{"jid": m.chat, "from_me": f.FromMe}}
	if !m.sender.IsEmpty() {
		rmr.Attrs["participant"] = m.sender
	}
	result := waBinary.Node{Tag: "error", Attrs: waBinary.Attrs{"code": f.Error}}
	if f.Error == 0 {
		if result, err = phone.RetrySuccess(f.ID, f.DirectPath, key); err != nil {
			return nil, err
		}
	}
	return nil, s.QueueForAll(p.JID(), phone.MediaRetry(p.LID(), f.ID, result, rmr))
}
