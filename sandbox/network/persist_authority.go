package network

import (
	"context"
	"errors"
	"fmt"

	"postern/store"
)

// loadAuthority reads the authority, or makes it when the file is new or there is none.
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
		p.log.Error("the sandbox's authority is damaged and made anew; clients of another process need its certificate again", "error", err)
		return p.createAuthority()
	}
	if err != nil {
		return nil, fmt.Errorf("read the sandbox's authority: %w", err)
	}
	if found {
		return saved.restore()
	}
	return p.createAuthority()
}

func (p *persistence) createAuthority() (*Authority, error) {
	a, err := NewAuthority()
	if err != nil {
		return nil, err
	}
	saved, err := a.save()
	if err != nil {
		return nil, err
	}
	err = p.file.Update(context.Background(), func(tx *store.Tx) error {
		return store.PutJSON(tx, bucketAuthority, authorityKey, saved)
	})
	if err != nil {
		return nil, fmt.Errorf("save the sandbox's authority: %w", err)
	}
	return a, nil
}

var authorityKey = []byte("authority")
