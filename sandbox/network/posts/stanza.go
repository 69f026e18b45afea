package posts

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"

	waBinary "go.mau.fi/whatsmeow/binary"
	"go.mau.fi/whatsmeow/proto/waE2E"
	"go.mau.fi/whatsmeow/types"
	"google.golang.org/protobuf/proto"

	"postern/sandbox/network/wire"
)

// Count is how many people reacted with an emoji.
type Count struct {
	Emoji string `json:"emoji"`
	Count int    `json:"count"`
}

// Counts counts the reactions of a post, the most frequent first.
func (p *Post) Counts() []Count {
	n := map[string]int{}
	for _, emoji := range p.Reactions {
		n[emoji]++
	}
	counts := []Count{}
	for _, emoji := range slices.Sorted(maps.Keys(n)) {
		counts = append(counts, Count{emoji, n[emoji]})
	}
	slices.SortStableFunc(counts, func(a, b Count) int { return cmp.Compare(b.Count, a.Count) })
	return counts
}

// plaintext is the message as followers and lists have it.
func (p *Post) plaintext() waBinary.Node {
	n := waBinary.Node{Tag: "plaintext", Attrs: waBinary.Attrs{}, Content: p.Plaintext}
	if p.MediaType != "" {
		n.Attrs["mediatype"] = p.MediaType
	}
	return n
}

// Message is the post as a follower gets it: a new one, an edited or a deleted one.
func (p *Post) Message(channel types.JID) waBinary.Node {
	n := waBinary.Node{Tag: "message", Attrs: waBinary.Attrs{
		"from": channel, "id": p.ID, "server_id": p.ServerID, "type": p.Type, "t": p.At.Unix(),
	}}
	switch {
	case p.Plaintext == nil:
		n.Attrs["edit"] = string(types.EditAttributeAdminRevoke)
	case !p.EditedAt.IsZero():
		n.Attrs["edit"] = string(types.EditAttributeAdminEdit)
		n.Content = []waBinary.Node{p.plaintext(), {Tag: "meta", Attrs: waBinary.Attrs{
			"msg_edit_t": p.EditedAt.UnixMilli(), "original_msg_t": p.At.Unix(),
		}}}
	default:
		n.Content = []waBinary.Node{p.plaintext()}
	}
	return n
}

// Entry is the post in the list of a channel, with its counts.
func (p *Post) Entry() waBinary.Node {
	content := []waBinary.Node{}
	if p.Plaintext != nil {
		content = append(content, p.plaintext())
	}
	content = append(content, waBinary.Node{Tag: "views_count", Attrs: waBinary.Attrs{"count": len(p.Viewers)}})
	var reactions []waBinary.Node
	for _, c := range p.Counts() {
		reactions = append(reactions, waBinary.Node{Tag: "reaction", Attrs: waBinary.Attrs{"code": c.Emoji, "count": c.Count}})
	}
	if reactions != nil {
		content = append(content, waBinary.Node{Tag: "reactions", Content: reactions})
	}
	return waBinary.Node{Tag: "message", Content: content, Attrs: waBinary.Attrs{
		"server_id": p.ServerID, "id": p.ID, "type": p.Type, "t": p.At.Unix(),
	}}
}

// Files are the uploads for channels.
type Files interface {
	// Upload returns the direct path of an upload by its handle, and the file.
	Upload(handle string) (path string, file []byte, ok bool)
}

// Read judges the post of a client: its message in the clear, and for a file the handle of an upload
// for channels. Errors: ErrInvalid.
func Read(n *waBinary.Node, files Files) (Post, error) {
	p := Post{ID: wire.Attr(n, "id"), Type: wire.Attr(n, "type")}
	content, ok := n.GetOptionalChildByTag("plaintext")
	if !ok || p.ID == "" || len(n.GetChildren()) != 1 {
		return p, fmt.Errorf("it needs an id and a <plaintext>, and nothing else: %w", ErrInvalid)
	}
	p.Plaintext, p.MediaType = bytes.Clone(wire.Content(content)), wire.Attr(&content, "mediatype")
	var m waE2E.Message
	if err := proto.Unmarshal(p.Plaintext, &m); err != nil || len(p.Plaintext) == 0 {
		return p, fmt.Errorf("its <plaintext> is no message: %w", ErrInvalid)
	}
	if !slices.Contains([]string{"text", "media", "poll"}, p.Type) || m.ProtocolMessage != nil {
		return p, fmt.Errorf("type %q: %w", p.Type, ErrInvalid)
	}
	if wire.Attr(n, "edit") != "" { // the file is that of the post
		return p, nil
	}
	return p, checkFile(&m, wire.Attr(n, "media_id"), files)
}

// fileOfPost is the file of a message.
type fileOfPost interface {
	GetDirectPath() string
	GetMediaKey() []byte
	GetFileSHA256() []byte
	GetFileEncSHA256() []byte
}

func fileOf(m *waE2E.Message) fileOfPost {
	if inner := m.GetDocumentWithCaptionMessage().GetMessage(); inner != nil {
		m = inner
	}
	switch {
	case m.ImageMessage != nil:
		return m.ImageMessage
	case m.VideoMessage != nil:
		return m.VideoMessage
	case m.PtvMessage != nil:
		return m.PtvMessage
	case m.AudioMessage != nil:
		return m.AudioMessage
	case m.DocumentMessage != nil:
		return m.DocumentMessage
	case m.StickerMessage != nil:
		return m.StickerMessage
	}
	return nil
}

// checkFile judges the file of a post: not encrypted, so without keys, and that of its handle.
func checkFile(m *waE2E.Message, handle string, files Files) error {
	f := fileOf(m)
	if f == nil {
		if handle != "" {
			return fmt.Errorf("a handle without a file: %w", ErrInvalid)
		}
		return nil
	}
	path, data, ok := files.Upload(handle)
	if !ok || path != f.GetDirectPath() {
		return fmt.Errorf("the handle is not that of the file: %w", ErrInvalid)
	}
	if len(f.GetMediaKey()) > 0 || len(f.GetFileEncSHA256()) > 0 {
		return fmt.Errorf("a file with keys: %w", ErrInvalid)
	}
	if sum := sha256.Sum256(data); !bytes.Equal(sum[:], f.GetFileSHA256()) {
		return fmt.Errorf("the hash is not that of the file: %w", ErrInvalid)
	}
	return nil
}
