package app

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"

	"postern/delivery/pull"
	"postern/event"
	"postern/instance"
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
