package record

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"postern/batch/schedule"
	"postern/batch/table"
	"postern/event"
	"postern/store"
	"postern/store/schema"
)

// The buckets. Constant data is separate from data that every item changes,
// so that the record written per item stays small whatever the message is.
const (
	BucketHeader   = "batch"
	BucketSpec     = "batch_spec"
	BucketMessage  = "batch_message"
	BucketItem     = "batch_item"
	BucketDetails  = "batch_details"
	BucketAttempt  = "batch_attempt"
	BucketOwner    = "batch_owner"
	BucketOpen     = "batch_open"
	BucketCreating = "batch_creating"
	BucketRemoving = "batch_removing"
	BucketEnded    = "batch_ended"
	BucketNumber   = "batch_number"
)

// Buckets declares the buckets of this package.
func Buckets() []schema.Bucket {
	const owner = "batch"
	return []schema.Bucket{
		{Name: BucketHeader, Owner: owner, Key: "batch", Value: "binary, version 1: status, counts, times, fencing number, the last items", Needs: headerNeeds},
		{Name: BucketSpec, Owner: owner, Key: "batch", Value: "JSON: owner, name, instances, options, schedule", Append: true, When: batchMade, Needs: schema.References(schema.Sized(0), "", schema.ToSameKey[[]byte](BucketHeader, noBatch))},
		{Name: BucketMessage, Owner: owner, Key: "batch", Value: "JSON: message, external attributes, what it answers", Append: true, Needs: schema.References(schema.Sized(0), "", schema.ToSameKey[[]byte](BucketHeader, noBatch))},
		{Name: BucketItem, Owner: owner, Key: "batch + position", Value: "binary, version 1, 2 or 3: recipient, status, outcome; the header may hold a newer one", Fill: 0.6, Needs: schema.References(schema.Decoded(24, DecodeItem), noItem, toBatch)},
		{Name: BucketDetails, Owner: owner, Key: "batch + position", Value: "binary, version 1: external id and variables of a recipient that has any", Append: true, Needs: schema.References(schema.Decoded(24, DecodeDetails), noBatch, toBatch)},
		{Name: BucketAttempt, Owner: owner, Key: "batch + position + attempt number", Value: "JSON: instance, outcome, of attempts that found no instance; the last attempt is in the item", Append: true, Needs: schema.References(schema.Sized(28), noBatch, toBatch[[]byte])},
		{Name: BucketOwner, Owner: owner, Key: "owner + batch", Value: "binary, version 1: when it was made, its name, its instances; nothing until it is counted", Needs: schema.References(schema.Sized(32), noBatch, toOwned)},
		{Name: BucketOpen, Owner: owner, Key: "batch", Value: "nothing, or binary, version 1: the scoped keys that it was created and last started with; absent once the batch is final", Append: true, Needs: schema.References(schema.Sized(0), "", toOpen)},
		{Name: BucketCreating, Owner: owner, Key: "batch", Value: "nothing; a creation or an append under way, swept at start", Needs: schema.References(schema.Sized(16), "")},
		{Name: BucketRemoving, Owner: owner, Key: "batch", Value: "nothing; a batch that was deleted and has items or attempts yet", Needs: schema.References(schema.Sized(16), noBatch, noHeader)},
		{Name: BucketEnded, Owner: owner, Key: "owner + s, c or e (stopped, completed, with errors) + batch", Value: "nothing; a final batch", Fill: 0.75, Needs: schema.References(schema.Sized(33), noBatch, toEnded)},
		{Name: BucketNumber, Owner: owner, Key: "all; user + owner; counted", Value: "JSON: how many batches there are in each status; the id up to which they are counted", Needs: schema.References(schema.Sized(0), "", batchesCounted)},
	}
}

// batchMade returns when a batch was created, which is part of its id.
func batchMade(key, _ []byte) (at time.Time) {
	if id, err := uuid.FromBytes(key); err == nil && id.Version() == 7 {
		at = time.Unix(id.Time().UnixTime()).UTC()
	}
	return at
}

// Header is the variable part of a batch. Times are Unix milliseconds, 0 unset.
type Header struct {
	table.Core
	Fence         uint64
	Cursor        int // no item before this position is PENDING
	Current       int // position of the item given last
	UpdatedAt     int64
	StartedAt     int64
	CompletedAt   int64
	PausedAt      int64
	StoppedAt     int64
	InterruptedAt int64
	RecoveredAt   int64
	NextRunAt     int64
	Reason        string
	WindowOff     bool    // started after its only window
	Shares        []Share // by the order of spec.all
	Recent        []Newer // items that are newer here than in their bucket
	Edition       uint64  // counts the changes of spec and message
}

// Share is one instance's part of the items.
type Share struct {
	Selected int
	Failed   int
	Success  int
}

// Spec is the part of a batch that only a call changes, except its message.
type Spec struct {
	Owner      uuid.UUID          `json:"owner"`
	Name       string             `json:"name"`
	Instances  []InstanceRef      `json:"instances"`
	Former     []InstanceRef      `json:"former,omitempty"` // that were removed; items may name them
	Options    event.BatchOptions `json:"options"`
	Schedule   json.RawMessage    `json:"schedule,omitempty"`
	Zone       string             `json:"zone,omitempty"` // of a schedule that names none
	CreatedAt  int64              `json:"createdAt"`
	Received   int                `json:"received"`
	Duplicates int                `json:"duplicates,omitempty"`
	RetryOf    *uuid.UUID         `json:"retryOf,omitempty"`

	Window  *schedule.Schedule `json:"-"` // parsed from Schedule, nil when there is none
	Partial bool               `json:"-"` // Instances are not all that the batch goes out by
}

// Message is what a batch sends, with what only calls change.
type Message struct {
	Message    event.BatchMessage `json:"message"`
	Original   *event.Original    `json:"original,omitempty"` // that Message forwards
	More       []Part             `json:"more,omitempty"`     // after Message
	Attributes json.RawMessage    `json:"attributes,omitempty"`
	Quoted     *event.Original    `json:"quoted,omitempty"`
	Templated  bool               `json:"templated,omitempty"` // its texts are templates
	Variables  []string           `json:"variables,omitempty"` // names to which details refer
}

// Parts returns what each recipient gets, in order.
func (m *Message) Parts() []Part {
	return append([]Part{{m.Message, m.Original}}, m.More...)
}

// Several reports whether an item is more than one message: an album is, too.
func (m *Message) Several() bool { return len(m.More) > 0 || m.Message.Type == event.TypeAlbum }

// Messages is parts as the API shows them.
func (m *Message) Messages() Messages {
	all := Messages{m.Message}
	for _, p := range m.More {
		all = append(all, p.BatchMessage)
	}
	return all
}

// SentPart is a message of an item that was acknowledged, and is not its last one.
type SentPart struct {
	Instance  int64  `json:"inst"`
	WhatsApp  string `json:"wa"`
	MessageID int64  `json:"msg,omitempty"`
}

// Item is one recipient of a batch. Times are Unix milliseconds, 0 unset.
type Item struct {
	Input     string
	To        string     // digits; empty when Input is them
	Detailed  bool       // it has details
	Parts     []SentPart // the next one of its batch's is that of ClientID
	Status    ItemStatus // empty means PENDING
	JID       string
	Instance  int64
	ClientID  string
	WhatsApp  string
	MessageID int64
	Attempts  int
	DelayMs   *int64
	Code      string
	Error     string
	UpdatedAt int64
	StartedAt int64
	EndedAt   int64
}

// Recipient returns the digits of the recipient.
func (r Item) Recipient() string {
	if r.To != "" {
		return r.To
	}
	return r.Input
}

// LastAttempt returns the attempt in the item's own record.
func (r Item) LastAttempt() Attempt {
	a := Attempt{
		Instance: r.Instance, ClientID: r.ClientID, Status: AttemptStatus(r.Status),
		Code: r.Code, Error: r.Error, StartedAt: r.StartedAt, EndedAt: r.EndedAt,
		Parts: r.Parts, WhatsApp: r.WhatsApp,
	}
	if r.Status == ItemSkipped {
		a.Status = AttemptFailed
	}
	return a
}

// Attempt is one try to send an item.
type Attempt struct {
	Instance  int64         `json:"inst"`
	ClientID  string        `json:"cid"`
	Status    AttemptStatus `json:"st"`
	Code      string        `json:"code,omitempty"`
	Error     string        `json:"err,omitempty"`
	StartedAt int64         `json:"began"`
	EndedAt   int64         `json:"ended"`
	Parts     []SentPart    `json:"parts,omitempty"` // that were sent by then
	WhatsApp  string        `json:"-"`               // of the part after them, in an item's own record
}

// ItemKeySize is the size of an item's key in bytes.
const ItemKeySize = 24

// ItemKey is the key of an item, and of its details.
func ItemKey(id uuid.UUID, position int) []byte {
	return AppendItemKey(make([]byte, 0, ItemKeySize), id, position)
}

// AppendItemKey appends the key of an item.
func AppendItemKey(to []byte, id uuid.UUID, position int) []byte {
	return binary.BigEndian.AppendUint64(append(to, id[:]...), uint64(position))
}

// ItemKeyPosition returns the position in the key of an item.
func ItemKeyPosition(key []byte) int { return int(binary.BigEndian.Uint64(key[16:])) }

// AttemptKey is the key of an attempt; numbers begin with 1.
func AttemptKey(id uuid.UUID, position, number int) []byte {
	return binary.BigEndian.AppendUint32(ItemKey(id, position), uint32(number))
}

// ItemID derives an item's UUID (version 7) from its batch's: the same instant
// and random bits, the position in the last four bytes. So an id identifies its
// item without an index.
func ItemID(batch uuid.UUID, position int) uuid.UUID {
	id := batch
	for i := range 4 { // keep the random bits of the bytes that the position takes
		id[8+i] ^= batch[12+i]
	}
	id[8] = id[8]&0x3f | 0x80
	binary.BigEndian.PutUint32(id[12:], uint32(position))
	return id
}

// ItemPosition is the inverse of ItemID; ok is false if the item is of another batch.
func ItemPosition(batch, item uuid.UUID) (position int, ok bool) {
	position = int(binary.BigEndian.Uint32(item[12:]))
	return position, ItemID(batch, position) == item
}

// AttemptID derives an attempt's UUID (version 7) from its item's.
func AttemptID(item uuid.UUID, number int) uuid.UUID {
	id := item
	mixed := binary.BigEndian.Uint16(id[6:])&0x0fff ^ uint16(number)&0x0fff
	binary.BigEndian.PutUint16(id[6:], 0x7000|mixed)
	return id
}

// LoadHeader reads the header of a batch. Errors are ErrNotFound, and those of the store.
func LoadHeader(tx *store.Tx, id uuid.UUID) (Header, error) {
	raw, err := tx.Get(BucketHeader, id[:])
	if err != nil {
		return Header{}, err
	}
	if raw == nil {
		return Header{}, ErrNotFound
	}
	h, err := DecodeHeader(raw)
	if err != nil {
		err = tx.Unreadable(BucketHeader, id[:], err)
	}
	return h, err
}

// PutHeader stores the header of a batch.
func PutHeader(tx *store.Tx, id uuid.UUID, h *Header) error {
	return tx.Put(BucketHeader, id[:], h.encode())
}

// LoadSpec reads the spec of a batch and parses its schedule. Errors are as of LoadHeader.
func LoadSpec(tx *store.Tx, id uuid.UUID) (*Spec, error) {
	s, found, err := store.GetJSON[Spec](tx, BucketSpec, id[:])
	if err != nil {
		return nil, err
	}
	if !found {
		return nil, ErrNotFound
	}
	if len(s.Schedule) > 0 {
		zone, err := time.LoadLocation(s.Zone)
		if err != nil {
			return nil, fmt.Errorf("batch %s: stored zone: %w: %w", id, store.ErrDamaged, err)
		}
		if s.Window, err = schedule.Parse(s.Schedule, zone); err != nil {
			return nil, fmt.Errorf("batch %s: stored schedule: %w: %w", id, store.ErrDamaged, err)
		}
	}
	return &s, nil
}

// LoadMessage reads what a batch sends.
func LoadMessage(tx *store.Tx, id uuid.UUID) (*Message, error) {
	m, _, err := store.GetJSON[Message](tx, BucketMessage, id[:])
	return &m, err
}

// IDs returns the ids that are the keys of a bucket.
func IDs(tx *store.Tx, bucket string) ([]uuid.UUID, error) {
	var all []uuid.UUID
	err := tx.Scan(bucket, store.Range{}, func(k, _ []byte) (bool, error) {
		id, err := uuid.FromBytes(k)
		all = append(all, id)
		return true, err
	})
	return all, err
}

// Newer is an item whose record in its header is newer than the one in
// its own bucket.
type Newer struct {
	Position int
	Raw      []byte // encoded
}

// Newest returns the record of an item in the header, or nil.
func (h *Header) Newest(position int) []byte {
	for _, i := range h.Recent {
		if i.Position == position {
			return i.Raw
		}
	}
	return nil
}

// Lost reports whether the item is the zero value, which stands for a damaged record.
func (r Item) Lost() bool { return r.Recipient() == "" }

// Between reports whether the item is SENDING and nothing of it is on its way: one of its
// messages was sent, and the next one has no id.
func (r *Item) Between() bool {
	return r.Status == ItemSending && r.ClientID == "" && len(r.Parts) > 0
}

// Prefers returns the instance that sent the last message of the item, which should send
// the next one, too; 0: any.
func (r *Item) Prefers() int64 {
	if n := len(r.Parts); n > 0 {
		return r.Parts[n-1].Instance
	}
	return 0
}

// ShownStatus returns the status of an item as in the API.
func (r Item) ShownStatus() ItemStatus {
	if r.Status == "" {
		return ItemPending
	}
	return r.Status
}

// Hides reports whether an instance is omitted.
func (s *Spec) Hides(instance int64) bool {
	return s.Partial && instance != 0 && s.InstanceName(instance) == ""
}

// All returns the instances that a batch has and had.
func (s *Spec) All() []InstanceRef {
	if len(s.Former) == 0 {
		return s.Instances
	}
	return slices.Concat(s.Instances, s.Former)
}

// InstanceName returns the name of an instance of the batch, "" for any other.
func (s *Spec) InstanceName(id int64) string {
	for _, ref := range s.All() {
		if ref.ID == id {
			return ref.Name
		}
	}
	return ""
}

// FinalAt returns when a final batch became final.
func (h *Header) FinalAt() time.Time {
	if h.Status == event.BatchIsStopped {
		return time.UnixMilli(h.StoppedAt)
	}
	return time.UnixMilli(h.CompletedAt)
}

// RemoveStep is how many records one commit removes.
const RemoveStep = 1000

// ErrNotFound says that there is no such batch or item, or that it belongs to another user.
var ErrNotFound = errors.New("batch not found")
