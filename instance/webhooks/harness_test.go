package webhooks

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"postern/delivery"
	"postern/event"
	"postern/store"
	"postern/store/schema"
)

var bg = context.Background()

// rig is an editor with its directory on a real file. Its instances are records of a
// bucket of the test.
type rig struct {
	testing.TB
	path  string
	s     *store.Store
	e     *Editor
	adapt func(*Config, *EditorConfig)
}

func newRig(t testing.TB, adapt func(*Config, *EditorConfig)) *rig {
	t.Helper()
	r := &rig{TB: t, path: filepath.Join(t.TempDir(), "w.db"), adapt: adapt}
	r.boot()
	return r
}

// withGlobal gives the rig a global webhook.
func withGlobal(url string) func(*Config, *EditorConfig) {
	return func(c *Config, _ *EditorConfig) { c.GlobalURL = url }
}

const instances = "instance"

func buckets() []schema.Bucket {
	return append(Buckets(), schema.Bucket{Name: instances, Owner: "test", Key: "id", Value: "nothing"})
}

// there is an EditorConfig.Owner.
func there(tx *store.Tx, id int64) error {
	if tx.Has(instances, store.Key(id)) {
		return nil
	}
	return ErrNoInstance
}

// boot opens the file, as package instance does.
func (r *rig) boot() {
	r.Helper()
	var err error
	if r.s, err = store.Open(store.Options{Path: r.path, Buckets: buckets(), NoSync: true, MinFree: 1}); err != nil {
		r.Fatal(err)
	}
	cfg, editor := Config{Store: r.s}, EditorConfig{Owner: there}
	if r.adapt != nil {
		r.adapt(&cfg, &editor)
	}
	editor.Directory = New(cfg)
	err = r.s.View(func(tx *store.Tx) error {
		if err := editor.Directory.LoadGlobal(tx); err != nil {
			return err
		}
		return tx.Scan(instances, store.Range{}, func(k, _ []byte) (bool, error) {
			_, err := editor.Directory.Load(tx, int64(k[7]))
			return true, err
		})
	})
	if err != nil {
		r.Fatal(err)
	}
	r.e = NewEditor(bg, editor)
}

func (r *rig) stop() {
	r.Helper()
	if err := r.s.Close(); err != nil {
		r.Error(err)
	}
}

func (r *rig) reboot() {
	r.Helper()
	r.stop()
	r.boot()
}

// damage changes a byte wherever the file holds the text.
func (r *rig) damage(text string) {
	r.Helper()
	r.stop()
	file, err := os.ReadFile(r.path)
	if err != nil || !bytes.Contains(file, []byte(text)) {
		r.Fatalf("%q is not in the file (%v)", text, err)
	}
	broken := bytes.ToUpper([]byte(text))
	if err := os.WriteFile(r.path, bytes.ReplaceAll(file, []byte(text), broken), 0o600); err != nil {
		r.Fatal(err)
	}
	r.boot()
}

func (r *rig) update(fn func(tx *store.Tx) error) {
	r.Helper()
	if err := r.s.Update(bg, fn); err != nil {
		r.Fatal(err)
	}
}

// create makes an instance and returns its id.
func (r *rig) create() (id int64) {
	r.Helper()
	var scope *Scope
	r.update(func(tx *store.Tx) error {
		n, err := tx.NextID(instances)
		if err != nil {
			return err
		}
		id = int64(n)
		if scope, err = r.e.Create(tx, id); err != nil {
			return err
		}
		return tx.Put(instances, store.Key(id), nil)
	})
	r.e.Add(scope)
	return id
}

// erase makes the commit that deletes an instance; drop deletes it completely.
func (r *rig) erase(id int64) {
	r.Helper()
	r.update(func(tx *store.Tx) error { return errors.Join(Forget(tx, id), tx.Delete(instances, store.Key(id))) })
}

func (r *rig) drop(id int64) {
	r.Helper()
	r.erase(id)
	r.e.Removed(id)
}

func (r *rig) hook(id int64, url string, flags ...event.Flag) {
	r.Helper()
	set := map[event.Flag]bool{}
	for _, f := range flags {
		set[f] = true
	}
	if _, err := r.e.PutWebhook(bg, id, WebhookChange{URL: &url, Events: set}); err != nil {
		r.Fatal(err)
	}
}

// where returns the URL that a lane leads to, or why it leads to none.
func (r *rig) where(lane delivery.Lane) string {
	d, state := r.e.Resolve(lane)
	return map[delivery.Status]string{delivery.Gone: "gone", delivery.Paused: "paused", delivery.Absent: "absent", delivery.Ready: d.URL}[state]
}

// without returns the buckets of a release that did not have one of them.
func without(name string) []schema.Bucket {
	return slices.DeleteFunc(buckets(), func(b schema.Bucket) bool { return b.Name == name })
}
