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
	"unicode/utf8"

	"postern/store/files"
)

// Secrets are the two secrets of the program: the API key and the key that
// signs all tokens. Both are bytes, not necessarily UTF-8.
type Secrets struct {
	GlobalAuthToken string
	JWTSecret       string
}

// keptSecretsJSON is the form of the file that keeps secrets. A secret that is not valid
// UTF-8 is in the field with Base64 in its name: a JSON string would change its bytes.
type keptSecretsJSON struct {
	GlobalAuthToken       string `json:"globalAuthToken,omitempty"`
	GlobalAuthTokenBase64 []byte `json:"globalAuthTokenBase64,omitempty"`
	JWTSecret             string `json:"jwtSecret,omitempty"`
	JWTSecretBase64       []byte `json:"jwtSecretBase64,omitempty"`
}

// check returns the rule for all secrets that the program uses, wherever they come from:
// configured, kept in the data folder, or restored from a backup. Rules of single
// settings may be stricter, never looser.
func (s Secrets) check() error {
	if err := longEnough(s.GlobalAuthToken, minKey); err != nil {
		return fmt.Errorf("globalAuthToken %w", err)
	}
	if err := longEnough(s.JWTSecret, minSecret); err != nil {
		return fmt.Errorf("jwtSecret %w", err)
	}
	if s.same() {
		return errors.New("jwtSecret " + sameSecrets)
	}
	return nil
}

// same reports whether the API key, which is sent over the network, also signs tokens.
func (s Secrets) same() bool { return s.GlobalAuthToken == s.JWTSecret }

const sameSecrets = "must differ from authentication.global_auth_token: otherwise the API key could sign tokens"

const secretsFile = "secrets.json"

// LoadSecrets returns the secrets: the configured ones, else those kept in the
// data folder, which are made on the first start with mode 0600. made reports
// that the API key is new, so that it can be shown once. The error is [Faulty].
func LoadSecrets(c *Config) (s Secrets, made bool, err error) {
	if err := lockAndSettle(c); errors.Is(err, files.ErrLocked) {
		return s, false, err // for as long as the restore takes
	} else if err != nil {
		return s, false, Faulty(err)
	}
	s, made, err = loadSecrets(c)
	return s, made, Faulty(err)
}

func loadSecrets(c *Config) (s Secrets, made bool, err error) {
	configured := Secrets{c.Authentication.GlobalAuthToken, c.Authentication.JWTSecret}
	if configured.GlobalAuthToken != "" && configured.JWTSecret != "" {
		return configured, false, configured.checkConfigured()
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
	return kept, made, kept.checkConfigured()
}

// checkConfigured is check for secrets of which at least one was configured.
func (s Secrets) checkConfigured() error {
	if err := s.check(); err != nil {
		return fmt.Errorf("authentication: %w", err)
	}
	return nil
}

// SecretsPath returns the path of the file with generated secrets.
func SecretsPath(c *Config) string { return filepath.Join(filepath.Dir(c.Store.Path), secretsFile) }

// KeySource describes where the API key is stored.
func KeySource(c *Config) string {
	if c.Authentication.GlobalAuthToken != "" {
		return "authentication.global_auth_token"
	}
	return Absolute(SecretsPath(c))
}

// Absolute returns the absolute form of path, or path when that cannot be determined.
func Absolute(path string) string {
	if full, err := filepath.Abs(path); err == nil {
		return full
	}
	return path
}

// JWTSecret returns the secret that signs tokens, the configured one or that of an
// earlier start. It generates none: the API key is generated with it, and only serve
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
// ones, else the stored ones. It generates none.
func ReadSecrets(c *Config) (s Secrets, err error) {
	s = Secrets{c.Authentication.GlobalAuthToken, c.Authentication.JWTSecret}
	if s.GlobalAuthToken != "" && s.JWTSecret != "" {
		return s, s.checkConfigured()
	}
	path := SecretsPath(c)
	kept, err := readSecrets(path)
	if err != nil {
		return s, fmt.Errorf("secrets in %s: %w", path, err)
	}
	s = Secrets{cmp.Or(s.GlobalAuthToken, kept.GlobalAuthToken), cmp.Or(s.JWTSecret, kept.JWTSecret)}
	return s, s.checkConfigured()
}

func keptSecrets(path string) (s Secrets, made bool, err error) {
	s, err = readSecrets(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return s, false, err
	}
	s = NewSecrets()
	if err = writeSecrets(path, s, files.MoveNew); errors.Is(err, fs.ErrExist) { // another start was faster
		s, err = readSecrets(path)
		return s, false, err
	}
	return s, true, err
}

// ConfirmSecrets compares the secrets that a start loaded with those that are kept, which
// may have changed until the start had the data file. The caller has it. Missing ones are
// put back.
func ConfirmSecrets(c *Config, s Secrets) error {
	now, err := ReadSecrets(c)
	path := SecretsPath(c)
	if errors.Is(err, fs.ErrNotExist) {
		if err = writeSecrets(path, s, files.MoveNew); err == nil {
			return nil
		}
		if errors.Is(err, fs.ErrExist) {
			now, err = ReadSecrets(c)
		}
	}
	if err == nil && now != s {
		err = fmt.Errorf("the secrets in %s were replaced during the start: start again", path)
	}
	return err
}

// DropSecrets removes secrets that a first start made and did not show. They stay if
// another program has the data file, since it may use them, and if they are others by now.
func DropSecrets(c *Config, s Secrets) error {
	f, err := files.Lock(c.Store.Path)
	if errors.Is(err, files.ErrLocked) {
		return nil
	}
	if err == nil {
		defer f.Close()
	}
	path := SecretsPath(c)
	if now, err := readSecrets(path); err != nil || now.GlobalAuthToken != s.GlobalAuthToken {
		return nil
	}
	return os.Remove(path)
}

func readSecrets(path string) (s Secrets, err error) {
	if _, err := os.Lstat(path + swapSuffix); err == nil {
		return s, errCutOff
	}
	raw, err := ReadSmall(path, MaxSecretsFile)
	if err != nil {
		return s, err
	}
	if s, err = parseSecrets(raw); err != nil {
		return s, fmt.Errorf("the file is damaged: %w; delete it to make new secrets, which makes all tokens invalid", err)
	}
	return s, nil
}

// MaxSecretsFile bounds the file that keeps the secrets, in bytes. Each of the two has
// 256 KiB at most, and six times as much when every byte is escaped.
const MaxSecretsFile = 4 << 20

// parseSecrets reads the content of a file of secrets. Errors do not quote it.
func parseSecrets(raw []byte) (s Secrets, err error) {
	var kept keptSecretsJSON
	if json.Unmarshal(raw, &kept) != nil {
		return s, errors.New("it is not a JSON object with the two secrets")
	}
	if kept.GlobalAuthToken != "" && kept.GlobalAuthTokenBase64 != nil || kept.JWTSecret != "" && kept.JWTSecretBase64 != nil {
		return s, errors.New("it has both forms of one secret")
	}
	s = Secrets{kept.GlobalAuthToken + string(kept.GlobalAuthTokenBase64), kept.JWTSecret + string(kept.JWTSecretBase64)}
	if err := s.check(); err != nil {
		return Secrets{}, err
	}
	return s, nil
}

// CheckSecretsFile reports whether the content of a file of secrets can be restored and
// used.
func CheckSecretsFile(raw []byte) error {
	_, err := parseSecrets(raw)
	return err
}

// RestoreSecrets restores the file of secrets of a backup. A file with other
// secrets is kept aside when force is set, and kept names where; without force it is an
// error. Nothing is written when the configuration and the file that is there result in
// the same secrets already.
func RestoreSecrets(c *Config, raw []byte, force bool, stamp string) (kept string, err error) {
	p, err := planRestore(c, raw, force, stamp)
	if err != nil || p.same {
		return "", err
	}
	return p.kept, p.write(SecretsPath(c))
}

// restorePlan is what a restore of secrets changes.
type restorePlan struct {
	secrets Secrets
	same    bool   // nothing
	kept    string // where the file that is there is kept; empty: there is none
}

func planRestore(c *Config, raw []byte, force bool, stamp string) (p restorePlan, err error) {
	if p.secrets, err = parseSecrets(raw); err != nil {
		return p, fmt.Errorf("the secrets of the backup: %w", err)
	}
	path := SecretsPath(c)
	_, err = os.Lstat(path)
	there := err == nil
	used, readable := ReadSecrets(c)
	switch {
	case there && readable == nil && used == p.secrets:
		p.same = true
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return p, err
	case !force:
		return p, fmt.Errorf("%s has other secrets than the backup: --force moves them aside", path)
	default:
		p.kept = path + ".replaced-" + stamp
	}
	return p, nil
}

// write replaces the file at path in one step.
func (p restorePlan) write(path string) error {
	if p.kept != "" {
		if err := errors.Join(files.Keep(path, p.kept), files.SyncFolder(filepath.Dir(path))); err != nil {
			return err
		}
	}
	return writeSecrets(path, p.secrets, os.Rename)
}

// OtherSecrets reports whether a configured secret differs from the file of
// secrets of a backup.
func OtherSecrets(c *Config, raw []byte) bool {
	s, err := parseSecrets(raw)
	a := c.Authentication
	return err == nil && (a.GlobalAuthToken != "" && a.GlobalAuthToken != s.GlobalAuthToken || a.JWTSecret != "" && a.JWTSecret != s.JWTSecret)
}

// File returns the content of the file that keeps the secrets.
func (s Secrets) File() ([]byte, error) {
	var kept keptSecretsJSON
	if kept.GlobalAuthToken = s.GlobalAuthToken; !utf8.ValidString(s.GlobalAuthToken) {
		kept.GlobalAuthToken, kept.GlobalAuthTokenBase64 = "", []byte(s.GlobalAuthToken)
	}
	if kept.JWTSecret = s.JWTSecret; !utf8.ValidString(s.JWTSecret) {
		kept.JWTSecret, kept.JWTSecretBase64 = "", []byte(s.JWTSecret)
	}
	raw, err := json.MarshalIndent(kept, "", "  ")
	return append(raw, '\n'), err
}

// unplaced and digits are the end of the name of an unfinished file of secrets.
const unplaced = ".new-"

// LeftSecrets returns unfinished files of secrets that a kill left. They
// may still be in progress while no program has the data file.
func LeftSecrets(c *Config) (paths []string) {
	return files.Leftovers(filepath.Dir(c.Store.Path), secretsFile, unplaced)
}

func writeSecrets(path string, s Secrets, place func(temp, path string) error) error {
	raw, err := s.File()
	if err != nil {
		return err
	}
	return writeAside(path, raw, place)
}

// writeAside writes a file aside and has place move it into place, so that a crash leaves
// no half of it, and a power cut does not take it away again.
func writeAside(path string, raw []byte, place func(temp, path string) error) error {
	folder := filepath.Dir(path)
	if err := files.MakeFolder(folder); err != nil {
		return err
	}
	f, err := os.CreateTemp(folder, secretsFile+unplaced+"*") // created with mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // its other name, or that of one that was not placed
	_, err = f.Write(raw)
	if err := errors.Join(err, f.Sync(), f.Close(), files.OwnAs(f.Name(), folder)); err != nil {
		return err
	}
	if err := place(f.Name(), path); err != nil {
		return err
	}
	return files.SyncFolder(folder)
}

// NewSecrets generates both secrets.
func NewSecrets() Secrets { return Secrets{randomHex(), randomHex()} }

func randomHex() string {
	var b [32]byte
	rand.Read(b[:])
	return hex.EncodeToString(b[:])
}
