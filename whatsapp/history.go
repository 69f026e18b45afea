package whatsapp

import (
	"bufio"
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"go.mau.fi/whatsmeow/proto/waHistorySync"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"postern/whatsapp/translate"
)

// Limits of one piece of history. A phone sends some megabytes; hostile data could
// inflate without end.
const (
	maxHistory      = 4 << 30  // decompressed bytes
	maxHistoryField = 64 << 20 // one field that is read at once
	historyStep     = 200      // messages in one part
	historyBytes    = 4 << 20  // bytes in one part, if reached earlier
)

var errHistory = errors.New("malformed history")

// Fields of HistorySync and Conversation that are read one element at a time.
var (
	conversationsField = fieldNumber(&waHistorySync.HistorySync{}, "conversations")
	messagesField      = fieldNumber(&waHistorySync.Conversation{}, "messages")
)

func fieldNumber(m proto.Message, name string) protowire.Number {
	for f := range m.ProtoReflect().Descriptor().Fields().Len() {
		if d := m.ProtoReflect().Descriptor().Fields().Get(f); string(d.Name()) == name {
			return d.Number()
		}
	}
	return 0
}

// readHistory reads a compressed piece of history. It calls some for parts of at most
// historyStep messages of a conversation, each with the fields of the conversation read
// so far, so that memory does not grow with the history. An error of some ends it.
func readHistory(compressed io.Reader, some func(*waHistorySync.Conversation) error) (h translate.History, err error) {
	return readPieceOf(compressed, &historyReader{some: some})
}

// readHistoryHeads skips the messages and calls one for each conversation with all its
// other fields.
func readHistoryHeads(compressed io.Reader, one func(*waHistorySync.Conversation)) (h translate.History, err error) {
	return readPieceOf(compressed, &historyReader{heads: true, some: func(c *waHistorySync.Conversation) error {
		one(c)
		return nil
	}})
}

func readPieceOf(compressed io.Reader, r *historyReader) (h translate.History, err error) {
	z, err := zlib.NewReader(compressed)
	if err != nil {
		return h, fmt.Errorf("history: %w", err)
	}
	r.in = bufio.NewReader(io.LimitReader(z, maxHistory))
	if err := r.read(); err != nil {
		return r.History, fmt.Errorf("history: %w", err)
	}
	r.Rest = &waHistorySync.HistorySync{}
	if err := lenient.Unmarshal(r.other, r.Rest); err != nil {
		return r.History, fmt.Errorf("history: %w", err)
	}
	return r.History, nil
}

// lenient accepts messages that lack a required field: one such message must not
// prevent reading the others.
var lenient = proto.UnmarshalOptions{AllowPartial: true}

type historyReader struct {
	in    *bufio.Reader
	heads bool // messages are skipped
	some  func(*waHistorySync.Conversation) error
	other []byte // the other fields, as they came
	translate.History
}

func (r *historyReader) read() error {
	for {
		number, kind, err := readTag(r.in)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if number != conversationsField || kind != protowire.BytesType {
			if r.other, err = appendField(r.other, r.in, number, kind); err != nil {
				return err
			}
			continue
		}
		size, err := binary.ReadUvarint(r.in)
		if err != nil {
			return unexpected(err)
		}
		if size > maxHistory {
			return errHistory
		}
		if err := r.conversation(int64(size)); err != nil {
			return err
		}
	}
}

// conversation reads one conversation of that size.
func (r *historyReader) conversation(size int64) error {
	in := &limited{r: r.in, left: size}
	var head []byte
	var batch []*waHistorySync.HistorySyncMsg
	held := 0 // bytes of batch
	r.Conversations++
	flush := func() error {
		c := &waHistorySync.Conversation{}
		if err := lenient.Unmarshal(head, c); err != nil {
			return err
		}
		c.Messages = batch
		batch, held = nil, 0
		return r.some(c)
	}
	for in.left > 0 {
		number, kind, err := readTag(in)
		if err != nil {
			return unexpected(err)
		}
		if number != messagesField || kind != protowire.BytesType {
			if head, err = appendField(head, in, number, kind); err != nil {
				return err
			}
			continue
		}
		if r.heads {
			if err := skipBytes(in); err != nil {
				return err
			}
			continue
		}
		raw, err := readBytes(in)
		if err != nil {
			return err
		}
		held += len(raw)
		m := &waHistorySync.HistorySyncMsg{}
		if err := lenient.Unmarshal(raw, m); err != nil {
			return err
		}
		r.Messages++
		if batch = append(batch, m); len(batch) == historyStep || held >= historyBytes {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	return flush()
}

// byteReader is the input of fields.
type byteReader interface {
	io.Reader
	io.ByteReader
}

// limited reads the next bytes of a reader.
type limited struct {
	r    *bufio.Reader
	left int64
}

// Read implements io.Reader.
func (l *limited) Read(p []byte) (int, error) {
	if l.left <= 0 {
		return 0, io.EOF
	}
	n, err := l.r.Read(p[:min(int64(len(p)), l.left)])
	l.left -= int64(n)
	return n, err
}

// ReadByte implements io.ByteReader.
func (l *limited) ReadByte() (byte, error) {
	if l.left <= 0 {
		return 0, io.EOF
	}
	l.left--
	return l.r.ReadByte()
}

func readTag(r byteReader) (protowire.Number, protowire.Type, error) {
	tag, err := binary.ReadUvarint(r)
	if err != nil {
		return 0, 0, err
	}
	number, kind := protowire.DecodeTag(tag)
	if number < protowire.MinValidNumber {
		return 0, 0, errHistory
	}
	return number, kind, nil
}

// readBytes reads a length and that many bytes.
func readBytes(r byteReader) ([]byte, error) {
	size, err := binary.ReadUvarint(r)
	if err != nil {
		return nil, unexpected(err)
	}
	if size > maxHistoryField {
		return nil, errHistory
	}
	raw, err := io.ReadAll(io.LimitReader(r, int64(size)))
	if err == nil && uint64(len(raw)) < size {
		err = io.ErrUnexpectedEOF
	}
	return raw, err
}

// skipBytes reads a length and skips that many bytes.
func skipBytes(r byteReader) error {
	size, err := binary.ReadUvarint(r)
	if err != nil {
		return unexpected(err)
	}
	if size > maxHistoryField {
		return errHistory
	}
	_, err = io.CopyN(io.Discard, r, int64(size)) //nolint:gosec // bounded above
	return unexpected(err)
}

// appendField copies one encoded field.
func appendField(to []byte, r byteReader, number protowire.Number, kind protowire.Type) ([]byte, error) {
	to = protowire.AppendTag(to, number, kind)
	switch kind {
	case protowire.VarintType:
		v, err := binary.ReadUvarint(r)
		return protowire.AppendVarint(to, v), unexpected(err)
	case protowire.BytesType:
		raw, err := readBytes(r)
		if len(to)+len(raw) > maxHistoryField {
			return to, errHistory
		}
		return protowire.AppendBytes(to, raw), err
	case protowire.Fixed32Type:
		return appendFixed(to, r, 4)
	case protowire.Fixed64Type:
		return appendFixed(to, r, 8)
	default:
		return to, errHistory
	}
}

func appendFixed(to []byte, r io.Reader, size int) ([]byte, error) {
	var raw [8]byte
	_, err := io.ReadFull(r, raw[:size])
	return append(to, raw[:size]...), err
}

// unexpected turns io.EOF inside a field into io.ErrUnexpectedEOF.
func unexpected(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// inlinePiece is a piece of history in memory.
func inlinePiece(data []byte) pieceFile { return memoryPiece{bytes.NewReader(data)} }

type memoryPiece struct{ *bytes.Reader }

// Close implements pieceFile.
func (memoryPiece) Close() error { return nil }
