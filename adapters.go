package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/google/uuid"

	"postern/batch"
	"postern/event"
	"postern/httpapi"
	"postern/instance"
	"postern/sandbox"
	"postern/store"
	"postern/whatsapp"
	"postern/wsbus"
)

// connector is whatsapp.Connector as package instance wants it.
type connector struct{ *whatsapp.Connector }

func (c connector) Open(ctx context.Context, id int64, report func(context.Context, event.Fact) error) (instance.Session, error) {
	return c.Connector.Open(ctx, id, report)
}

// fleet is the instances as package batch wants them.
type fleet struct {
	registry   *instance.Registry
	supervisor *instance.Supervisor
}

func (f fleet) Instance(id int64) (name string, state event.State, ok bool) {
	rec, err := f.registry.ByID(id)
	return rec.Name, rec.Status, err == nil
}

func (f fleet) Benched(id int64) time.Time {
	rec, err := f.registry.ByID(id)
	if err != nil {
		return time.Time{}
	}
	r, _ := rec.Restriction(time.Now())
	return r.Until.Time
}

// Send sends an item's message. It is stored in the commit of the item's
// result, and send.message follows that commit.
func (f fleet) Send(ctx context.Context, id int64, out event.Outgoing) (batch.Receipt, error) {
	sent, err := f.supervisor.Send(ctx, id, out)
	if errors.Is(err, instance.ErrNotFound) {
		err = fmt.Errorf("%w: %w", event.ErrNotConnected, err) // deleted since it was chosen: nothing left
	}
	if err != nil {
		return batch.Receipt{}, err
	}
	m := sent.Message
	m.InstanceID = id
	receipt := batch.Receipt{WhatsAppID: m.KeyID}
	if m.KeyRemoteJID != nil {
		receipt.RecipientJID = *m.KeyRemoteJID
	}
	var stored int64
	receipt.Record = func(tx *store.Tx) (int64, error) {
		n, err := f.registry.StoreMessage(tx, id, m)
		stored = n
		return n, err
	}
	receipt.Committed = func() {
		announced := *m
		announced.ID = stored
		// The instance may have been deleted meanwhile; nobody is left to tell.
		_ = f.registry.Announce(id, event.SendMessage, announced, "")
	}
	return receipt, nil
}

// hubAdapter is wsbus.Hub as package httpapi wants it.
type hubAdapter struct{ hub *wsbus.Hub }

func (h hubAdapter) check(r *http.Request, s httpapi.Stream) error {
	if !h.hub.OriginAllowed(r.Header.Get("Origin"), r.Host) {
		return httpapi.ErrOrigin
	}
	if s.Since != nil {
		return httpapi.ErrNoReplay
	}
	return nil
}

func (h hubAdapter) ServeGlobal(w http.ResponseWriter, r *http.Request, user uuid.UUID, s httpapi.Stream) error {
	if err := h.check(r, s); err != nil {
		return err
	}
	h.hub.ServeGlobal(w, r, wsbus.GlobalClient{Owner: user, Kinds: s.Kinds, Expires: s.ExpiresAt})
	return nil
}

func (h hubAdapter) ServeInstance(w http.ResponseWriter, r *http.Request, id int64, s httpapi.Stream) error {
	if err := h.check(r, s); err != nil {
		return err
	}
	h.hub.ServeInstance(w, r, wsbus.InstanceClient{Instance: id, Kinds: s.Kinds, Expires: s.ExpiresAt})
	return nil
}

func (h hubAdapter) RevokeInstance(id int64) { h.hub.RevokeInstance(id) }

// pairer lets the sandbox's phones scan the codes of instances. Without a
// server it does nothing.
type pairer struct {
	server *sandbox.Server
	log    *slog.Logger
	work   sync.WaitGroup
}

// scan never blocks: the phone answers on its own.
func (p *pairer) scan(id int64, code string) {
	if p.server == nil {
		return
	}
	p.work.Go(func() {
		if _, err := p.server.AutoScan(code); err != nil {
			p.log.Warn("no simulated phone could pair", "instance_id", id, "error", err)
		}
	})
}
