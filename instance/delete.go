package instance

import (
	"context"
	"errors"
	"fmt"

	"postern/instance/automatic"
	"postern/instance/webhooks"
	"postern/messages"
	"postern/store"
)

// Delete removes an instance with all its data, including the connector's, in one commit.
// Its id is not reused. Errors: ErrNotFound, or ErrHasData if messages are stored and
// force is false.
func (r *Registry) Delete(ctx context.Context, id int64, force bool) error {
	e := r.entry(id)
	if e == nil {
		return ErrNotFound
	}
	e.change.Lock()
	defer e.change.Unlock()
	if e.gone {
		return ErrNotFound
	}
	name := e.record.Load().Name
	err := r.cfg.Store.Update(ctx, func(tx *store.Tx) error {
		if !force {
			if err := noMessages(tx, id); err != nil {
				return err
			}
		}
		return r.erase(tx, id, name)
	})
	if err != nil {
		return fmt.Errorf("delete instance %q: %w", name, err)
	}
	e.gone = true
	r.forget(id, name, e)
	r.tellChange(id, name, true)
	r.hooks.Removed(id)
	r.log.Info("instance deleted", "instance", name, "instance_id", id)
	return nil
}

func (r *Registry) forget(id int64, name string, e *entry) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.byID[id] == e {
		r.departed.add(e)
	}
	delete(r.byID, id)
	if r.byName[name] == e { // unless replaced by one created since the commit
		delete(r.byName, name)
	}
}

// noMessages returns ErrHasData when messages of the instance are stored.
func noMessages(tx *store.Tx, id int64) error {
	has, err := messages.Any(tx, id)
	if err == nil && has {
		err = ErrHasData
	}
	return err
}

func (r *Registry) erase(tx *store.Tx, id int64, name string) error {
	if err := automatic.Forget(tx, id); err != nil {
		return err
	}
	if err := messages.Forget(tx, id); err != nil {
		return err
	}
	if r.cfg.Forget != nil {
		if err := r.cfg.Forget(tx, id); err != nil {
			return err
		}
	}
	return errors.Join(
		webhooks.Forget(tx, id),
		tx.Delete(settingsBucket, store.Key(id)),
		tx.Delete(proxies, store.Key(id)),
		tx.Delete(instanceName, []byte(name)),
		tx.Delete(instances, store.Key(id)),
	)
}

// Delete logs an instance out, if WhatsApp can be reached, and removes it with all its
// data. Errors: ErrNotFound, or ErrHasData if messages are stored and force is false;
// nothing has changed then.
func (s *Supervisor) Delete(ctx context.Context, id int64, force bool) error {
	ctx = context.WithoutCancel(ctx) // do not stop halfway
	if !force {
		if err := s.reg.cfg.Store.View(func(tx *store.Tx) error { return noMessages(tx, id) }); err != nil {
			return fmt.Errorf("delete instance %d: %w", id, err)
		}
	}
	k, err := s.keeper(ctx, id)
	switch {
	case errors.Is(err, ErrNotFound), errors.Is(err, errStopping):
		return err
	case err != nil: // its session is unreadable, which must not prevent the deletion
		return s.reg.Delete(ctx, id, force)
	}
	if err := k.take(ctx); err != nil {
		return err
	}
	defer k.release()
	k.halt()
	bounded, cancel := context.WithTimeout(ctx, s.cfg.ConnectTimeout)
	defer cancel()
	if _, err := k.unlink(bounded); err != nil {
		s.log.Warn("instance deleted without logout; remove the device on the phone", "instance_id", id, "error", err)
	}
	k.session.Disconnect()
	if err := s.reg.Delete(ctx, id, force); err != nil {
		return err
	}
	if s.cfg.Pacer != nil {
		s.cfg.Pacer.Drop(id)
	}
	k.leave(ErrNotFound)
	return nil
}

// leave retires a disconnected keeper whose instance it no longer serves. Calls that wait
// for the turn return why, and those that wait for the connection look again. The caller holds the turn.
func (k *keeper) leave(why error) {
	k.session.Reroute() // nothing may use the connection any more
	k.sup.mu.Lock()
	delete(k.sup.keepers, k.id)
	k.sup.mu.Unlock()
	k.mu.Lock()
	defer k.mu.Unlock()
	k.gone = why
	k.broadcast()
}
