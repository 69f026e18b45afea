package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"

	"postern/batch"
	"postern/delivery/pull"
	"postern/event"
	"postern/instance"
	"postern/instance/pace"
	"postern/instance/webhooks"
	"postern/sandbox"
	"postern/store"
	"postern/whatsapp"
)

// connector adapts whatsapp.Connector to package instance.
type connector struct{ *whatsapp.Connector }

func (c connector) Open(ctx context.Context, id int64, report func(context.Context, event.Fact) error) (instance.Session, error) {
	s, err := c.Connector.Open(ctx, id, report)
	if err != nil {
		return nil, err
	}
	a := s.Account
	return session{s, a.Files, a.Chats, a.Groups, a.Channels, a.Labels, a.AppState, a.Self}, nil
}

// session is whatsapp.Session as package instance wants it: with the methods of its parts.
type session struct {
	*whatsapp.Session
	*whatsapp.Files
	*whatsapp.Chats
	*whatsapp.Groups
	*whatsapp.Channels
	*whatsapp.BusinessLabels
	*whatsapp.AppState
	*whatsapp.Self
}

// fleet adapts the instances to package batch.
type fleet struct {
	registry   *instance.Registry
	supervisor *instance.Supervisor
	knows      func(id int64, number string) bool
	pacer      *pace.Pacer
	benches    bool // instances whose messages do not arrive
}

func (f fleet) Instance(id int64) (name string, state event.State, ok bool) {
	rec, err := f.registry.ByID(id)
	return rec.Name, rec.Status, err == nil
}

// Send sends an item's message. It is stored in the commit of the item's
// result, and so is send.message when it is durable; else that follows the commit.
func (f fleet) Send(ctx context.Context, id int64, out event.Outgoing) (batch.Receipt, error) {
	sent, err := f.supervisor.Send(ctx, id, out)
	if errors.Is(err, instance.ErrNotFound) {
		err = fmt.Errorf("%w: %w", event.ErrNotConnected, err) // deleted since it was chosen: nothing left
	}
	if err != nil {
		return batch.Receipt{}, err
	}
	m := sent.Message
	m.InstanceID, m.ExternalAttributes = id, out.Attributes
	if m.ExternalAttributes == nil {
		m.ExternalAttributes = event.Attributes("{}")
	}
	receipt := batch.Receipt{WhatsAppID: m.KeyID}
	if m.KeyRemoteJID != nil {
		receipt.RecipientJID = *m.KeyRemoteJID
	}
	record := f.registry.Sent(id, out.Content, m)
	receipt.Record, receipt.Committed = record.Store, record.Publish
	return receipt, nil
}

// losses notes for consumers that pull the events that the disk had no room for.
type losses struct {
	consumers *pull.Consumers
	webhooks  *webhooks.Directory
}

// note notes n events of an instance in a commit: among its own, and in the stream of all.
func (l losses) note(tx *store.Tx, id int64, n int, own, all bool) (err error) {
	if own {
		err = l.consumers.NoteLost(tx, id, n)
	}
	if all {
		err = errors.Join(err, l.consumers.NoteLost(tx, pull.All, n))
	}
	return err
}

// one is note for one event, in a commit of its own.
func (l losses) one(id int64) {
	if durable, _ := l.webhooks.Durable(id); durable {
		l.consumers.Lost(id)
	}
	if l.webhooks.DurableForAll() {
		l.consumers.Lost(pull.All)
	}
}

// pairer makes the sandbox's phones scan the codes of instances. Without a
// server it does nothing.
type pairer struct {
	server *sandbox.Server
	log    *slog.Logger
	work   sync.WaitGroup
}

// scan never blocks: the phone answers asynchronously.
func (p *pairer) scan(id int64, code string) {
	if p.server == nil {
		return
	}
	p.work.Go(func() {
		if _, err := p.server.AutoScan(code); err != nil {
			p.log.Warn("no simulated phone could pair; POST /sandbox/phones makes one, POST /sandbox/scan has it scan the code", "instance_id", id, "error", err)
		}
	})
}

// historyWish returns the history that the settings of an instance request.
func (a *App) historyWish(id int64) whatsapp.HistoryWish {
	s, err := a.registry.Settings(id)
	if err != nil {
		return whatsapp.HistoryWish{}
	}
	return whatsapp.HistoryWish(s.History)
}

// plain returns a JID without its device.
func plain(jid string) string {
	user, server, _ := strings.Cut(jid, "@")
	user, _, _ = strings.Cut(user, ":")
	return user + "@" + server
}
