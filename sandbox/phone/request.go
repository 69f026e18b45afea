package phone

import (
	"context"
	"errors"
	"time"

	wa "go.mau.fi/whatsmeow/appstate"
	"go.mau.fi/whatsmeow/proto/waE2E"
	"go.mau.fi/whatsmeow/proto/waWeb"
	"go.mau.fi/whatsmeow/types"
	"google.golang.org/protobuf/proto"
)

type (
	dataRequest = waE2E.PeerDataOperationRequestMessage
	dataAnswer  = waE2E.PeerDataOperationRequestResponseMessage
	dataResult  = waE2E.PeerDataOperationRequestResponseMessage_PeerDataOperationResult
)

// maxHeld is how many requests wait for a phone that is off.
const maxHeld = 1_000

// heldRequest is a waiting request of a linked device.
type heldRequest struct {
	device  types.JID
	id      string
	message *waE2E.ProtocolMessage
}

// Answer sets whether the phone answers requests of its linked devices: copies of
// messages, keys and copies of app state. While it does not, like a phone that is off,
// requests wait, at most 1 000.
func (p *Phone) Answer(ctx context.Context, on bool) {
	p.mu.Lock()
	p.off = !on
	var waiting []heldRequest
	if on {
		waiting, p.held = p.held, nil
	}
	p.mu.Unlock()
	for _, r := range waiting {
		p.answer(ctx, r)
	}
}

// Requests returns the number of requests of linked devices, answered or not, by kind.
func (p *Phone) Requests(kind waE2E.PeerDataOperationRequestType) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.requests[kind]
}

// onPeer handles a hidden request of a linked device of the phone's own account, and
// reports whether the message was one.
func (p *Phone) onPeer(ctx context.Context, device types.JID, id string, m *waE2E.ProtocolMessage) bool {
	switch m.GetType() {
	case waE2E.ProtocolMessage_PEER_DATA_OPERATION_REQUEST_MESSAGE, waE2E.ProtocolMessage_APP_STATE_SYNC_KEY_REQUEST,
		waE2E.ProtocolMessage_APP_STATE_FATAL_EXCEPTION_NOTIFICATION:
	default:
		return false
	}
	if device.User != p.lid.User {
		return false
	}
	request := heldRequest{device, id, m}
	p.mu.Lock()
	if operation := m.GetPeerDataOperationRequestMessage(); operation != nil {
		p.requests[operation.GetPeerDataOperationRequestType()]++
	}
	off := p.off
	if off && len(p.held) < maxHeld {
		p.held = append(p.held, request)
	}
	p.mu.Unlock()
	if !off {
		p.answer(ctx, request)
	}
	return true
}

// answer carries out a request. An answer that the network does not accept is lost,
// like any other stanza.
func (p *Phone) answer(ctx context.Context, r heldRequest) {
	switch r.message.GetType() {
	case waE2E.ProtocolMessage_PEER_DATA_OPERATION_REQUEST_MESSAGE:
		if older := r.message.GetPeerDataOperationRequestMessage().GetHistorySyncOnDemandRequest(); older != nil {
			p.answerHistory(ctx, r.device, r.id, older)
			return
		}
		if answer := p.answerTo(r.id, r.message.GetPeerDataOperationRequestMessage()); answer != nil {
			_ = p.SendPeer(ctx, r.device, &waE2E.ProtocolMessage{
				Type:                                    waE2E.ProtocolMessage_PEER_DATA_OPERATION_REQUEST_RESPONSE_MESSAGE.Enum(),
				PeerDataOperationRequestResponseMessage: answer,
			})
		}
	case waE2E.ProtocolMessage_APP_STATE_SYNC_KEY_REQUEST:
		if share := p.net.StateKeys(p); share != nil {
			_ = p.SendPeer(ctx, r.device, share)
		}
	default:
		p.net.ResetState(p)
	}
}

// answerTo returns the answer to a request; nil for an unknown one.
func (p *Phone) answerTo(id string, request *dataRequest) *dataAnswer {
	answer := &dataAnswer{PeerDataOperationRequestType: request.PeerDataOperationRequestType, StanzaID: &id}
	switch request.GetPeerDataOperationRequestType() {
	case waE2E.PeerDataOperationRequestType_PLACEHOLDER_MESSAGE_RESEND:
		for _, asked := range request.GetPlaceholderMessageResendRequest() {
			if copied, err := p.copyOf(asked); err == nil {
				answer.PeerDataOperationResult = append(answer.PeerDataOperationResult, &dataResult{
					PlaceholderMessageResendResponse: &waE2E.PeerDataOperationRequestResponseMessage_PeerDataOperationResult_PlaceholderMessageResendResponse{
						WebMessageInfoBytes: copied,
					},
				})
			}
		}
	case waE2E.PeerDataOperationRequestType_COMPANION_SYNCD_SNAPSHOT_FATAL_RECOVERY:
		name := request.GetSyncdCollectionFatalRecoveryRequest().GetCollectionName()
		snapshot, err := p.net.StateCopy(p, wa.WAPatchName(name))
		if err != nil {
			return nil
		}
		answer.PeerDataOperationResult = []*dataResult{{
			SyncdSnapshotFatalRecoveryResponse: &waE2E.PeerDataOperationRequestResponseMessage_PeerDataOperationResult_SyncDSnapshotFatalRecoveryResponse{
				CollectionSnapshot: snapshot, IsCompressed: new(false),
			},
		}}
	default:
		return nil
	}
	return answer
}

var errNoCopy = errors.New("the phone does not have this message")

// copyOf returns the stored message that a person sent to the account.
func (p *Phone) copyOf(asked *waE2E.PeerDataOperationRequestMessage_PlaceholderMessageResendRequest) ([]byte, error) {
	key := asked.GetMessageKey()
	chat, err := types.ParseJID(key.GetRemoteJID())
	if err != nil {
		return nil, err
	}
	chat = p.deviceLID(chat)
	p.mu.Lock()
	own, sent := p.sent.find(key.GetID())
	p.mu.Unlock()
	if sent && key.GetFromMe() && own.chat == chat {
		return proto.Marshal(&waWeb.WebMessageInfo{Key: key, Message: own.message, MessageTimestamp: secondsOf(time.Now())})
	}
	r, ok := p.ReceivedIn(chat, key.GetID())
	if !ok {
		return nil, errNoCopy
	}
	web := &waWeb.WebMessageInfo{Key: key, Message: r.Message, MessageTimestamp: secondsOf(r.At)}
	if r.PushName != "" {
		web.PushName = &r.PushName
	}
	return proto.Marshal(web)
}

func secondsOf(t time.Time) *uint64 { return new(uint64(t.Unix())) } //nolint:gosec // since 1970
