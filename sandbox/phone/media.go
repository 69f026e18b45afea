package phone

import (
	"crypto/rand"
	"fmt"
	"time"

	waBinary "go.mau.fi/whatsmeow/binary"
	"go.mau.fi/whatsmeow/proto/waE2E"
	"go.mau.fi/whatsmeow/proto/waMmsRetry"
	"go.mau.fi/whatsmeow/types"
	"go.mau.fi/whatsmeow/util/gcmutil"
	"go.mau.fi/whatsmeow/util/hkdfutil"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// noSuchFile is the code of a phone that does not have a file.
const noSuchFile = 2

// fileOfMessage is the part of a message that a phone needs to upload its file again.
type fileOfMessage interface {
	GetDirectPath() string
	GetMediaKey() []byte
}

// onServerError answers a linked device that requests the file of a message, which
// WhatsApp no longer has. Without the message the phone has no key to answer with.
func (p *Phone) onServerError(n waBinary.Node) {
	rmr, asks := n.GetOptionalChildByTag("rmr")
	if !asks {
		return
	}
	id := n.AttrGetter().OptionalString("id")
	f := p.fileOf(id)
	if f == nil {
		return
	}
	result := waBinary.Node{Tag: "error", Attrs: waBinary.Attrs{"code": noSuchFile}}
	if path, ok := p.net.UploadAgain(f.GetDirectPath()); ok {
		result, _ = RetrySuccess(id, path, f.GetMediaKey()) // encoding does not fail
	}
	p.net.QueueFor(n.AttrGetter().OptionalJIDOrEmpty("from"), MediaRetry(p.lid, id, result, rmr))
}

// MediaRetry is a phone's answer to a linked device about a file: the result, a
// RetrySuccess or an error, for the message that rmr names.
func MediaRetry(phone types.JID, id string, result, rmr waBinary.Node) waBinary.Node {
	return waBinary.Node{Tag: "notification", Attrs: waBinary.Attrs{
		"type": "mediaretry", "from": phone, "id": id, "t": time.Now().Unix(),
	}, Content: []waBinary.Node{result, rmr}}
}

// fileOf returns the file of a message that the phone keeps.
func (p *Phone) fileOf(id string) fileOfMessage {
	for _, r := range p.Received() {
		if r.ID == id {
			return heldFile(r.Message)
		}
	}
	return nil
}

// heldFile returns the file in a message, also inside wrappers.
func heldFile(m *waE2E.Message) (found fileOfMessage) {
	m.ProtoReflect().Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		if f.Message() == nil || f.Cardinality() == protoreflect.Repeated {
			return true
		}
		switch inner := v.Message().Interface().(type) {
		case fileOfMessage:
			found = inner
		case *waE2E.FutureProofMessage:
			found = heldFile(inner.GetMessage())
		}
		return found == nil
	})
	return found
}

// RetrySuccess is the result that a file is at a new path, encrypted with the key of
// the file, or a random key if there is none.
func RetrySuccess(id, path string, mediaKey []byte) (waBinary.Node, error) {
	plain, err := proto.Marshal(&waMmsRetry.MediaRetryNotification{
		StanzaID: new(id), DirectPath: new(path), Result: waMmsRetry.MediaRetryNotification_SUCCESS.Enum(),
	})
	if err != nil {
		return waBinary.Node{}, fmt.Errorf("encode media retry: %w", err)
	}
	iv := make([]byte, 12)
	_, _ = rand.Read(iv) // crypto/rand never fails
	if len(mediaKey) == 0 {
		mediaKey = make([]byte, 32)
		_, _ = rand.Read(mediaKey)
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
