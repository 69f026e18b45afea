package handset

import (
	"encoding/binary"
	"errors"

	"go.mau.fi/libsignal/ecc"
	waBinary "go.mau.fi/whatsmeow/binary"
)

var errKeys = errors.New("malformed keys in a retry receipt")

// KeysNode is a bundle in a retry receipt, without the registration id, which is beside
// it.
func KeysNode(b Bundle) waBinary.Node {
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

func preKeyNode(tag string, key PreKey, signature []byte) waBinary.Node {
	id := binary.BigEndian.AppendUint32(nil, key.ID)[1:]
	content := []waBinary.Node{{Tag: "id", Content: id}, {Tag: "value", Content: key.Pub[:]}}
	if signature != nil {
		content = append(content, waBinary.Node{Tag: "signature", Content: signature})
	}
	return waBinary.Node{Tag: tag, Content: content}
}

// BundleFrom parses the keys of a retry receipt; nil if it has none. The error means
// that they are malformed.
func BundleFrom(receipt waBinary.Node) (*Bundle, error) {
	node, ok := receipt.GetOptionalChildByTag("keys")
	if !ok {
		return nil, nil
	}
	registration, _ := receipt.GetChildByTag("registration").Content.([]byte)
	identity, _ := node.GetChildByTag("identity").Content.([]byte)
	signature, _ := node.GetChildByTag("skey", "signature").Content.([]byte)
	signed, ok := PreKeyFrom(node.GetChildByTag("skey"))
	if !ok || len(registration) != 4 || len(identity) != 32 || len(signature) != 64 {
		return nil, errKeys
	}
	b := &Bundle{
		RegistrationID: binary.BigEndian.Uint32(registration), Identity: [32]byte(identity),
		SignedPreKey: signed, SignedSignature: [64]byte(signature),
	}
	if child, ok := node.GetOptionalChildByTag("key"); ok {
		oneTime, ok := PreKeyFrom(child)
		if !ok {
			return nil, errKeys
		}
		b.OneTime = &oneTime
	}
	return b, nil
}

// PreKeyFrom parses a pre-key; false if it is malformed.
func PreKeyFrom(node waBinary.Node) (PreKey, bool) {
	id, _ := node.GetChildByTag("id").Content.([]byte)
	value, _ := node.GetChildByTag("value").Content.([]byte)
	if len(id) != 3 || len(value) != 32 {
		return PreKey{}, false
	}
	return PreKey{ID: binary.BigEndian.Uint32(append([]byte{0}, id...)), Pub: [32]byte(value)}, true
}
