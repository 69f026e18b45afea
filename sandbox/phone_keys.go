package sandbox

import (
	"encoding/binary"
	"errors"

	"go.mau.fi/libsignal/ecc"
	waBinary "go.mau.fi/whatsmeow/binary"

	"postern/sandbox/handset"
)

var errKeys = errors.New("malformed keys in a retry receipt")

// replaceKeys is a new phone with the same number: fresh keys, no sessions.
func (p *Phone) replaceKeys() error {
	h, err := handset.New(p.pn, p.lid)
	if err != nil {
		return err
	}
	p.sending.Lock()
	p.mu.Lock()
	p.keys = h
	p.mu.Unlock()
	p.sending.Unlock()
	p.save()
	return nil
}

// keysNode is a bundle as a retry receipt carries it.
func keysNode(b handset.Bundle) waBinary.Node {
	content := []waBinary.Node{
		{Tag: "type", Content: []byte{ecc.DjbType}},
		{Tag: "identity", Content: b.Identity[:]},
	}
	if b.OneTime != nil {
		content = append(content, preKeyNode("key", *b.OneTime, nil))
	}
	content = append(content, preKeyNode("skey", b.SignedPreKey, b.SignedSignature[:]))
	return waBinary.Node{Tag: "keys", Content: content}
}

func preKeyNode(tag string, key handset.PreKey, signature []byte) waBinary.Node {
	id := binary.BigEndian.AppendUint32(nil, key.ID)[1:]
	content := []waBinary.Node{{Tag: "id", Content: id}, {Tag: "value", Content: key.Pub[:]}}
	if signature != nil {
		content = append(content, waBinary.Node{Tag: "signature", Content: signature})
	}
	return waBinary.Node{Tag: tag, Content: content}
}

// bundleFrom reads the keys of a retry receipt; nil when it carries none.
func bundleFrom(receipt waBinary.Node) (*handset.Bundle, error) {
	node, ok := receipt.GetOptionalChildByTag("keys")
	if !ok {
		return nil, nil
	}
	registration, _ := receipt.GetChildByTag("registration").Content.([]byte)
	identity, _ := node.GetChildByTag("identity").Content.([]byte)
	signature, _ := node.GetChildByTag("skey", "signature").Content.([]byte)
	signed, ok := preKeyFrom(node.GetChildByTag("skey"))
	if !ok || len(registration) != 4 || len(identity) != 32 || len(signature) != 64 {
		return nil, errKeys
	}
	b := &handset.Bundle{
		RegistrationID: binary.BigEndian.Uint32(registration), Identity: [32]byte(identity),
		SignedPreKey: signed, SignedSignature: [64]byte(signature),
	}
	if child, ok := node.GetOptionalChildByTag("key"); ok {
		oneTime, ok := preKeyFrom(child)
		if !ok {
			return nil, errKeys
		}
		b.OneTime = &oneTime
	}
	return b, nil
}

func preKeyFrom(node waBinary.Node) (handset.PreKey, bool) {
	id, _ := node.GetChildByTag("id").Content.([]byte)
	value, _ := node.GetChildByTag("value").Content.([]byte)
	if len(id) != 3 || len(value) != 32 {
		return handset.PreKey{}, false
	}
	return handset.PreKey{ID: binary.BigEndian.Uint32(append([]byte{0}, id...)), Pub: [32]byte(value)}, true
}
