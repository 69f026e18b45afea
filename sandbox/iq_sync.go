package sandbox

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"go.mau.fi/whatsmeow"
	"go.mau.fi/whatsmeow/appstate"
	waBinary "go.mau.fi/whatsmeow/binary"
	"go.mau.fi/whatsmeow/proto/waServerSync"
	"google.golang.org/protobuf/proto"
)

// maxPatchesSent is how many patches one answer carries.
const maxPatchesSent = 100

// syncIQ answers requests about app state.
func syncIQ(key iqKey) (iqHandler, bool) {
	if key == (iqKey{"w:sync:app:state", "set", "sync"}) {
		return syncState, true
	}
	return nil, false
}

// syncState takes changes of collections and gives out what a device lacks of them.
func syncState(s *Server, c *conn, d *device, n *waBinary.Node) (waBinary.Node, error) {
	request := firstChild(n)
	s.mu.Lock()
	refusal := s.faults.StateError
	s.mu.Unlock()
	answers := make([]waBinary.Node, 0, len(request.GetChildren()))
	for _, asked := range request.GetChildrenByTag("collection") {
		name := appstate.WAPatchName(attr(&asked, "name"))
		a := s.appStates.account(d.account.pn.User, s.persist)
		if _, known := a.collections[name]; !known {
			return waBinary.Node{}, errIQ{400, "bad-request"}
		}
		if refusal != 0 {
			a.refused(d.id, name)
			return waBinary.Node{}, errIQ{refusal, "service-unavailable"}
		}
		from, err := versionOf(&asked)
		if err != nil {
			return waBinary.Node{}, errIQ{400, "bad-request"}
		}
		var answer waBinary.Node
		if patch, ok := asked.GetOptionalChildByTag("patch"); ok {
			answer, err = s.takePatch(c.ctx, d, a, name, from, content(patch))
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

// versionOf is the version that a device has; none means that it starts anew.
func versionOf(collection *waBinary.Node) (uint64, error) {
	text := attr(collection, "version")
	if text == "" {
		return 0, nil
	}
	return strconv.ParseUint(text, 10, 64)
}

// givePatches answers with what follows a version.
func (s *Server) givePatches(d *device, a *appState, name appstate.WAPatchName, from uint64) (waBinary.Node, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	c := a.collections[name]
	target, held := a.target(d.id, name, from)
	until := min(target, from+maxPatchesSent)
	answer := waBinary.Node{Tag: "collection", Attrs: waBinary.Attrs{
		"name": string(name), "version": until, "has_more_patches": until < target,
	}}
	if from+1 < c.first() {
		answer.Attrs["version"], answer.Attrs["has_more_patches"] = c.version, false
		if from > 0 {
			return answer, nil
		}
		snapshot, err := s.snapshotNode(c)
		answer.Content = []waBinary.Node{snapshot}
		return answer, err
	}
	var patches []waBinary.Node
	for version := from + 1; version <= until; version++ {
		patches = append(patches, waBinary.Node{Tag: "patch", Content: c.patches[version-c.first()]})
	}
	if broken, ok := a.damaged[damage{d.id, name}]; ok && !held && until == c.version {
		delete(a.damaged, damage{d.id, name})
		patches = append(patches, waBinary.Node{Tag: "patch", Content: broken})
	}
	if len(patches) > 0 {
		answer.Content = []waBinary.Node{{Tag: "patches", Content: patches}}
	}
	if held && until == target {
		a.reached(d.id, name)
		if target < c.version || a.damaged[damage{d.id, name}] != nil {
			s.announce(d.lid(), name, c.version)
		}
	}
	return answer, nil
}

// target is the version up to which a device may read now. held means that later ones have
// to wait for its next request: see share.
func (a *appState) target(device uint16, name appstate.WAPatchName, from uint64) (version uint64, held bool) {
	version = a.collections[name].version
	if given, ok := a.shares[device]; ok {
		if base, ok := given.Base[name]; ok && from < base {
			return base, true
		}
	}
	return version, false
}

// refused leaves a device that could not read a collection to itself.
func (a *appState) refused(device uint16, name appstate.WAPatchName) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if _, ok := a.shares[device]; ok {
		a.reached(device, name)
	}
}

// reached ends the device's first read of a collection.
func (a *appState) reached(device uint16, name appstate.WAPatchName) {
	delete(a.shares[device].Base, name)
	a.saveShare(device)
}

func (s *Server) snapshotNode(c *collection) (waBinary.Node, error) {
	raw, err := c.snapshot()
	if err != nil {
		return waBinary.Node{}, err
	}
	file, err := s.storeMedia(raw, whatsmeow.MediaAppState)
	if err != nil {
		return waBinary.Node{}, err
	}
	reference, err := proto.Marshal(&waServerSync.ExternalBlobReference{
		MediaKey: file.key, DirectPath: new(file.path), FileSizeBytes: new(file.size),
		FileSHA256: file.hash, FileEncSHA256: file.sealedHash,
	})
	if err != nil {
		return waBinary.Node{}, fmt.Errorf("encode snapshot reference: %w", err)
	}
	return waBinary.Node{Tag: "snapshot", Content: reference}, nil
}

// takePatch applies a change that a linked device made, and tells the account's others. One
// that is not based on the newest version is answered with what it lacks.
func (s *Server) takePatch(ctx context.Context, d *device, a *appState, name appstate.WAPatchName, from uint64, raw []byte) (waBinary.Node, error) {
	s.mu.Lock()
	p := s.phoneOf(d.account)
	s.mu.Unlock()
	var version uint64
	var mutations []appstate.Mutation
	err := s.changeState(ctx, p, name, d.id, func(a *appState, _ []linkedDevice) (err error) {
		if from != a.collections[name].version {
			return errIQ{409, "conflict"}
		}
		mutations, err = a.apply(ctx, name, raw)
		version = a.collections[name].version
		return err
	})
	var refused errIQ
	switch {
	case errors.As(err, &refused):
		return s.conflictNode(d, a, name, from, refused)
	case errors.Is(err, errPatch), errors.Is(err, errStateFull):
		return waBinary.Node{}, errIQ{400, "bad-request"}
	case err != nil:
		return waBinary.Node{}, err
	}
	for _, m := range mutations {
		if m.Index[0] == appstate.IndexSettingPushName {
			s.renameAccount(p, m.Action.GetPushNameSetting().GetName())
		}
	}
	return waBinary.Node{Tag: "collection", Attrs: waBinary.Attrs{"name": string(name), "version": version}}, nil
}

func (s *Server) conflictNode(d *device, a *appState, name appstate.WAPatchName, from uint64, refused errIQ) (waBinary.Node, error) {
	answer, err := s.givePatches(d, a, name, from)
	answer.Attrs["type"] = "error"
	answer.Content = append(answer.GetChildren(), waBinary.Node{
		Tag: "error", Attrs: waBinary.Attrs{"code": refused.code, "text": refused.text},
	})
	return answer, err
}

// renameAccount changes the name that others see.
func (s *Server) renameAccount(p *Phone, name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if a := s.byPN[p.Number()]; a != nil && name != "" && name != a.pushName {
		a.pushName = name
		p.rename(name)
		s.persist.account(a)
	}
}
