package app

import (
	"context"
	"os"
	"sync"
	"time"

	"postern/config"
	"postern/event"
	"postern/media/display"
	"postern/media/kept"
	"postern/media/kept/s3"
	"postern/media/link"
	"postern/store"
)

// openKept counts the files that are kept. Fetches begin with the instances.
func (a *App) openKept() (err error) {
	m := a.cfg.Media.Store
	bucket, err := MediaBucket(a.cfg)
	if err != nil {
		return config.Faulty(err)
	}
	a.kept, err = kept.Open(kept.Config{
		Store: a.store, Enabled: m.Kind != "off", Dir: m.Path, S3: bucket, Spool: a.media.Create, MaxFile: m.MaxFile, MaxBytes: m.MaxBytes, Retention: m.Retention,
		Wants:   func(instance int64) bool { return a.registry.StoresMedia(instance) },
		Message: func(instance, id int64) (event.Message, error) { return a.messages.Message(instance, id) },
		Download: func(ctx context.Context, m event.Message, instance int64, to *os.File, limit int64) error {
			account, err := a.supervisor.Account(ctx, instance)
			if err != nil {
				return err
			}
			_, err = account.DownloadHosted(ctx, m, to, limit)
			return err
		},
		Held: a.fetched.Held,
		OnWay: func(tx *store.Tx, seq uint64) (is, unlogged bool, err error) {
			return a.ledger.OnWay(tx, seq, kept.Grace)
		},
		Logger: a.log,
	})
	return err
}

// MediaBucket returns the client of the bucket of kept files; nil if they are not kept in one.
func MediaBucket(cfg *config.Config) (*s3.Client, error) {
	if cfg.Media.Store.Kind != "s3" {
		return nil, nil
	}
	m := cfg.Media.Store.S3
	return s3.New(s3.Config{
		Endpoint: m.Endpoint, Region: m.Region, Bucket: m.Bucket, Prefix: m.Prefix,
		AccessKey: m.AccessKey, SecretKey: m.SecretKey, PathStyle: m.PathStyle,
	})
}

// linkBase is what links in events begin with. The warning about an address that only this
// machine knows is logged once.
type linkBase struct {
	url  string
	warn sync.Once
}

// linkIn returns the link to the file of a stored message, in the commit of its event. A
// message without a file has none, nor has one of an instance whose links cannot be read.
func (a *App) linkIn(tx *store.Tx, instance int64, m *event.Message) *event.MediaLink {
	f, err := display.Of(m)
	if err != nil {
		return nil
	}
	until := tx.Now().Add(a.cfg.Media.LinkTTL).Truncate(time.Second)
	token, err := a.links.Token(tx, link.Claim{Instance: instance, Message: m.ID, Expires: until})
	if err != nil {
		return nil
	}
	if a.cfg.Server.BaseURL == "" {
		a.linkBase.warn.Do(func() {
			time.AfterFunc(0, func() { // not within the commit
				a.log.Warn("media links in events begin with the address of the listener: set server.base_url to the address that receivers use", "url", a.linkBase.url)
			})
		})
	}
	l := f.Link(a.linkBase.url, token, until)
	return &l
}
