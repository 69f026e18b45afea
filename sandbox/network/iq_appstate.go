package network

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"go.mau.fi/whatsmeow"
	wa "go.mau.fi/whatsmeow/appstate"
	waBinary "go.mau.fi/whatsmeow/binary"
	"go.mau.fi/whatsmeow/proto/waServerSync"
	"google.golang.org/protobuf/proto"

	"postern/sandbox/network/appstate"
	"postern/sandbox/network/wire"
)

// syncIQ answers requests about app state.
func syncIQ(key iqKey) (iqHandler, bool) {
	if key == (iqKey{"w:sync:app:state", "set", "sync"}) {
		return syncState, true
	}
	return nil, false
}

// syncState applies changes of collections and returns the changes that a device lacks.
func syncState(s *Server, c *conn, d *device, n *waBinary.Node) (waBinary.Node, error) {
	request := wire.FirstChild(n)
	s.mu.Lock()
	refusal := s.faults.StateError
	s.mu.Unlock()
	answers := make([]waBinary.Node, 0, len(request.GetChildren()))
	for _, asked := range request.GetChildrenByTag("collection") {
		name := wa.WAPatchName(wire.Attr(&asked, "name"))
		a := s.appStates.Of(d.account.pn.User)
		if !appstate.Known(name) {
			return waBinary.Node{}, errIQ{400, "bad-request"}
		}
		if refusal != 0 {
			a.Refused(d.id, name)
			return waBinary.Node{}, errIQ{refusal, "service-unavailable"}
		}
		from, err := versionOf(&asked)
		if err != nil {
			return waBinary.Node{}, errIQ{400, "bad-request"}
		}
		var answer waBinary.Node
		if patch, ok := asked.GetOptionalChildByTag("patch"); ok {
			answer, err = s.takePatch(c.ctx, d, a, name, from, wire.Content(patch))
		} else {
			answer, err = s.givePatches(d, a, name, from)
		}
		if err != nil {
			return waBinary.Node{}, err
		}
		answers = append(answers, answer)
	}
	return waBinary.Node{Tag: "sync", Content: answers}, nil
}

// versionOf returns the version that a device has; without one it starts from nothing.
func versionOf(collection *waBinary.Node) (uint64, error) {
	text := wire.Attr(collection, "version")
	if text == "" {
		return 0, nil
	}
	return strconv.ParseUint(text, 10, 64)
}

// givePatches returns the changes after a version.
func (s *Server) givePatches(d *device, a *appstate.State, name wa.WAPatchName, from uint64) (waBinary.Node, error) {
	lacks, err := a.Give(d.id, name, from)
	answer := waBinary.Node{Tag: "collection", Attrs: waBinary.Attrs{
		"name": string(name), "version": lacks.Version, "has_more_patches": lacks.More,
	}}
	if err != nil {
		return answer, err
	}
	if lacks.Snapshot != nil {
		snapshot, err := s.snapshotNode(lacks.Snapshot)
		answer.Content = []waBinary.Node{snapshot}
		return answer, err
	}
	var patches []waBinary.Node
	for _, patch := range lacks.Patches {
		patches = append(patches, waBinary.Node{Tag: "patch", Content: patch})
	}
	if len(patches) > 0 {
		answer.Content = []waBinary.Node{{Tag: "patches", Content: patches}}
	}
	if lacks.Announce > 0 {
		s.announce(d.lid(), name, lacks.Announce)
	}
	return answer, nil
}

func (s *Server) snapshotNode(raw []byte) (waBinary.Node, error) {
	file, err := s.media.Seal(raw, whatsmeow.MediaAppState)
	if err != nil {
		return waBinary.Node{}, err
	}
	reference, err := proto.Marshal(&waServerSync.ExternalBlobReference{
		MediaKey: file.Key, DirectPath: new(file.Path), FileSizeBytes: new(file.Size),
		FileSHA256: file.Hash, FileEncSHA256: file.EncHash,
	})
	if err != nil {
		return waBinary.Node{}, fmt.Errorf("encode snapshot reference: %w", err)
	}
	return waBinary.Node{Tag: "snapshot", Content: reference}, nil
}

// takePatch applies a change made by a linked device, and notifies the account's
// others. If it is not based on the newest version, the answer contains the missing
// changes.
func (s *Server) takePatch(ctx context.Context, d *device, a *appstate.State, name wa.WAPatchName, from uint64, raw []byte) (waBinary.Node, error) {
	if s.takeConflict(d) {
		return s.conflictNode(d, a, name, from)
	}
	s.mu.Lock()
	p := s.phoneOf(d.account)
	s.mu.Unlock()
	var version uint64
	var mutations []wa.Mutation
	err := s.changeState(ctx, p, d.id, func(a *appstate.State, linked []appstate.Device) (notice appstate.Notice, err error) {
		mutations, notice, err = a.Take(ctx, name, from, raw, linked)
		version = notice.Version
		return notice, err
	})
	switch {
	case errors.Is(err, appstate.ErrConflict):
		return s.conflictNode(d, a, name, from)
	case errors.Is(err, appstate.ErrPatch), errors.Is(err, appstate.ErrFull):
		return waBinary.Node{}, errIQ{400, "bad-request"}
	case err != nil:
		return waBinary.Node{}, err
	}
	for _, m := range mutations {
		if m.Index[0] == wa.IndexSettingPushName {
			_ = s.Rename(p.JID(), m.Action.GetPushNameSetting().GetName()) // ignored by a closing server
		}
	}
	return waBinary.Node{Tag: "collection", Attrs: waBinary.Attrs{"name": string(name), "version": version}}, nil
}

func (s *Server) conflictNode(d *device, a *appstate.State, name wa.WAPatchName, from uint64) (waBinary.Node, error) {
	answer, err := s.givePatches(d, a, name, from)
	answer.Attrs["type"] = "error"
	answer.Content = append(answer.GetChildren(), waBinary.Node{
		Tag: "error", Attrs: waBinary.Attrs{"code": 409, "text": "conflict"},
	})
	return answer, err
}
