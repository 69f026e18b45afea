package doctor

import (
	"context"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"postern/backup"
	"postern/config"
	"postern/store"
)

func (r *examination) backup(ctx context.Context) []Finding {
	const check = "backup"
	b := r.Config.Backup
	if b.Every == 0 {
		return one(check, Warning, "set backup.dir and backup.every, unless something else runs postern backup", "no automatic backup is configured")
	}
	if r.isStandby(ctx) {
		return one(check, OK, "", "this node is a standby; the owner of the cell makes the backups")
	}
	name, at, err := r.newestBackup(ctx)
	dir := config.Absolute(b.Dir)
	age := time.Since(at).Round(time.Minute)
	level := Warning
	if r.running {
		level = Fault
	}
	const advice = "the log of the program says why; run postern backup meanwhile"
	switch {
	case isMissing(err) || err == nil && name == "":
		if !r.running {
			advice := "start the program"
			return one(check, level, advice, "there is none in %s", dir)
		}
		return one(check, level, advice, "there is none in %s", dir)
	case err != nil:
		return one(check, Fault, "give the user that the program runs as the folder", "%v", err)
	case age > 2*b.Every:
		return one(check, level, advice, "the newest, %s in %s, is %v old, and one is due every %v", name, dir, age, b.Every)
	}
	return one(check, OK, "", "the newest, %s in %s, is %v old", name, dir, age)
}

// newestBackup returns the newest backup of this data file: other programs may use the same
// folder.
func (r *examination) newestBackup(ctx context.Context) (name string, at time.Time, err error) {
	dir := r.Config.Backup.Dir
	if !r.running {
		id, _ := store.FileID(r.Config.Store.Path) // an error is reported by the check of the data file
		return backup.Newest(dir, id)
	}
	ctx, cancel := limited(ctx)
	defer cancel()
	var is struct {
		Backup *struct{ LastAt *time.Time }
	}
	err = r.Ask(ctx, "GET", "/admin/samples?since="+url.QueryEscape(time.Now().UTC().Format(time.RFC3339)), &is)
	if err != nil || is.Backup == nil || is.Backup.LastAt == nil {
		return backup.Newest(dir, "")
	}
	return backup.Of(dir, *is.Backup.LastAt)
}

// left looks for unfinished files of killed commands and programs.
func (r *examination) left() []Finding {
	const check = "left behind"
	dir := r.where()
	all := backup.Unfinished(dir)
	if b := r.Config.Backup.Dir; b != "" && config.Absolute(b) != config.Absolute(dir) {
		all = append(all, backup.Unfinished(b)...)
	}
	all = append(all, config.LeftSecrets(r.Config)...)
	if len(all) == 0 {
		return one(check, OK, "", "nothing")
	}
	var size uint64
	for _, path := range all {
		_ = filepath.Walk(path, func(_ string, info os.FileInfo, err error) error {
			if err == nil {
				size += uint64(info.Size())
			}
			return nil
		})
	}
	return one(check, Warning, "delete it; otherwise the next backup, restore or start does", "%s (%s), left by a killed command or program", few(all), mebibytes(size))
}
