package config

import (
	"cmp"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"postern/store"
)

// Secrets are the two secrets of the program: the API key and the key that
// signs all tokens.
type Secrets struct {
	GlobalAuthToken string `json:"globalAuthToken"`
	JWTSecret       string `json:"jwtSecret"`
}

// same tells whether whoever knows the API key, which goes over the network, can
// sign tokens.
func (s Secrets) same() bool { return s.GlobalAuthToken == s.JWTSecret }

const sameSecrets = "must differ from authentication.global_auth_token: whoever is given the API key could sign tokens"

const secretsFile = "secrets.json"

// LoadSecrets returns the secrets: the configured ones, else those kept in the
// data folder, which are made on the first start with mode 0600. made tells
// that the API key is new, so that it can be shown once. The error is [Faulty].
func LoadSecrets(c *Config) (s Secrets, made bool, err error) {
	s, made, err = loadSecrets(c)
	return s, made, Faulty(err)
}

func loadSecrets(c *Config) (s Secrets, made bool, err error) {
	configured := Secrets{c.Authentication.GlobalAuthToken, c.Authentication.JWTSecret}
	if configured.GlobalAuthToken != "" && configured.JWTSecret != "" {
		return configured, false, nil
	}
	path := SecretsPath(c)
	kept, made, err := keptSecrets(path)
	if err != nil {
		return s, false, fmt.Errorf("secrets in %s: %w", path, err)
	}
	if configured.GlobalAuthToken != "" {
		kept.GlobalAuthToken, made = configured.GlobalAuthToken, false
	}
	if configured.JWTSecret != "" {
		kept.JWTSecret = configured.JWTSecret
	}
	if kept.same() {
		return s, false, fmt.Errorf("authentication.jwt_secret: %s; one of them is kept in %s", sameSecrets, path)
	}
	return kept, made, nil
}

// SecretsPath is where secrets are kept that were not configured.
func SecretsPath(c *Config) string { return filepath.Join(filepath.Dir(c.Store.Path), secretsFile) }

// KeySource tells an operator where the API key is.
func KeySource(c *Config) string {
	if c.Authentication.GlobalAuthToken != "" {
		return "authentication.global_auth_token"
	}
	return Absolute(SecretsPath(c))
}

// Absolute is path as it is found from anywhere, or path when there is no telling.
func Absolute(path string) string {
	if full, err := filepath.Abs(path); err == nil {
		return full
	}
	return path
}

// JWTSecret is the secret that signs tokens, the configured one or that of an
// earlier start. It makes none: the API key is made with it, and only serve
// shows that.
func JWTSecret(c *Config) (string, error) {
	if c.Authentication.JWTSecret != "" {
		return c.Authentication.JWTSecret, nil
	}
	path := SecretsPath(c)
	s, err := readSecrets(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("there is no secret to sign with in %s: start the server once, or set authentication.jwt_secret: %w", path, err)
	}
	if err != nil {
		return "", fmt.Errorf("secrets in %s: %w", path, err)
	}
	return s.JWTSecret, nil
}

// ReadSecrets returns the secrets of a program that was started before: the configured
// ones, else those that are kept. It makes none.
func ReadSecrets(c *Config) (s Secrets, err error) {
	s = Secrets{c.Authentication.GlobalAuthToken, c.Authentication.JWTSecret}
	if s.GlobalAuthToken != "" && s.JWTSecret != "" {
		return s, nil
	}
	path := SecretsPath(c)
	kept, err := readSecrets(path)
	if err != nil {
		return s, fmt.Errorf("secrets in %s: %w", path, err)
	}
	return Secrets{cmp.Or(s.GlobalAuthToken, kept.GlobalAuthToken), cmp.Or(s.JWTSecret, kept.JWTSecret)}, nil
}

func keptSecrets(path string) (s Secrets, made bool, err error) {
	s, err = readSecrets(path)
	if errors.Is(err, fs.ErrNotExist) {
		s = NewSecrets()
		return s, true, writeSecrets(path, s)
	}
	return s, false, err
}

func readSecrets(path string) (s Secrets, err error) {
	raw, err := ReadSmall(path, maxSecretFile)
	if err != nil {
		return s, err
	}
	return parseSecrets(raw)
}

func parseSecrets(raw []byte) (s Secrets, err error) {
	if err := json.Unmarshal(raw, &s); err != nil || len(s.GlobalAuthToken) < minSecret || len(s.JWTSecret) < minSecret {
		return Secrets{}, errors.New("the file is damaged; delete it to make new secrets, which makes all tokens invalid")
	}
	return s, nil
}

// RestoreSecrets puts the file of secrets of a backup into its place. Others that are
// kept there already are moved aside when force says so, and kept names where; else they
// are refused.
func RestoreSecrets(c *Config, raw []byte, force bool, stamp string) (kept string, err error) {
	s, err := parseSecrets(raw)
	if err != nil {
		return "", fmt.Errorf("the secrets of the backup: %w", err)
	}
	path := SecretsPath(c)
	there, err := readSecrets(path)
	switch {
	case err == nil && there == s:
		return "", nil
	case errors.Is(err, fs.ErrNotExist):
	case !force:
		return "", fmt.Errorf("%s has other secrets than the backup: --force moves them aside", path)
	default:
		kept = path + ".replaced-" + stamp
		if err := os.Rename(path, kept); err != nil {
			return "", err
		}
	}
	return kept, writeSecrets(path, s)
}

// OtherSecrets reports whether a secret is configured that is another than in the file of
// secrets of a backup.
func OtherSecrets(c *Config, raw []byte) bool {
	s, err := parseSecrets(raw)
	a := c.Authentication
	return err == nil && (a.GlobalAuthToken != "" && a.GlobalAuthToken != s.GlobalAuthToken || a.JWTSecret != "" && a.JWTSecret != s.JWTSecret)
}

// File is the content of the file that keeps the secrets.
func (s Secrets) File() ([]byte, error) {
	raw, err := json.MarshalIndent(s, "", "  ")
	return append(raw, '\n'), err
}

// unplaced and digits are the end of the name of secrets that are not in their place yet.
const unplaced = ".new-"

// LeftSecrets are files that a kill left of secrets which never came to their place. They
// may be under way as long as no program has the data file.
func LeftSecrets(c *Config) (paths []string) {
	return store.Leftovers(filepath.Dir(c.Store.Path), secretsFile, unplaced)
}

// writeSecrets writes the file aside and moves it into place, so that a crash
// leaves no half of it, and a power cut does not take it away again.
func writeSecrets(path string, s Secrets) error {
	folder := filepath.Dir(path)
	if err := store.MakeFolder(folder); err != nil {
		return err
	}
	raw, err := s.File()
	if err != nil {
		return err
	}
	f, err := os.CreateTemp(folder, secretsFile+unplaced+"*") // created with mode 0600
	if err != nil {
		return err
	}
	_, err = f.Write(raw)
	if err := errors.Join(err, f.Sync(), f.Close(), store.OwnAs(f.Name(), folder)); err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	if err := os.Rename(f.Name(), path); err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return store.SyncFolder(folder)
}

// NewSecrets makes two that nobody has seen.
func NewSecrets() Secrets { return Secrets{randomHex(), randomHex()} }

func randomHex() string {
	var b [32]byte
	rand.Read(b[:])
	return hex.EncodeToString(b[:])
}
