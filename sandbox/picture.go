package sandbox

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"slices"

	waBinary "go.mau.fi/whatsmeow/binary"
	"go.mau.fi/whatsmeow/types"
)

// maxPicture bounds a picture, which is kept in memory and saved.
const maxPicture = 1 << 20

// isPicture tells whether clients would show it: JPEGs only.
func isPicture(data []byte) bool {
	return len(data) <= maxPicture && bytes.HasPrefix(data, []byte{0xFF, 0xD8})
}

// picture answers with the address of a picture: of the target, else the
// client's own.
func picture(s *Server, _ *conn, d *device, n *waBinary.Node) (waBinary.Node, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	target := attrJID(n, "target")
	id := ""
	if target.Server == types.GroupServer {
		id = s.groupPictures[target]
	} else if a := s.accountOf(target.ToNonAD()); a != nil {
		id = a.profile.Picture
	} else if target.IsEmpty() {
		id = d.account.profile.Picture
	}
	if id == "" {
		return waBinary.Node{}, errIQ{404, "item-not-found"}
	}
	asked := firstChild(n)
	if attr(&asked, "id") == id {
		return waBinary.Node{}, nil // the client has it
	}
	path := mediaPath(id)
	return waBinary.Node{Tag: "picture", Attrs: waBinary.Attrs{
		"id": id, "type": attr(&asked, "type"), "url": "https://" + mediaHost + path, "direct_path": path,
	}}, nil
}

// changePicture sets a picture of the client's account or of a group, or
// removes it when there is none in the request.
func changePicture(s *Server, _ *conn, d *device, n *waBinary.Node) (waBinary.Node, error) {
	child := firstChild(n)
	data := slices.Clone(content(child))
	if len(data) > 0 && !isPicture(data) {
		return waBinary.Node{}, errIQ{406, "not-acceptable"}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	id := ""
	if target := attrJID(n, "target"); target.Server == types.GroupServer {
		id = s.changeGroupPicture(d.account, target, data, nil)
	} else {
		id = s.changeOwnPicture(d.account, data, nil)
	}
	if id == "" {
		return waBinary.Node{}, nil
	}
	return waBinary.Node{Tag: "picture", Attrs: waBinary.Attrs{"id": id}}, nil
}

// changeOwnPicture sets the picture, removes it when there is no data, and
// tells the account's devices and those of whom it is shown to. The caller
// holds s.mu.
func (s *Server) changeOwnPicture(a *account, data []byte, shown []*account) (id string) {
	if len(data) > 0 {
		id = s.media.put(data)
	}
	a.profile.Picture = id
	s.persist.account(a)
	s.persist.picture(a, data)
	for _, to := range append([]*account{a}, shown...) {
		s.notify(to, "picture", a.lid, nil, pictureChange(a.lid, types.EmptyJID, id))
	}
	return id
}

// changeGroupPicture does the same for a group, whose members are told too. The
// group need not exist. The caller holds s.mu.
func (s *Server) changeGroupPicture(by *account, group types.JID, data []byte, shown []*account) (id string) {
	delete(s.groupPictures, group)
	if len(data) > 0 {
		id = s.media.put(data)
		s.groupPictures[group] = id
	}
	told := map[*account]bool{}
	for _, to := range slices.Concat([]*account{by}, shown, s.membersOf(group)) {
		if told[to] {
			continue
		}
		told[to] = true
		s.notify(to, "picture", group, nil, pictureChange(group, by.lid, id))
	}
	return id
}

func pictureChange(of, author types.JID, id string) waBinary.Node {
	n := waBinary.Node{Tag: "set", Attrs: waBinary.Attrs{"jid": of, "id": id}}
	if id == "" {
		n = waBinary.Node{Tag: "delete", Attrs: waBinary.Attrs{"jid": of}}
	}
	if !author.IsEmpty() {
		n.Attrs["author"] = author
	}
	return n
}

// picture saves an account's picture, and forgets it when there is none.
func (p *persistence) picture(a *account, data []byte) {
	if p.file == nil {
		return
	}
	if len(data) == 0 {
		data = nil // deletes
	}
	p.change(bucketPicture, []byte(a.pn.User), data)
}

func (s *Server) loadPicture(k, v []byte) error {
	a, ok := s.byPN[string(k)]
	if !ok || a.profile.Picture == "" {
		return fmt.Errorf("picture of nobody: %w", errSaved)
	}
	s.media.keep(a.profile.Picture, bytes.Clone(v))
	return nil
}

// greyJPEG is the picture of whoever gave none.
func greyJPEG() []byte {
	const side = 64
	img := image.NewGray(image.Rect(0, 0, side, side))
	for i := range img.Pix {
		img.Pix[i] = color.Gray{Y: uint8(96 + i/side)}.Y
	}
	var out bytes.Buffer
	if err := jpeg.Encode(&out, img, nil); err != nil {
		return nil // writing to memory does not fail
	}
	return out.Bytes()
}
