package config

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
)

// Values from files: a variable with fileSuffix names a file that holds the
// value, as systemd and container engines hand secrets over.

const fileSuffix = "_FILE"

// fileEnv returns the variable that names the file of the setting.
func (s setting) fileEnv() string { return s.env() + fileSuffix }

// maxSecretFile bounds a file that holds a secret; a larger one is none.
const maxSecretFile = 64 << 10

// takeFile sets the value from the file at path, without the line break at its
// end.
func (s *setting) takeFile(path string, environ []string) (warnings []string, faults []error) {
	text, open, err := readValue(path)
	if err != nil {
		s.faulty = true
		return nil, []error{fmt.Errorf("environment %s: %w", s.fileEnv(), err)}
	}
	if open && !handedOver(path, environ) {
		warnings = append(warnings, fmt.Sprintf("%s: others than the owner may read %s; chmod 600 it", s.fileEnv(), path))
	}
	return warnings, s.take(text, "file "+path+" of "+s.fileEnv())
}

// readValue reads a file of one value. open is set when others than the owner
// have access to it. The errors name the file and never show its content.
func readValue(path string) (text string, open bool, err error) {
	raw, info, err := readBounded(path, maxSecretFile)
	if err != nil {
		return "", false, err
	}
	if len(raw) > maxSecretFile {
		return "", false, fmt.Errorf("%s: is too large for a secret: more than %d bytes", path, maxSecretFile)
	}
	text = strings.TrimSuffix(strings.TrimSuffix(string(raw), "\n"), "\r")
	if text == "" {
		return "", false, fmt.Errorf("%s: %w", path, errEmptyFile)
	}
	return text, openToOthers(info.Mode()), nil
}

var errEmptyFile = errors.New("the file is empty")

// handedOver reports whether path is in a folder that systemd or a container
// engine filled for this program alone. They choose the mode there, and Docker
// chooses 0444.
func handedOver(path string, environ []string) bool {
	folders := []string{"/run/secrets", "/run/credentials"}
	for _, entry := range environ {
		if folder, found := strings.CutPrefix(entry, "CREDENTIALS_DIRECTORY="); found && filepath.IsAbs(folder) {
			folders = append(folders, folder)
		}
	}
	for _, folder := range folders {
		if rest, err := filepath.Rel(folder, filepath.Clean(path)); err == nil && filepath.IsLocal(rest) {
			return true
		}
	}
	return false
}
