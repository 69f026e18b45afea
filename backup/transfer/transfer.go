// Package transfer writes one account with all its data into a file, and reads it back.
// It moves an account to another Postern without a new pairing.
//
// The file is text, one JSON value per line: a [Head], the instance, its device, the
// device's sessions, keys and names, any number of contacts and messages, and an end with
// the number of lines and their digest. A truncated or modified file is rejected. With
// recipients the file is encrypted by age.
//
// The file holds the account's keys. Anyone who has it can act as the account.
package transfer

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"

	"filippo.io/age"

	"postern/backup"
	"postern/event"
	"postern/instance"
	"postern/messages"
	"postern/whatsapp/device"
)

const (
	kind    = "postern account"
	version = 1

	maxLine = 8 << 20 // far above any message with its attributes

	// Memory taken by a line and by an update of a message, besides its text.
	lineCost   = 256
	updateCost = 64
)

// Head identifies a file.
type Head struct {
	Kind    string     `json:"kind"`
	Format  int        `json:"format"`
	Version string     `json:"version"` // of the program that wrote it
	At      event.Time `json:"at"`
	Name    string     `json:"name"` // of the instance
}

// line is one line of a file; exactly one field is set.
type line struct {
	Head     *Head              `json:"head,omitempty"`
	Instance *instance.Export   `json:"instance,omitempty"`
	Device   json.RawMessage    `json:"device,omitempty"`
	Session  *session           `json:"session,omitempty"`
	Entry    *device.Entry      `json:"entry,omitempty"`
	Pair     *[2]string         `json:"pair,omitempty"`
	Contact  *messages.Contact  `json:"contact,omitempty"`
	Message  *messages.Exported `json:"message,omitempty"`
	End      *end               `json:"end,omitempty"`
}

type session struct {
	Address string `json:"address"`
	Record  []byte `json:"record"`
}

type end struct {
	Lines  int    `json:"lines"`  // number of lines before it
	SHA256 string `json:"sha256"` // of those lines, including line feeds
}

// Errors of [Read], besides those of package backup.
var (
	ErrForeign = errors.New("not an exported account of Postern")
	ErrDamaged = errors.New("the file is damaged or truncated")
	// ErrTooLarge reports that the account needs more memory than Read may use.
	ErrTooLarge = errors.New("the account is too large")
)

// Writer writes a file. Call its methods in the order of their declaration, Close last.
type Writer struct {
	w      io.Writer
	sealed io.WriteCloser // nil: not encrypted
	out    *bufio.Writer
	sum    hash.Hash
	lines  int
}

// NewWriter begins a file, encrypted for the recipients if there are any.
func NewWriter(w io.Writer, h Head, to ...age.Recipient) (*Writer, error) {
	t := &Writer{w: w, sum: sha256.New()}
	if len(to) > 0 {
		sealed, err := age.Encrypt(w, to...)
		if err != nil {
			return nil, fmt.Errorf("transfer: encrypt: %w", err)
		}
		t.sealed, t.w = sealed, sealed
	}
	t.out = bufio.NewWriterSize(t.w, 64<<10)
	h.Kind, h.Format = kind, version
	return t, t.put(line{Head: &h})
}

func (t *Writer) put(l line) error {
	raw, err := json.Marshal(l)
	if err != nil {
		return fmt.Errorf("transfer: %w", err)
	}
	raw = append(raw, '\n')
	t.lines++
	_, _ = t.sum.Write(raw)
	_, err = t.out.Write(raw)
	return err
}

// Instance writes the instance.
func (t *Writer) Instance(e instance.Export) error { return t.put(line{Instance: &e}) }

// Device writes the device with all its data.
func (t *Writer) Device(e *device.Export) error {
	if err := t.put(line{Device: e.Record}); err != nil {
		return err
	}
	for address, record := range e.Sessions {
		if err := t.put(line{Session: &session{address, record}}); err != nil {
			return err
		}
	}
	for i := range e.Entries {
		if err := t.put(line{Entry: &e.Entries[i]}); err != nil {
			return err
		}
	}
	for i := range e.Pairs {
		if err := t.put(line{Pair: &e.Pairs[i]}); err != nil {
			return err
		}
	}
	return nil
}

// Contact writes a contact.
func (t *Writer) Contact(c messages.Contact) error { return t.put(line{Contact: &c}) }

// Message writes a stored message.
func (t *Writer) Message(m messages.Exported) error { return t.put(line{Message: &m}) }

// Close writes the end. A file without it is rejected.
func (t *Writer) Close() error {
	err := t.put(line{End: &end{t.lines, hex.EncodeToString(t.sum.Sum(nil))}})
	if err == nil {
		err = t.out.Flush()
	}
	if err == nil && t.sealed != nil {
		err = t.sealed.Close()
	}
	return err
}

// Account is the content of a file.
type Account struct {
	Head     Head
	Instance instance.Received
	Device   *device.Image
}

// Credential returns the name of the instance and its token.
func (a *Account) Credential() (name, token string, err error) {
	had, err := a.record()
	return had.Name, had.Token.Value, err
}

func (a *Account) record() (had instance.Record, err error) {
	if err := json.Unmarshal(a.Instance.Record, &had); err != nil {
		return had, fmt.Errorf("%w: the instance record: %w", ErrDamaged, err)
	}
	return had, nil
}

// Read reads a complete file, using about most bytes of memory at most; 0 sets no limit.
// It returns nothing of a truncated or modified file.
func Read(ctx context.Context, r io.Reader, most int64, identities ...age.Identity) (*Account, error) {
	plain, err := backup.Opened(ctx, r, identities)
	if err != nil {
		return nil, err
	}
	a := &Account{}
	e := &device.Export{Sessions: map[string][]byte{}}
	lines := bufio.NewReaderSize(plain, 64<<10)
	sum := sha256.New()
	ended, held := false, int64(0)
	for n := 0; ; n++ {
		raw, err := readLine(lines)
		if errors.Is(err, io.EOF) && len(raw) == 0 {
			break
		}
		if err != nil {
			return nil, backup.Cut(err, fmt.Sprintf("line %d", n+1), ErrDamaged)
		}
		var l line
		wrong := json.Unmarshal(raw, &l)
		switch {
		case n == 0 && (wrong != nil || l.Head == nil || l.Head.Kind != kind):
			return nil, ErrForeign
		case n == 0 && l.Head.Format != version:
			return nil, fmt.Errorf("%w: format %d is not supported; this release supports %d and may be too old", ErrForeign, l.Head.Format, version)
		case wrong != nil || ended:
			return nil, fmt.Errorf("%w at line %d", ErrDamaged, n+1)
		case l.End != nil:
			if l.End.Lines != n || l.End.SHA256 != hex.EncodeToString(sum.Sum(nil)) {
				return nil, fmt.Errorf("%w: its end does not match the %d lines before it", ErrDamaged, n)
			}
			ended = true
		}
		if held += l.cost(len(raw)); most > 0 && held > most {
			return nil, fmt.Errorf("%w: it needs more than %d MiB of memory", ErrTooLarge, most>>20)
		}
		_, _ = sum.Write(raw)
		a.add(l, e)
	}
	if !ended || len(a.Instance.Record) == 0 || len(e.Record) == 0 {
		return nil, ErrDamaged
	}
	if a.Device, err = device.NewImageOf(e); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	had, err := a.record()
	if err == nil && had.OwnerJID != a.Device.Account() {
		err = fmt.Errorf("%w: its instance and its device belong to different accounts", ErrDamaged)
	}
	if err != nil {
		return nil, err
	}
	return a, nil
}

// cost estimates the memory that a line of that many bytes takes.
func (l *line) cost(bytes int) int64 {
	n := bytes + lineCost
	if l.Message != nil {
		n += len(l.Message.Updates) * updateCost
	}
	return int64(n)
}

func (a *Account) add(l line, e *device.Export) {
	switch {
	case l.Head != nil:
		a.Head = *l.Head
	case l.Instance != nil:
		a.Instance.Export = *l.Instance
	case l.Device != nil:
		e.Record = l.Device
	case l.Session != nil:
		e.Sessions[l.Session.Address] = l.Session.Record
	case l.Entry != nil:
		e.Entries = append(e.Entries, *l.Entry)
	case l.Pair != nil:
		e.Pairs = append(e.Pairs, *l.Pair)
	case l.Contact != nil:
		a.Instance.Contacts = append(a.Instance.Contacts, *l.Contact)
	case l.Message != nil:
		a.Instance.Messages = append(a.Instance.Messages, *l.Message)
	}
}

// readLine reads a line with its line feed. A line that is too long counts as damage.
func readLine(r *bufio.Reader) (raw []byte, err error) {
	for {
		part, err := r.ReadSlice('\n')
		raw = append(raw, part...)
		switch {
		case err == nil:
			return bytes.Clone(raw), nil
		case !errors.Is(err, bufio.ErrBufferFull):
			if errors.Is(err, io.EOF) && len(raw) > 0 {
				err = io.ErrUnexpectedEOF
			}
			return raw, err
		case len(raw) > maxLine:
			return raw, errors.New("line too long")
		}
	}
}
