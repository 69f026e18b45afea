package app

import (
	"context"

	"postern/backup"
	"postern/store"
)

// archive makes a backup of all that the program must not lose, as it is now.
func (a *App) archive(ctx context.Context, withoutSecrets bool) (*backup.Archive, func() error, error) {
	snapshot, err := a.store.Snapshot(ctx)
	if err != nil {
		return nil, nil, err
	}
	var secrets []byte
	if !withoutSecrets {
		secrets, err = a.sec.File()
	}
	if err == nil {
		var made *backup.Archive
		if made, err = Archive(ctx, snapshot, secrets); err == nil {
			if n := snapshot.Damaged(); n > 0 {
				a.log.Warn("a backup has damaged records, as the data file has", "count", n)
			}
			return made, snapshot.Close, nil
		}
	}
	_ = snapshot.Close()
	return nil, nil, err
}

// Archive is a backup of what was the data file and, unless they are nil, of the
// secrets.
func Archive(ctx context.Context, data *store.Snapshot, secrets []byte) (*backup.Archive, error) {
	return backup.New(ctx, backup.Source{
		Data: data, Secrets: secrets, Version: version, At: data.At(),
		Counts: backup.Counts{
			Instances:     data.Records("instance"),
			Batches:       data.Records("batch"),
			PendingEvents: data.Records("outbox_due") + data.Records("delivery_line"),
		},
	})
}

// startBackups makes backups by itself, when it is asked to.
func (a *App) startBackups(context.Context) error {
	b := a.cfg.Backup
	if b.Every == 0 {
		return nil
	}
	recipients, err := backup.Recipients(b.Recipients)
	if err != nil {
		return err
	}
	a.backups = backup.NewKeeper(backup.KeeperConfig{
		Dir: b.Dir, ID: a.store.ID(), Every: b.Every, Keep: int(b.Keep), Recipients: recipients, Logger: a.log.With("component", "backup"),
		Make: func(ctx context.Context) (*backup.Archive, func() error, error) { return a.archive(ctx, false) },
	})
	a.backups.Start()
	a.stops.push("backups", a.backups.Stop)
	return nil
}

// warnings are what an operator should look at, besides what the store says.
func (a *App) warnings() (all []string) {
	if a.backups == nil {
		return nil
	}
	if w := a.backups.Warning(); w != "" {
		all = append(all, w)
	}
	return all
}
