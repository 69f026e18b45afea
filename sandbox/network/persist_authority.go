package network

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"

	"postern/store"
)

// loadAuthority reads the authority, or creates it if there is none.
func (p *persistence) loadAuthority() (*Authority, error) {
	if p.file == nil {
		return NewAuthority()
	}
	var saved savedAuthority
	var found bool
	err := p.file.View(func(tx *store.Tx) (err error) {
		saved, found, err = store.GetJSON[savedAuthority](tx, bucketAuthority, authorityKey)
		return err
	})
	if errors.Is(err, store.ErrDamaged) {
		p.log.Error("the sandbox's authority is damaged and was replaced; give the new certificate to clients in other processes", "error", err)
		return p.createAuthority()
	}
	if err != nil {
		return nil, fmt.Errorf("read the sandbox's authority: %w", err)
	}
	if found {
		return p.restoreAuthority(saved)
	}
	return p.createAuthority()
}

func (p *persistence) restoreAuthority(saved savedAuthority) (*Authority, error) {
	a, err := saved.restore()
	if err != nil {
		return nil, err
	}
	replaced, err := a.validAlways()
	if err != nil || !replaced {
		return a, err
	}
	return a, p.saveAuthority(a)
}

func (p *persistence) createAuthority() (*Authority, error) {
	a, err := NewAuthority()
	if err != nil {
		return nil, err
	}
	return a, p.saveAuthority(a)
}

func (p *persistence) saveAuthority(a *Authority) error {
	saved, err := a.save()
	if err != nil {
		return err
	}
	err = p.file.Update(context.Background(), func(tx *store.Tx) error {
		return store.PutJSON(tx, bucketAuthority, authorityKey, saved)
	})
	if err != nil {
		return fmt.Errorf("save the sandbox's authority: %w", err)
	}
	return nil
}

var authorityKey = []byte("authority")

// RootKey returns the public root key of the authority in the file at path, which no
// sandbox has open. Errors are those of store.ScanFile, and fs.ErrNotExist if the file
// has no authority.
func RootKey(path string) (key [32]byte, err error) {
	found := false
	err = store.ScanFile(path, Buckets(), bucketAuthority, func(_, v []byte) error {
		var saved savedAuthority
		if json.Unmarshal(v, &saved) != nil {
			return nil
		}
		a, err := saved.restore()
		if err == nil {
			key, found = a.RootPub(), true
		}
		return err
	})
	if err == nil && !found {
		err = fmt.Errorf("the sandbox's authority: %w", fs.ErrNotExist)
	}
	return key, err
}
