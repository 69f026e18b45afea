package app

import (
	"context"
	"io"

	"postern/backup"
	"postern/config"
	"postern/store"
)

// archive writes a backup of all durable data as of now.
func (a *App) archive(ctx context.Context, withoutSecrets bool) (*backup.Archive, func() error, error) {
	return a.archiveOf(ctx, a.store, a.sec, withoutSecrets)
}

// archiveOf is archive for an open data file, which may be that of a standby.
func (a *App) archiveOf(ctx context.Context, s *store.Store, sec config.Secrets, withoutSecrets bool) (*backup.Archive, func() error, error) {
	snapshot, err := s.Snapshot(ctx)
	if err != nil {
		return nil, nil, err
	}
	var secrets []byte
	if !withoutSecrets {
		secrets, err = sec.File()
	}
	if err == nil {
		var made *backup.Archive
		if made, err = makeArchive(ctx, snapshot, secrets, backupChecks(s)); err == nil {
			if n := snapshot.Damaged(); n > 0 {
				a.log.Warn("the backup contains the damaged records of the data file; postern check names them, postern check --repair removes them", "count", n)
			}
			return made, snapshot.Close, nil
		}
	}
	_ = snapshot.Close()
	return nil, nil, err
}

// backupChecks returns those of BackupChecks, which give way to the program's own work.
func backupChecks(s *store.Store) *backup.Checks {
	c := BackupChecks()
	c.Data = func(_ context.Context, r io.ReaderAt, size int64) error { return s.VerifyCopy(r, size) }
	return c
}

// BackupChecks returns the rules that the content of a backup meets when a restore, and the
// start after it, can use it.
func BackupChecks() *backup.Checks {
	return &backup.Checks{
		Secrets: config.CheckSecretsFile,
		Data:    func(_ context.Context, r io.ReaderAt, size int64) error { return store.VerifyCopy(r, size, Buckets()) },
	}
}

// Archive returns a backup of what was the data file and, unless they are nil, of the
// secrets. With verify it is read back after it was written.
func Archive(ctx context.Context, data *store.Snapshot, secrets []byte, verify bool) (*backup.Archive, error) {
	var checks *backup.Checks
	if verify {
		checks = BackupChecks()
	}
	return makeArchive(ctx, data, secrets, checks)
}

func makeArchive(ctx context.Context, data *store.Snapshot, secrets []byte, checks *backup.Checks) (*backup.Archive, error) {
	return backup.New(ctx, backup.Source{
		Data: data, Secrets: secrets, Version: version, At: data.At(), Verify: checks,
		Counts: backup.Counts{
			Instances:     data.Records("instance"),
			Batches:       data.Records("batch"),
			PendingEvents: data.Records("outbox_due") + data.Records("delivery_line"),
		},
	})
}

// startBackups starts scheduled backups, if they are configured.
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
	if a.cfg.Sandbox.Enabled {
		a.log.Info("backups do not contain the sandbox", "file", a.cfg.Sandbox.Path)
	}
	a.backups.Start()
	a.stops.push("backups", a.backups.Stop)
	return nil
}

// warnings returns what an operator should check, besides the store's own warnings.
func (a *App) warnings() (all []string) {
	if !a.store.TrustsClock() {
		all = append(all, "the clock is more than 48 hours ahead of the last time in the data file: nothing is removed for its age until the clock is corrected, or until it has run for a day")
	}
	for _, w := range []string{a.wrongNetworks(), lowOnDisk(a.cfg.Store.Path)} {
		if w != "" {
			all = append(all, w)
		}
	}
	if a.cell != nil {
		all = append(all, a.cell.node.Warnings()...)
	}
	if w := a.kept.Warning(); w != "" {
		all = append(all, w)
	}
	if a.backups == nil {
		return all
	}
	if w := a.backups.Warning(); w != "" {
		all = append(all, w)
	}
	return all
}
