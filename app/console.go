package app

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"

	"github.com/google/uuid"

	"postern/config"
	"postern/console/feed"
	"postern/console/page"
	"postern/delivery"
	"postern/httpapi"
	"postern/httpapi/instances"
)

// newConsole returns the feed of changes for operator pages. It reads the parts when
// a client is connected, which is when all of them run.
func (a *App) newConsole() *feed.Feed {
	return feed.New(feed.Config{
		Instance: a.consoleInstance, Batch: a.consoleBatch, Deliveries: a.consoleDeliveries,
		Figures: func() any { return httpapi.ConsoleFigures(a.samples.Running()) }, Troubles: a.troublesFor, Opened: func() { a.troubles.Seen() }, Logger: a.log,
	})
}

func (a *App) consoleInstance(id int64, webhooks bool) (name string, row any, ok bool) {
	rec, err := a.registry.ByID(id)
	if err != nil {
		return "", nil, false
	}
	facts := instances.Facts{Troubles: a.troubles.Of()[id], LastReceivedAt: a.supervisor.Received(id)}
	hook, err := a.registry.Webhooks().Webhook(id)
	if err != nil || !webhooks {
		return rec.Name, httpapi.ConsoleInstance(rec, nil, facts), true
	}
	return rec.Name, httpapi.ConsoleInstance(rec, &hook, facts), true
}

func (a *App) consoleBatch(id uuid.UUID, opens func(instance int64) bool) (owner uuid.UUID, row any, ok bool) {
	b, err := a.engine.AnyBatch(id, opens)
	return b.OwnerUserID, b, err == nil
}

func (a *App) consoleDeliveries(ids []uint64) (rows []any) {
	all, err := a.deliveries.Rows(ids)
	if err != nil {
		a.log.Warn("cannot read changed deliveries", "error", err)
	}
	for _, r := range all {
		rows = append(rows, httpapi.ConsoleDelivery(r))
	}
	return rows
}

// instanceChanged notifies listeners of a change of an instance.
func (a *App) instanceChanged(id int64, name string, gone bool) {
	if gone {
		a.consumers.Deleted()
		a.scheduled.Drop(id)
		a.fetched.DropInstance(id)
		a.console.InstanceDeleted(id, name)
	} else {
		a.console.InstanceChanged(id)
	}
}

func (a *App) batchChanged(owner, id uuid.UUID, gone bool) {
	if a.openJobs != nil {
		a.openJobs.changed(id)
	}
	if gone {
		a.console.BatchDeleted(id, owner)
	} else {
		a.console.BatchChanged(id)
	}
}

func (a *App) deliveriesChanged(all []delivery.Changed) {
	a.console.DeliveriesChanged(func(yield func(feed.Delivery) bool) {
		for _, c := range all {
			if !yield(feed.Delivery(c)) {
				return
			}
		}
	})
}

// maxLogo is the maximum size of the operator's logo, in bytes.
const maxLogo = 512 << 10

// portal returns the appearance of the portal page.
func (a *App) portal() (p instances.Portal, err error) {
	c := a.cfg.Console
	p = instances.Portal{Page: page.Portal(), Title: c.Title, Accent: c.Accent}
	if c.LogoFile == "" {
		return p, nil
	}
	if p.Logo, p.LogoType, err = readLogo(c.LogoFile); err != nil {
		return p, config.Faulty(fmt.Errorf("console.logo_file: %w", err))
	}
	return p, nil
}

func readLogo(path string) (logo []byte, media string, err error) {
	f, err := os.Open(path) //nolint:gosec // the operator names it
	if err != nil {
		return nil, "", err
	}
	defer f.Close()
	if logo, err = io.ReadAll(io.LimitReader(f, maxLogo+1)); err != nil {
		return nil, "", err
	}
	if len(logo) > maxLogo {
		return nil, "", fmt.Errorf("%s has more than %d bytes", path, maxLogo)
	}
	switch media = http.DetectContentType(logo); {
	case media == "image/png", media == "image/jpeg", media == "image/webp":
		return logo, media, nil
	case strings.HasSuffix(strings.ToLower(path), ".svg") && bytes.Contains(logo, []byte("<svg")):
		return logo, "image/svg+xml", nil
	}
	return nil, "", fmt.Errorf("%s must be a PNG, JPEG, WebP or SVG image", path)
}
