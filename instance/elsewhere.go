package instance

import (
	"context"
	"errors"
	"fmt"

	"postern/event"
)

// Standing describes the network of an instance's device.
type Standing struct {
	Unknown bool // there is a device, paired by an unknown network
	Aside   bool // logged out by its network, retained for a while
	// Wrong is why the program does not connect the device, nil if it does.
	Wrong *event.NetworkError
}

// ErrForget rejects a request that would remove the device of another network without
// asking for it.
var ErrForget = errors.New("network=forget removes it, and the account must then be paired again")

// correct sets the state of a record before anything is connected, and reports whether it
// changed.
func (rec *Record) correct(device Standing) (changed bool) {
	switch {
	case rec.HasMoved():
	case device.Wrong != nil && !device.Aside && retries(rec.Status):
		return rec.liveElsewhere(device.Wrong)
	case rec.Elsewhere != "": // the program is connected to its network again
		rec.Status, rec.Elsewhere, rec.LastError = event.Disconnected, "", ""
		return true
	case rec.Status == event.LoggedOut && device.Unknown:
		rec.Status = event.Disconnected // rejected by a network that may not be its own
		return true
	}
	switch rec.Status {
	case event.Online, event.Connecting, event.Reconnecting, event.KeepAliveTimeout, event.Pairing,
		event.QRCodeState, event.PairingCodeState:
	default:
		return false // the reason for not connecting still holds
	}
	rec.Status = event.Disconnected
	if rec.OwnerJID == "" {
		rec.Status = event.Offline
	}
	return true
}

// unknownLinks returns the accounts of devices that are in use and whose instances are not
// linked.
func (r *Registry) unknownLinks(standings map[int64]Standing) map[int64]*event.Link {
	links := map[int64]*event.Link{}
	for id, device := range standings {
		e := r.entry(id)
		if e == nil || e.record.Load().OwnerJID != "" || device.Aside || r.cfg.Account == nil {
			continue
		}
		link, err := r.cfg.Account(id)
		if err != nil {
			r.log.Warn("the account of a device was not read", "instance_id", id, "error", err)
		}
		links[id] = link
	}
	return links
}

// take links an instance with an account, nil for none, and reports whether it did.
func (rec *Record) take(link *event.Link) bool {
	if link == nil {
		return false
	}
	rec.OwnerJID, rec.OwnerLID = link.JID, link.LID
	return true
}

// liveElsewhere marks an instance whose device belongs to another network, and reports
// whether that is new.
func (rec *Record) liveElsewhere(why *event.NetworkError) bool {
	text := why.Error()
	if rec.Status == event.Offline && rec.Elsewhere == why.Device && rec.LastError == text {
		return false
	}
	rec.Status, rec.Reason, rec.Elsewhere, rec.LastError = event.Offline, 0, why.Device, text
	return true
}

// Elsewhere counts the instances kept offline because their devices belong to other
// networks, by network.
func (r *Registry) Elsewhere() map[event.Network]int {
	r.mu.RLock()
	defer r.mu.RUnlock()
	counts := map[event.Network]int{}
	for _, e := range r.byID {
		if n := e.record.Load().Elsewhere; n != "" {
			counts[n]++
		}
	}
	return counts
}

// stayElsewhere marks the instance if its device belongs to another network, and reports
// whether it does. The caller holds the turn.
func (k *keeper) stayElsewhere() bool {
	why, wrong := errors.AsType[*event.NetworkError](k.session.WrongNetwork())
	if !wrong || k.session.LoggedOut() {
		return wrong
	}
	_, _, err := k.sup.reg.change(context.WithoutCancel(k.sup.life), k.id, func(rec *Record) bool { return rec.liveElsewhere(why) })
	k.found(event.Fact{Status: event.Offline}, k.sup.checked(k.id, event.Fact{Status: event.Offline}, err))
	return true
}

// here returns an error if the device of the instance belongs to another network.
// Requests that would dial check it.
func (k *keeper) here() error {
	if err := k.session.WrongNetwork(); err != nil {
		return fmt.Errorf("%w; %w", err, ErrForget)
	}
	return nil
}

// ForgetNetwork removes the device of an instance if it belongs to another network than
// the program's, and reports whether it did. The other network is not notified: the phone
// keeps listing the device. Errors: ErrNotFound.
func (s *Supervisor) ForgetNetwork(ctx context.Context, id int64, requestID string) (forgot bool, err error) {
	ctx = context.WithoutCancel(ctx)
	k, err := s.keeper(ctx, id)
	if err != nil {
		return false, err
	}
	if err := k.take(ctx); err != nil {
		return false, fmt.Errorf("forget: %w", err)
	}
	defer k.release()
	if k.session.WrongNetwork() == nil {
		return false, nil
	}
	k.halt()
	if err := k.session.Forget(ctx); err != nil {
		return false, fmt.Errorf("forget: %w", err)
	}
	s.log.Warn("the device of another network was removed on request", "instance_id", id)
	return true, k.tellLoggedOut(ctx, requestID)
}

// tellLoggedOut stores and publishes that the instance no longer has a device.
func (k *keeper) tellLoggedOut(ctx context.Context, requestID string) error {
	f := event.Fact{
		Kind: event.ConnectionUpdated, Status: event.LoggedOut, Unlink: true, RequestID: requestID, ByCall: true,
		Data: event.ConnectionUpdate{Type: event.TypeLoggedOut, Connection: event.ConnectionClose},
	}
	err := k.sup.reg.Report(ctx, k.id, f)
	k.note(f, err)
	return err
}
