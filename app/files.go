package app

import (
	"cmp"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

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
		{"server.tls.cert", cfg.Server.TLSCert != "", func() error { return checkCertificate(cfg.Server.TLSCert) }},
		{"server.tls.key", cfg.Server.TLSKey != "", func() error { return checkKey(cfg.Server.TLSCert, cfg.Server.TLSKey) }},
		{"server.tls.acme_ca", cfg.Server.TLSAuthorityCA != "", func() error { return checkRoots(cfg.Server.TLSAuthorityCA) }},
		{"server.socket", cfg.Server.Socket != "", func() error { return checkSocketFolder(cfg.Server.Socket) }},
		{"store.path", true, func() error { return cmp.Or(checkDataFile(cfg.Store.Path), checkSecrets(cfg)) }},
		{"backup.dir", cfg.Backup.Every > 0, func() error { return checkFolder(cfg.Backup.Dir) }},
		{"console.logo_file", cfg.Console.LogoFile != "", func() error { _, _, err := readLogo(cfg.Console.LogoFile); return err }},
		{"whatsapp.endpoint_ca", cfg.WhatsApp.EndpointCA != "", func() error { return checkRoots(cfg.WhatsApp.EndpointCA) }},
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

// certificateIn returns the first certificate of a file.
func certificateIn(path string) (*x509.Certificate, error) {
	raw, err := config.ReadSmall(path, config.MaxPEM)
	if err != nil {
		return nil, err
	}
	for block, rest := pem.Decode(raw); block != nil; block, rest = pem.Decode(rest) {
		if block.Type == "CERTIFICATE" {
			leaf, err := x509.ParseCertificate(block.Bytes)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", path, err)
			}
			return leaf, nil
		}
	}
	return nil, fmt.Errorf("%s has no certificate in PEM", path)
}

// checkCertificate checks that a certificate is currently valid.
func checkCertificate(path string) error {
	leaf, err := certificateIn(path)
	if err != nil {
		return err
	}
	return ended(path, leaf)
}

// ended returns the error of an expired certificate, nil for another.
func ended(path string, leaf *x509.Certificate) error {
	if time.Now().After(leaf.NotAfter) {
		return fmt.Errorf("%s ended at %s", path, leaf.NotAfter.UTC().Format(time.RFC3339))
	}
	return nil
}

// checkKey checks that key is the private key of cert. It reports no error of cert itself,
// which has its own check.
func checkKey(cert, key string) error {
	if _, err := config.ReadSmall(key, config.MaxPEM); err != nil {
		return err
	}
	if _, wrong := certificateIn(cert); wrong != nil {
		return nil
	}
	if _, err := config.KeyPair(cert, key); err != nil {
		return fmt.Errorf("%s is not the key of %s: %w", key, cert, err)
	}
	return nil
}

func checkRoots(path string) error {
	_, err := authorityRoots(path)
	return err
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
