package sandbox

import (
	"time"

	waBinary "go.mau.fi/whatsmeow/binary"
	"go.mau.fi/whatsmeow/proto/waE2E"
	"go.mau.fi/whatsmeow/types"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// noSuchFile is the code with which a phone answers that it does not have a file.
const noSuchFile = 2

// fileOfMessage is what a phone needs of a message to upload its file again.
type fileOfMessage interface {
	GetDirectPath() string
	GetMediaKey() []byte
}

// onServerError answers a linked device that asks for the file of a message, which WhatsApp
// does not have any more. Who does not know the message has no key to answer with.
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
	if path, ok := p.net.uploadAgain(f.GetDirectPath()); ok {
		result, _ = mediaRetrySuccess(id, path, f.GetMediaKey()) // encoding what was just made does not fail
	}
	p.net.queueFor(n.AttrGetter().OptionalJIDOrEmpty("from"), mediaAnswer(p.lid, id, result, rmr))
}

// mediaAnswer is what a phone tells of a file that it was asked for.
func mediaAnswer(phone types.JID, id string, result, rmr waBinary.Node) waBinary.Node {
	return waBinary.Node{Tag: "notification", Attrs: waBinary.Attrs{
		"type": "mediaretry", "from": phone, "id": id, "t": time.Now().Unix(),
	}, Content: []waBinary.Node{result, rmr}}
}

// fileOf finds the file of a message that the phone keeps.
func (p *Phone) fileOf(id string) fileOfMessage {
	for _, r := range p.Received() {
		if r.ID == id {
			return heldFile(r.Message)
		}
	}
	return nil
}

// heldFile finds the file in a message, in whatever it is wrapped.
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

// uploadAgain makes a file that is gone, or is not, available under a new path.
func (s *Server) uploadAgain(path string) (newPath string, ok bool) {
	s.media.mu.Lock()
	defer s.media.mu.Unlock()
	if _, ok = s.media.files[mediaID(path)]; !ok {
		return "", false
	}
	id := newMediaID()
	s.media.again[id] = mediaID(path)
	return mediaPath(id), true
}
