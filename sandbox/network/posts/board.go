package posts

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"postern/store"
)

// Bucket has the posts.
const Bucket = "sandbox_post"

var (
	// ErrNoPost says that the channel has no such post.
	ErrNoPost = errors.New("the channel has no such post")
	// ErrInvalid says that the network does not take such a post.
	ErrInvalid = errors.New("not a post of a channel")
	// ErrTooOld says that the post cannot be edited any more.
	ErrTooOld = errors.New("the post is too old to be edited")

	errSaved = errors.New("damaged record")
)

// Bounds of a channel and its lists.
const (
	// first is the number of a channel's first post.
	first = 100
	// EditWindow is how long a post can be edited.
	EditWindow = 30 * 24 * time.Hour
	// DefaultCount is the length of a list whose length is not asked for, MaxCount the greatest.
	DefaultCount = 50
	MaxCount     = 100
)

// Post is one post of a channel.
type Post struct {
	ServerID  int               `json:"serverId"`
	ID        string            `json:"id"`
	At        time.Time         `json:"at"`
	EditedAt  time.Time         `json:"editedAt,omitzero"`
	Type      string            `json:"type"` // text, media or poll
	MediaType string            `json:"mediaType,omitempty"`
	Plaintext []byte            `json:"plaintext,omitempty"` // the message; nil: deleted
	Viewers   []string          `json:"viewers,omitempty"`   // numbers
	Reactions map[string]string `json:"reactions,omitempty"` // emojis, by number
}

// Board has the posts of all channels, by the number of the channel, oldest first.
type Board struct {
	all  map[string][]*Post
	keep func(key, value []byte)
}

// New returns an empty board. keep saves a record, in the order of the calls.
func New(keep func(key, value []byte)) *Board { return &Board{map[string][]*Post{}, keep} }

func (b *Board) save(channel string, p *Post) error {
	raw, err := json.Marshal(p)
	if err != nil {
		return fmt.Errorf("encode a post: %w", err)
	}
	b.keep(store.Key(channel, byte(0), uint64(p.ServerID)), raw) //nolint:gosec // numbers begin at first
	return nil
}

// Load adds a saved post. Records come in the order of their keys.
func (b *Board) Load(k, v []byte) error {
	p := new(Post)
	const tail = 1 + 8 // the zero byte and the number
	if err := json.Unmarshal(v, p); err != nil || len(k) <= tail || p.ServerID < first {
		return fmt.Errorf("post: %w", errSaved)
	}
	channel := string(k[:len(k)-tail])
	b.all[channel] = append(b.all[channel], p)
	return nil
}

// Publish adds a post and numbers it.
func (b *Board) Publish(channel string, p Post) (*Post, error) {
	p.ServerID = first
	if all := b.all[channel]; len(all) > 0 {
		p.ServerID = all[len(all)-1].ServerID + 1
	}
	p.At = time.Now()
	b.all[channel] = append(b.all[channel], &p)
	return &p, b.save(channel, &p)
}

// Find returns the post with an id. Errors: ErrNoPost.
func (b *Board) Find(channel, id string) (*Post, error) {
	for _, p := range b.all[channel] {
		if p.ID == id {
			return p, nil
		}
	}
	return nil, fmt.Errorf("post %q of channel %s: %w", id, channel, ErrNoPost)
}

// at returns the post with a number. Errors: ErrNoPost.
func (b *Board) at(channel string, serverID int) (*Post, error) {
	for _, p := range b.all[channel] {
		if p.ServerID == serverID {
			return p, nil
		}
	}
	return nil, fmt.Errorf("post %d of channel %s: %w", serverID, channel, ErrNoPost)
}

// Edit replaces the message of a post. Errors: ErrNoPost, ErrTooOld.
func (b *Board) Edit(channel, id string, plaintext []byte) (*Post, error) {
	p, err := b.Find(channel, id)
	switch {
	case err != nil:
		return nil, err
	case p.Plaintext == nil:
		return nil, fmt.Errorf("edit a deleted post: %w", ErrNoPost)
	case time.Since(p.At) > EditWindow:
		return nil, ErrTooOld
	}
	p.Plaintext, p.EditedAt = plaintext, time.Now()
	return p, b.save(channel, p)
}

// Unknown returns the new form of a post that the board does not have.
func Unknown(p Post) *Post {
	p.ServerID, p.EditedAt = first, time.Now()
	p.At = p.EditedAt.Add(-time.Minute)
	return &p
}

// Delete removes the message of a post. Errors: ErrNoPost.
func (b *Board) Delete(channel, id string) (*Post, error) {
	p, err := b.Find(channel, id)
	if err != nil {
		return nil, err
	}
	p.Plaintext, p.Reactions = nil, nil
	return p, b.save(channel, p)
}

// React sets the reaction of a number, or removes an empty one. Errors: ErrNoPost.
func (b *Board) React(channel string, serverID int, number, emoji string) error {
	p, err := b.at(channel, serverID)
	if err != nil {
		return err
	}
	if p.Plaintext == nil {
		return fmt.Errorf("react to a deleted post: %w", ErrNoPost)
	}
	delete(p.Reactions, number)
	if emoji != "" {
		if p.Reactions == nil {
			p.Reactions = map[string]string{}
		}
		p.Reactions[number] = emoji
	}
	return b.save(channel, p)
}

// View counts a number among those who saw a post. Errors: ErrNoPost.
func (b *Board) View(channel string, serverID int, number string) error {
	p, err := b.at(channel, serverID)
	if err != nil {
		return err
	}
	if at, seen := slices.BinarySearch(p.Viewers, number); !seen {
		p.Viewers = slices.Insert(p.Viewers, at, number)
	}
	return b.save(channel, p)
}

// List returns the newest posts of a channel before a number, oldest first; 0 means all.
func (b *Board) List(channel string, before, count int) []*Post {
	all := b.all[channel]
	if before > 0 {
		end, _ := slices.BinarySearchFunc(all, before, func(p *Post, n int) int { return cmp.Compare(p.ServerID, n) })
		all = all[:end]
	}
	if count <= 0 {
		count = DefaultCount
	}
	return all[max(0, len(all)-min(count, MaxCount)):]
}
