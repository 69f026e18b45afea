package certificate

import (
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"time"

	"postern/config"
)

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

// Check checks that the first certificate of a file has not expired.
func Check(path string) error {
	leaf, err := certificateIn(path)
	if err != nil {
		return err
	}
	return expired(path, leaf)
}

// expired returns the error of an expired certificate, nil for another.
func expired(path string, leaf *x509.Certificate) error {
	if time.Now().After(leaf.NotAfter) {
		return fmt.Errorf("%s ended at %s", path, leaf.NotAfter.UTC().Format(time.RFC3339))
	}
	return nil
}

// CheckKey checks that key is the private key of cert. It reports no error of cert itself,
// which has its own check.
func CheckKey(cert, key string) error {
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

// CheckRoots checks that a file has certificates of authorities.
func CheckRoots(path string) error {
	_, err := roots(path)
	return err
}
