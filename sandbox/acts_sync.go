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
	"go.mau.fi/whatsmeow/proto/waMmsRetry"
	"go.mau.fi/whatsmeow/proto/waSyncAction"
	"go.mau.fi/whatsmeow/util/gcmutil"
	"go.mau.fi/whatsmeow/util/hkdfutil"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

// maxHistory bounds the messages of one piece of history.
const maxHistory = 200_000

// syncActs are what the own phone tells its linked devices.
func syncActs() []act {
	return slices.Concat(chatStateActs(), messageStateActs(), settingStateActs(), []act{
		row("app-state", "the phone changes synchronised state that has no act of its own", actAppState),
		row("app-state-error", "linked devices get one change of their synchronised state that is damaged", actAppStateError),
		row("app-state-keys", "the phone gives linked devices the key of synchronised state, as it does at their first login", actAppStateKeys),
		row("history-sync", "the phone gives its linked devices a piece of made-up history", actHistory),
		row("media-retry", "the phone answers a request to upload a file again", actMediaRetry),
	})
}

type appStateFields struct {
	Collection string          `json:"collection" help:"critical_block, critical_unblock_low, regular_high, regular_low or regular (default)"`
	Index      []string        `json:"index" help:"what is changed: a name and its parameters; default primary_feature"`
	Value      json.RawMessage `json:"value" help:"the action, a SyncActionValue as protobuf JSON; default empty"`
}

func actAppState(ctx context.Context, s *Server, p *Phone, f appStateFields) (any, error) {
	name, err := collectionName(f.Collection, appstate.WAPatchRegular)
	if err != nil {
		return nil, err
	}
	if len(f.Index) == 0 {
		f.Index = []string{appstate.IndexPrimaryFeature}
	}
	// The library reads a second part of a label's index without looking.
	if f.Index[0] == "" || (f.Index[0] == appstate.IndexLabelEdit && len(f.Index) < 2) {
		return nil, invalidField("index", "has to name what is changed, with its parameters")
	}
	value := &waSyncAction.SyncActionValue{}
	if len(f.Value) > 0 {
		if err := protojson.Unmarshal(f.Value, value); err != nil {
			return nil, invalidField("value", "is not a SyncActionValue as protobuf JSON")
		}
	}
	return s.mutate(ctx, p, appstate.PatchInfo{Type: name, Mutations: []appstate.MutationInfo{
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
}

func actAppStateError(ctx context.Context, s *Server, p *Phone, f appStateErrorFields) (any, error) {
	name, err := collectionName(f.Collection, appstate.WAPatchRegularLow)
	if err != nil {
		return nil, err
	}
	info := appstate.PatchInfo{Type: name, Mutations: []appstate.MutationInfo{
		{Index: []string{appstate.IndexPrimaryFeature}, Version: 1, Value: &waSyncAction.SyncActionValue{}},
	}}
	return nil, s.changeState(ctx, p, name, 0, func(a *appState, linked []linkedDevice) error {
		return a.damage(ctx, info, linked)
	})
}

func actAppStateKeys(ctx context.Context, s *Server, p *Phone, _ struct{}) (any, error) {
	a := s.appStates.account(p.Number(), s.persist)
	a.acting.Lock()
	defer a.acting.Unlock()
	return nil, s.shareKey(ctx, p, a, s.linkedDevices(p))
}

type historyFields struct {
	SyncType      string `json:"syncType" help:"INITIAL_BOOTSTRAP, INITIAL_STATUS_V3, FULL, RECENT (default), PUSH_NAME, NON_BLOCKING_DATA or ON_DEMAND"`
	Conversations *int   `json:"conversations" help:"how many conversations; default 1"`
	Messages      *int   `json:"messages" help:"how many messages in each; default 1; at most 200000 in all"`
	Progress      int    `json:"progress" help:"percent of the history that is done, 0 to 100"`
	ChunkOrder    int    `json:"chunkOrder" help:"the number of this piece"`
	Blob          bool   `json:"blob" help:"true: to be downloaded even when it is small"`
}

func actHistory(ctx context.Context, s *Server, p *Phone, f historyFields) (any, error) {
	if f.SyncType == "" {
		f.SyncType = waE2E.HistorySyncType_RECENT.String()
	}
	kind, ok := waE2E.HistorySyncType_value[f.SyncType]
	if !ok || kind > int32(waE2E.HistorySyncType_ON_DEMAND) {
		return nil, invalidField("syncType", "is not a kind of history")
	}
	h := pastMessages{kind: waE2E.HistorySyncType(kind), conversations: 1, messages: 1, blob: f.Blob}
	if f.Conversations != nil {
		h.conversations = *f.Conversations
	}
	if f.Messages != nil {
		h.messages = *f.Messages
	}
	switch {
	case h.conversations < 0 || h.conversations > maxHistory:
		return nil, invalidField("conversations", fmt.Sprintf("has to be 0 to %d", maxHistory))
	case h.messages < 0 || h.messages > maxHistory || h.conversations*h.messages > maxHistory:
		return nil, invalidField("messages", fmt.Sprintf("cannot be negative nor more than %d in all conversations", maxHistory))
	case f.Progress < 0 || f.Progress > 100:
		return nil, invalidField("progress", "has to be 0 to 100")
	case f.ChunkOrder < 0 || f.ChunkOrder > 1_000_000:
		return nil, invalidField("chunkOrder", "has to be 0 to 1000000")
	}
	h.progress, h.chunk = uint32(f.Progress), uint32(f.ChunkOrder)
	return nil, s.sendHistory(ctx, p, h)
}

type mediaRetryFields struct {
	Chat        string `json:"chat" help:"the chat of the message: a number or an address"`
	ID          string `json:"id" help:"the message id"`
	FromMe      bool   `json:"fromMe" help:"the account itself sent the message"`
	Participant string `json:"participant" help:"who sent it, in a group"`
	Error       int    `json:"error" help:"the code of the failure, 2 when the phone has no such file; 0 (default) is a success"`
	MediaKey    string `json:"mediaKey" help:"base64 of the file's key, with which a success is encrypted; random when missing"`
	DirectPath  string `json:"directPath" help:"where the file is now, in a success"`
}

func actMediaRetry(_ context.Context, s *Server, p *Phone, f mediaRetryFields) (any, error) {
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
		if result, err = mediaRetrySuccess(f.ID, f.DirectPath, key); err != nil {
			return nil, err
		}
	}
	for _, d := range s.linkedDevices(p) {
		s.queueFor(d.lid, mediaAnswer(p.LID(), f.ID, result, rmr))
	}
	return nil, nil
}

func mediaRetrySuccess(id, path string, mediaKey []byte) (waBinary.Node, error) {
	plain, err := proto.Marshal(&waMmsRetry.MediaRetryNotification{
		StanzaID: new(id), DirectPath: new(path), Result: waMmsRetry.MediaRetryNotification_SUCCESS.Enum(),
	})
	if err != nil {
		return waBinary.Node{}, fmt.Errorf("encode media retry: %w", err)
	}
	iv := randomBytes(12)
	if len(mediaKey) == 0 {
		mediaKey = randomBytes(32)
	}
	key := hkdfutil.SHA256(mediaKey, nil, []byte("WhatsApp Media Retry Notification"), 32)
	sealed, err := gcmutil.Encrypt(key, iv, plain, []byte(id))
	if err != nil {
		return waBinary.Node{}, fmt.Errorf("encrypt media retry: %w", err)
	}
	return waBinary.Node{Tag: "encrypt", Content: []waBinary.Node{
		{Tag: "enc_p", Content: sealed}, {Tag: "enc_iv", Content: iv},
	}}, nil
}
