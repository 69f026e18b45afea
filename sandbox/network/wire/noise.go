package wire

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/ecdh"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"

	"go.mau.fi/whatsmeow/proto/waWa6"
	"go.mau.fi/whatsmeow/socket"
	"go.mau.fi/whatsmeow/util/keys"
	"google.golang.org/protobuf/proto"
)

// errHandshake closes the connection of a client.
var errHandshake = errors.New("malformed Noise handshake")

// noiseState is Noise's symmetric state, for the pattern XX with 25519, AES-GCM and SHA-256.
type noiseState struct {
	hash, salt []byte
	key        cipher.AEAD
	counter    uint32
}

func newNoiseState(header []byte) (*noiseState, error) {
	start := []byte(socket.NoiseStartPattern) // 32 bytes, used as they are
	key, err := newGCM(start)
	if err != nil {
		return nil, err
	}
	n := &noiseState{hash: start, salt: start, key: key}
	n.authenticate(header)
	return n, nil
}

func newGCM(key []byte) (cipher.AEAD, error) {
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, fmt.Errorf("noise cipher: %w", err)
	}
	return cipher.NewGCM(block)
}

// noiseNonce has the counter in its last four bytes.
func noiseNonce(counter uint32) []byte {
	return binary.BigEndian.AppendUint32(make([]byte, 8, 12), counter)
}

func (n *noiseState) authenticate(data []byte) {
	sum := sha256.New()
	sum.Write(n.hash)
	sum.Write(data)
	n.hash = sum.Sum(nil)
}

func (n *noiseState) encrypt(plaintext []byte) []byte {
	sealed := n.key.Seal(nil, noiseNonce(n.counter), plaintext, n.hash)
	n.counter++
	n.authenticate(sealed)
	return sealed
}

func (n *noiseState) decrypt(sealed []byte) ([]byte, error) {
	plaintext, err := n.key.Open(nil, noiseNonce(n.counter), sealed, n.hash)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errHandshake, err)
	}
	n.counter++
	n.authenticate(sealed)
	return plaintext, nil
}

// mix derives the next key from a shared secret.
func (n *noiseState) mix(own *keys.KeyPair, peer []byte) error {
	private, err := ecdh.X25519().NewPrivateKey(own.Priv[:])
	if err != nil {
		return fmt.Errorf("noise private key: %w", err)
	}
	public, err := ecdh.X25519().NewPublicKey(peer)
	if err != nil {
		return fmt.Errorf("%w: %w", errHandshake, err)
	}
	secret, err := private.ECDH(public)
	if err != nil {
		return fmt.Errorf("%w: %w", errHandshake, err)
	}
	salt, key, err := n.expand(secret)
	if err != nil {
		return err
	}
	n.salt, n.counter = salt, 0
	n.key, err = newGCM(key)
	return err
}

func (n *noiseState) expand(secret []byte) (first, second []byte, err error) {
	both, err := hkdf.Key(sha256.New, secret, n.salt, "", 64)
	if err != nil {
		return nil, nil, fmt.Errorf("noise keys: %w", err)
	}
	return both[:32], both[32:], nil
}

// Ciphers are the two directions of an established connection. Each direction must be
// used by one goroutine.
type Ciphers struct {
	read, write               cipher.AEAD
	readCounter, writeCounter uint32
}

// Open decrypts the client's next frame.
func (c *Ciphers) Open(frame []byte) ([]byte, error) {
	plaintext, err := c.read.Open(nil, noiseNonce(c.readCounter), frame, nil)
	c.readCounter++
	return plaintext, err
}

// Seal encrypts the next frame for the client.
func (c *Ciphers) Seal(plaintext []byte) []byte {
	c.writeCounter++
	return c.write.Seal(nil, noiseNonce(c.writeCounter-1), plaintext, nil)
}

// Responder is the server's side of one handshake: hello, then finish.
type Responder struct {
	state     *noiseState
	static    *keys.KeyPair
	ephemeral *keys.KeyPair
}

// NewResponder begins a handshake. header is the result of Preamble, static the
// server's identity.
func NewResponder(header []byte, static *keys.KeyPair) (*Responder, error) {
	state, err := newNoiseState(header)
	if err != nil {
		return nil, err
	}
	return &Responder{state: state, static: static}, nil
}

// Hello reads ClientHello and returns ServerHello with the certificate chain of the
// server's identity.
func (r *Responder) Hello(frame, certificate []byte) ([]byte, error) {
	var message waWa6.HandshakeMessage
	if err := proto.Unmarshal(frame, &message); err != nil {
		return nil, fmt.Errorf("client hello: %w: %w", errHandshake, err)
	}
	client := message.GetClientHello().GetEphemeral()
	if len(client) != 32 {
		return nil, fmt.Errorf("client hello: ephemeral key has %d bytes: %w", len(client), errHandshake)
	}
	r.ephemeral = keys.NewKeyPair()
	r.state.authenticate(client)
	r.state.authenticate(r.ephemeral.Pub[:])
	if err := r.state.mix(r.ephemeral, client); err != nil {
		return nil, fmt.Errorf("client hello: %w", err)
	}
	static := r.state.encrypt(r.static.Pub[:])
	if err := r.state.mix(r.static, client); err != nil {
		return nil, fmt.Errorf("client hello: %w", err)
	}
	return proto.Marshal(&waWa6.HandshakeMessage{ServerHello: &waWa6.HandshakeMessage_ServerHello{
		Ephemeral: r.ephemeral.Pub[:], Static: static, Payload: r.state.encrypt(certificate),
	}})
}

// Finish reads ClientFinish: the client's static key and its payload, and the ciphers
// of the connection.
func (r *Responder) Finish(frame []byte) (client [32]byte, payload *waWa6.ClientPayload, ciphers *Ciphers, err error) {
	var message waWa6.HandshakeMessage
	if err := proto.Unmarshal(frame, &message); err != nil {
		return client, nil, nil, fmt.Errorf("client finish: %w: %w", errHandshake, err)
	}
	static, err := r.state.decrypt(message.GetClientFinish().GetStatic())
	if err != nil || len(static) != 32 {
		return client, nil, nil, fmt.Errorf("client finish: static key: %w", errors.Join(errHandshake, err))
	}
	if err := r.state.mix(r.ephemeral, static); err != nil {
		return client, nil, nil, fmt.Errorf("client finish: %w", err)
	}
	raw, err := r.state.decrypt(message.GetClientFinish().GetPayload())
	if err != nil {
		return client, nil, nil, fmt.Errorf("client finish: payload: %w", err)
	}
	payload = &waWa6.ClientPayload{}
	if err := proto.Unmarshal(raw, payload); err != nil {
		return client, nil, nil, fmt.Errorf("client finish: payload: %w: %w", errHandshake, err)
	}
	ciphers, err = r.split()
	return [32]byte(static), payload, ciphers, err
}

// split derives the keys of the connection. The first one encrypts the client's frames.
func (r *Responder) split() (*Ciphers, error) {
	first, second, err := r.state.expand(nil)
	if err != nil {
		return nil, err
	}
	read, err := newGCM(first)
	if err != nil {
		return nil, err
	}
	write, err := newGCM(second)
	if err != nil {
		return nil, err
	}
	return &Ciphers{read: read, write: write}, nil
}
