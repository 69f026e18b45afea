package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"postern/cluster/move"
	"postern/cluster/postgres"
	"postern/config"
	"postern/store/files"
)

// Moving says what [MoveIn] and [MoveOut] move.
type Moving struct {
	URL   string // of the database
	Cell  string
	Path  string // of the data file
	Force bool
}

func (m Moving) open(cfg *config.Config) (move.Config, error) {
	db, err := postgres.Open(m.URL, postgres.Options{})
	if err != nil {
		return move.Config{}, err
	}
	return move.Config{Database: db, Cell: m.Cell, Lease: cfg.Cluster.Lease, Path: m.Path, Buckets: Buckets(), Program: version, Force: m.Force}, nil
}

// MoveIn makes a cell of the data file and the secrets of a program that does not run.
func MoveIn(ctx context.Context, cfg *config.Config, m Moving) (move.Result, error) {
	s, err := config.ReadSecrets(cfg)
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("%w: start the program once on the file, and stop it", err)
	}
	if err != nil {
		return move.Result{}, err
	}
	c, err := m.open(cfg)
	if err != nil {
		return move.Result{}, err
	}
	defer c.Database.Close()
	secrets := map[string][]byte{nodeKey: []byte(newNodeKey())}
	for name, secret := range secretsOf(&s) {
		secrets[name] = []byte(*secret)
	}
	return move.In(ctx, c, secrets)
}

// MoveOut makes a data file of a cell, with a file of its secrets beside it.
func MoveOut(ctx context.Context, cfg *config.Config, m Moving) (move.Result, error) {
	c, err := m.open(cfg)
	if err != nil {
		return move.Result{}, err
	}
	defer c.Database.Close()
	beside := *cfg
	beside.Store.Path = m.Path
	beside.Authentication.GlobalAuthToken, beside.Authentication.JWTSecret = "", ""
	return move.Out(ctx, c, []string{nameGlobalKey, nameJWTSecret}, func(kept map[string][]byte) error { return keepBeside(&beside, kept) })
}

// keepBeside writes the file of secrets, unless a cell without an owner so far has none.
func keepBeside(cfg *config.Config, kept map[string][]byte) error {
	s := config.Secrets{GlobalAuthToken: string(kept[nameGlobalKey]), JWTSecret: string(kept[nameJWTSecret])}
	if s.GlobalAuthToken == "" || s.JWTSecret == "" {
		return nil
	}
	if _, err := os.Lstat(config.SecretsPath(cfg)); err == nil {
		if other, err := config.ReadSecrets(cfg); err != nil || other != s {
			return fmt.Errorf("%s has other secrets than the cell: name a file in another folder", config.SecretsPath(cfg))
		}
		return nil
	}
	file, err := s.File()
	if err != nil {
		return err
	}
	if err := files.MakeFolder(filepath.Dir(config.SecretsPath(cfg))); err != nil {
		return err
	}
	_, err = config.RestoreSecrets(cfg, file, false, "")
	return err
}
