package instance

import (
	"context"
	"errors"
	"fmt"

	"postern/event"
)

// Standing is what is known of the network of an instance's device.
type Standing struct {
	Unknown bool // there is one, and which network paired it is not known
	Aside   bool // its network logged it out, and it is kept for a while
	// Wrong is why the program does not connect it, nil when it does.
	Wrong *event.NetworkError
}

// ErrForget refuses what would remove the device of another network; the request has to
// ask for that.
var ErrForget = errors.New("network=forget removes it, and the account has to be paired anew")

// correct gives a record the state that it has before anything is connected, and reports
// whether that is another one.
func (rec *Record) correct(device Standing) (changed bool) {
	switch {
	case rec.HasMoved():
	case device.Wrong != nil && !device.Aside && retries(rec.Status):
		return rec.liveElsewhere(device.Wrong)
	case rec.Elsewhere != "": // the program is connected to its network again
		rec.Status, rec.Elsewhere, rec.LastError = event.Disconnected, "", ""
		return true
	case rec.Status == event.LoggedOut && device.Unknown:
		rec.Status = event.Disconnected // refused by a network that may not be its own
		return true
	}
	switch rec.Status {
	case event.Online, event.Connecting, event.Reconnecting, event.KeepAliveTimeout, event.Pairing,
		event.QRCodeState, event.PairingCodeState:
	default:
		return false // why it is not connected is still true
	}
	rec.Status = event.Disconnected
	if rec.OwnerJID == "" {
		rec.Status = event.Offline
	}
	return true
}

// liveElsewhere marks an instance whose device belongs to another network, and reports
// whether it was not marked so before.
func (rec *Record) liveElsewhere(why *event.NetworkError) bool {
	text := why.Error()
	if rec.Status == event.Offline && rec.Elsewhere == why.Device && rec.LastError == text {
		return false
	}
	rec.Status, rec.Reason, rec.Elsewhere, rec.LastError = event.Offline, 0, why.Device, text
	return true
}

// Elsewhere counts the instances that are not connected because their devices belong to
// other networks, by network.
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

// stayElsewhere marks the instance when its device belongs to another network, and
// reports whether it does. The caller has the turn.
func (k *keeper) stayElsewhere() bool {
	why, wrong := errors.AsType[*event.NetworkError](k.session.WrongNetwork())
	if !wrong || k.session.LoggedOut() {
		return wrong
	}
	_, _, err := k.sup.reg.change(context.WithoutCancel(k.sup.life), k.id, func(rec *Record) bool { return rec.liveElsewhere(why) })
	k.found(event.Fact{Status: event.Offline}, k.sup.checked(k.id, event.Fact{Status: event.Offline}, err))
	return true
}

// here returns an error when the device of the instance belongs to another network, so
// that a request which would dial is refused.
func (k *keeper) here() error {
	if err := k.session.WrongNetwork(); err != nil {
		return fmt.Errorf("%w; %w", err, ErrForget)
	}
	return nil
}

// ForgetNetwork removes the device of an instance when it belongs to another network than
// the program is connected to, and reports whether it did. That network is not told: the
// phone goes on listing the device. Errors: ErrNotFound.
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

// tellLoggedOut stores and tells that the instance has no device any more.
func (k *keeper) tellLoggedOut(ctx context.Context, requestID string) error {
	f := event.Fact{
		Kind: event.ConnectionUpdated, Status: event.LoggedOut, Unlink: true, RequestID: requestID,
		Data: event.ConnectionUpdate{Type: event.TypeLoggedOut, Connection: event.ConnectionClose},
	}
	err := k.sup.reg.Report(ctx, k.id, f)
	k.note(f, err)
	return err
}
