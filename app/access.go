package app

import (
	"context"
	"net/http"
	"sync"

	"github.com/google/uuid"

	"postern/access"
	"postern/httpapi"
	"postern/httpapi/operator"
	"postern/internal/peers"
	"postern/mcp"
)

// startAccess reads keys, sessions and the audit log.
func (a *App) startAccess(context.Context) (err error) {
	if a.access.Keys, err = access.OpenKeys(a.store, a.log); err != nil {
		return err
	}
	if a.access.Book, err = access.OpenBook(a.store, a.log); err != nil {
		return err
	}
	a.access.Sessions, a.access.Links = access.NewSessions(a.store), access.NewLinks(a.store)
	a.access.Keys.Start()
	a.access.Book.Start(a.cfg.Audit.Retention, int(a.cfg.Audit.MaxEntries))
	a.stops.push("scoped keys", a.access.Keys.Stop)
	a.stops.push("audit log", a.access.Book.Stop)
	return nil
}

// endKeys continues with deletions of scoped keys that the end of the last run cut off.
func (a *App) endKeys(context.Context) error {
	life, cancel := context.WithCancel(context.Background())
	var work sync.WaitGroup
	work.Go(func() {
		if err := operator.EndKeys(life, a.access, a.engine, a.registry, a.scheduled); err != nil && life.Err() == nil {
			a.log.Warn("batches or webhooks of a deleted key still run; DELETE /keys/{id} with its id continues, and so does the next start", "error", err)
		}
	})
	a.stops.pushFunc("deleted keys", func() {
		cancel()
		work.Wait()
	})
	return nil
}

// startAgents adds the MCP endpoint to the API, if it is enabled.
// Its calls go through own, which is the handler of the API.
func (a *App) startAgents(api *httpapi.Config, proxies peers.Proxies) (own *mcp.Local) {
	own = &mcp.Local{}
	if !a.cfg.MCP.Enabled {
		return own
	}
	s := mcp.New(mcp.Config{
		API: own, Version: version, OriginAllowed: a.hub.OriginAllowed, Logger: a.log,
		Audit: func(ctx context.Context, c mcp.Call) { a.auditAgent(ctx, proxies, c) },
	})
	api.MCP = s
	a.stops.pushFunc("agents", s.Close)
	return own
}

// auditAgent records a call of an agent program in the audit log.
func (a *App) auditAgent(ctx context.Context, proxies peers.Proxies, c mcp.Call) {
	if !a.opens(c.KeyID, c.Instance) {
		c.Instance = "" // the log has names of what the key is for, and of nothing else
	}
	from := peers.Name(proxies.Client(&http.Request{RemoteAddr: c.From, Header: http.Header{"X-Forwarded-For": c.Forwarded}}))
	if err := a.access.Book.Note(c.KeyID, access.CallAction(c.Tool, string(c.Outcome)), c.Instance, from).Keep(ctx); err != nil {
		a.log.Error("the audit log has no record of an agent's call; free some space if the error says so", "tool", c.Tool, "key", c.KeyID, "error", err)
	}
}

// opens reports whether a scoped key includes an instance.
func (a *App) opens(keyID, name string) bool {
	id, err := uuid.Parse(keyID)
	if err != nil {
		return false
	}
	k, err := a.access.Keys.Get(id)
	if err != nil {
		return false
	}
	rec, err := a.registry.ByName(name)
	return err == nil && k.Opens(rec.ID)
}
