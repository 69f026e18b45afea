package network

import (
	"crypto/sha256"
	"encoding/base64"
	"slices"
	"strings"

	waBinary "go.mau.fi/whatsmeow/binary"
	"go.mau.fi/whatsmeow/types"

	"postern/sandbox/network/wire"
)

// staleHash returns the hash of the device lists that a sender should have used, "" if
// it did: clients then fetch the lists again. Addresses have the form of the message's.
func (s *Server) staleHash(d *device, n waBinary.Node) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	participants, ok := n.GetOptionalChildByTag("participants")
	if to := wire.JID(&n, "to"); ok && to.Server == types.GroupServer {
		return s.staleGroupHash(to, n)
	}
	chat := s.accountOf(wire.JID(&n, "to").ToNonAD())
	if !ok || chat == nil {
		return ""
	}
	form := (*account).deviceLID
	if wire.JID(&n, "to").Server == types.DefaultUserServer {
		form = (*account).devicePN
	}
	used := []types.JID{form(d.account, d.id)}
	for _, target := range participants.GetChildren() {
		used = append(used, wire.JID(&target, "jid"))
	}
	current := d.account.devicesAs(form)
	if chat != d.account {
		current = append(current, chat.devicesAs(form)...)
	}
	if hash := deviceHash(current); hash != deviceHash(used) {
		return hash
	}
	return ""
}

// deviceHash is the participant list hash, version 2.
func deviceHash(devices []types.JID) string {
	names := make([]string, 0, len(devices))
	for _, jid := range devices {
		names = append(names, jid.ADString())
	}
	slices.Sort(names)
	sum := sha256.Sum256([]byte(strings.Join(names, "")))
	return "2:" + base64.RawStdEncoding.EncodeToString(sum[:6])
}

// deviceList is the account's devices in LID form, device 0 first.
func (a *account) deviceList() []types.JID { return a.devicesAs((*account).deviceLID) }

// devicesAs is the account's devices in one of the two forms, device 0 first.
func (a *account) devicesAs(form func(*account, uint16) types.JID) []types.JID {
	list := []types.JID{form(a, 0)}
	for _, d := range a.sorted() {
		list = append(list, form(a, d.id))
	}
	return list
}

// staleGroupHash is staleHash for a message to a group, whose sender includes its hash.
// The caller holds s.mu.
func (s *Server) staleGroupHash(group types.JID, n waBinary.Node) string {
	if hash := deviceHash(s.groupDevices(group)); hash != wire.Attr(&n, "phash") {
		return hash
	}
	return ""
}
