package app

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"postern/app/certificate"
	"postern/config"
)

// FileFaults returns the faults of the files and folders that the configuration names,
// each with where it was named, its setting and its rule. They are read as the start does
// it, and nothing is created or changed.
func FileFaults(cfg *config.Config) (faults []error) {
	for _, f := range []struct {
		key   string
		used  bool
		check func() error
	}{
		{"server.tls.cert", cfg.Server.TLSCert != "", func() error { return certificate.Check(cfg.Server.TLSCert) }},
		{"server.tls.key", cfg.Server.TLSKey != "", func() error { return certificate.CheckKey(cfg.Server.TLSCert, cfg.Server.TLSKey) }},
		{"server.tls.acme_ca", cfg.Server.TLSAuthorityCA != "", func() error { return certificate.CheckRoots(cfg.Server.TLSAuthorityCA) }},
		{"server.socket", cfg.Server.Socket != "", func() error { return checkSocketFolder(cfg.Server.Socket) }},
		{"store.path", true, func() error { return cmp.Or(checkDataFile(cfg.Store.Path), checkSecrets(cfg)) }},
		{"backup.dir", cfg.Backup.Every > 0, func() error { return checkFolder(cfg.Backup.Dir) }},
		{"console.logo_file", cfg.Console.LogoFile != "", func() error { _, _, err := readLogo(cfg.Console.LogoFile); return err }},
		{"whatsapp.endpoint_ca", cfg.WhatsApp.EndpointCA != "", func() error { return certificate.CheckRoots(cfg.WhatsApp.EndpointCA) }},
		{"sandbox.path", cfg.Sandbox.Enabled && cfg.Sandbox.Path != "", func() error { return checkDataFile(cfg.Sandbox.Path) }},
	} {
		if !f.used {
			continue
		}
		err := f.check()
		if errors.Is(err, fs.ErrPermission) {
			err = fmt.Errorf("%w; give the user of the program that right, or, if this is another user, check as that one", err)
		}
		if err != nil {
			faults = append(faults, fmt.Errorf("%s: %s: %w", config.SourceOf(cfg, f.key), f.key, err))
		}
	}
	return faults
}

// checkSecrets checks that existing secrets are usable.
func checkSecrets(cfg *config.Config) error {
	_, err := config.ReadSecrets(cfg)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// checkDataFile checks that the file, or a new one in its folder, can be written.
func checkDataFile(path string) error {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return checkFolder(filepath.Dir(path))
	case err != nil:
		return err
	case info.IsDir():
		return fmt.Errorf("%s is a folder, and must be a file", path)
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	return errors.Join(f.Close(), checkFolder(filepath.Dir(path)))
}

// checkFolder checks that files can be created in a folder, or the folder in the one above
// made.
func checkFolder(path string) error {
	for folder := config.Absolute(path); ; folder = filepath.Dir(folder) {
		info, err := os.Stat(folder)
		switch {
		case errors.Is(err, fs.ErrNotExist) && folder != filepath.Dir(folder):
			continue
		case err != nil:
			return err
		case !info.IsDir():
			return fmt.Errorf("%s is not a folder", folder)
		}
		if err := config.Writable(folder); err != nil {
			return fmt.Errorf("nothing can be written into %s: %w", folder, err)
		}
		return nil
	}
}

// checkSocketFolder wants a folder for the socket, which the start does not make, and
// and at most a socket in its place.
func checkSocketFolder(path string) error {
	if info, err := os.Lstat(path); err == nil && info.Mode().Type() != fs.ModeSocket {
		return fmt.Errorf("%s exists and is not a socket; choose another path, or move it away", path)
	}
	if _, err := os.Stat(filepath.Dir(path)); err != nil {
		return fmt.Errorf("its folder must be there: %w", err)
	}
	return checkFolder(filepath.Dir(path))
}
