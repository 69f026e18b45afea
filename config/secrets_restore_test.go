package config

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"
)

// TestEveryAcceptedSecretSurvivesRestore goes through the sources and shapes of secrets
// that serve accepts, and restores the file that a backup makes of them in an empty folder.
func TestEveryAcceptedSecretSurvivesRestore(t *testing.T) {
	const many = "0123456789abcdefghijklmnopqrstuv"
	keys := map[string]string{
		"generated": "", "16 bytes": "0123456789abcdef", "31 bytes": "0123456789abcdef0123456789abcde", "32 bytes": strongKey + " of the shop",
		"HTML": `<key>&"\of an operator`, "non-ASCII": "ключ-оператора", "not UTF-8": "\xff\xfe key of an operator", "line separators": "a\u2028b\u2029 of an operator",
		"spaces": "key  of   an operator", "beyond the BMP": "🔑 of an operator 🔑", "combining": "e\u0301 of an operator", "looks like JSON": `{"globalAuthToken":"x"}`,
		"looks like base64": "AAAAAAAAAAAAAAAAAAAAAA==", "long": "k",
	}
	secrets := map[string]string{
		"generated": "", "32 bytes": "0123456789abcdef0123456789ABCDEF", "control characters": "\x01\x02\t\n0123456789abcdef0123456789ABCDEF",
		"NUL": "\x000123456789abcdef0123456789ABCDEF", "not UTF-8": "\x80\x81\xff0123456789abcdef0123456789ABCDEF", "non-ASCII": "тайна-тайна-0123456789abcdefg", "long": "s",
		"spaces at both ends": "  0123456789abcdef 0123456789ABCDEF  ", "line breaks at its end": "0123456789abcdef0123456789ABCDEF\n\n", "cut UTF-8": "0123456789abcdef0123456789ABCDEF\xf0\x9f",
		"escapes throughout": strings.Repeat("\x01\x02\x03\x04\x05\x06\x07\x08\x0e\x0f\x10\x11\x12\x13\x14\x15\x16", 1200),
	}
	for source, longest := range map[string]int{fromVariables: 120 << 10, fromFiles: maxSecretFile, fromConfiguration: 60 << 10} {
		for keyCase, key := range keys {
			for secretCase, secret := range secrets {
				if keyCase == "long" {
					key = strings.Repeat(many, longest/len(many)-1)
				}
				if secretCase == "long" {
					secret = "s" + strings.Repeat(many, longest/len(many)-1)
				}
				if source == fromConfiguration && (!utf8.ValidString(key) || !utf8.ValidString(secret)) {
					continue // TOML is UTF-8
				}
				survives(t, source+", "+keyCase+", "+secretCase, source, key, secret)
			}
		}
	}
	survives(t, "the longest of a configuration file", fromConfiguration, strings.Repeat(many, 255<<10/len(many)), "")
	survives(t, "the longest of a configuration file", fromConfiguration, "", strings.Repeat(many, 255<<10/len(many)))
}

// Sources of secrets.
const (
	fromVariables     = "variables"
	fromFiles         = "files"
	fromConfiguration = "configuration"
)

// configured loads a configuration with these secrets, empty ones left out.
func configured(t *testing.T, source, key, secret string) (*Config, error) {
	t.Helper()
	var environ []string
	file := "[authentication]\n"
	for name, value := range map[string]string{"global_auth_token": key, "jwt_secret": secret} {
		variable := "AUTHENTICATION_" + strings.ToUpper(name)
		switch {
		case value == "":
		case source == fromFiles:
			environ = append(environ, variable+fileSuffix+"="+writeSecret(t, value+"\n", 0o600))
		case source == fromConfiguration:
			quoted, err := json.Marshal(value) // its escapes are those of TOML, too
			if err != nil {
				t.Fatal(err)
			}
			file += name + " = " + string(quoted) + "\n"
		default:
			environ = append(environ, variable+"="+value)
		}
	}
	c, _, err := Load(writeConfig(t, file), environ)
	return c, err
}

// survives makes the file of a backup of secrets that are configured, and restores it.
func survives(t *testing.T, name, source, key, secret string) {
	t.Helper()
	c, err := configured(t, source, key, secret)
	if err != nil {
		t.Errorf("%s: %v", name, err)
		return
	}
	if a := c.Authentication; source != fromFiles && (a.GlobalAuthToken != key || a.JWTSecret != secret) {
		t.Errorf("%s: other secrets are loaded than were configured", name)
	}
	c.Store.Path = filepath.Join(t.TempDir(), "p.db")
	used, _, err := LoadSecrets(c)
	if err != nil {
		t.Errorf("%s: %v", name, err)
		return
	}
	read, err := ReadSecrets(c)
	if err != nil || read != used {
		t.Errorf("%s: read otherwise than loaded: %v", name, err)
	}
	raw, err := read.File()
	if err != nil {
		t.Fatal(err)
	}
	if err := CheckSecretsFile(raw); err != nil {
		t.Errorf("%s: %v", name, err)
	}
	restored := Default()
	restored.Store.Path = filepath.Join(t.TempDir(), "p.db")
	if _, err := RestoreSecrets(restored, raw, false, "stamp"); err != nil {
		t.Errorf("%s: %v", name, err)
		return
	}
	if again, made, err := LoadSecrets(restored); err != nil || made || again != used {
		t.Errorf("%s: restored secrets differ, made %v, %v", name, made, err)
	}
}

func TestUnusableRestoredSecretsChangeNothing(t *testing.T) {
	const secret = `"0123456789abcdef0123456789ABCDEF"`
	for raw, want := range map[string]string{
		"":   "not a JSON object",
		"{}": "globalAuthToken has 0 bytes",
		`{"globalAuthToken":"0123456789abcde","jwtSecret":` + secret + `}`:                                 "globalAuthToken has 15 bytes, needs 16 or more",
		`{"globalAuthToken":"0123456789abcdef","jwtSecret":"0123456789abcdef"}`:                            "jwtSecret has 16 bytes, needs 32 or more",
		`{"globalAuthToken":` + secret + `,"jwtSecret":` + secret + `}`:                                    "differ",
		`{"globalAuthTokenBase64":"?","jwtSecret":` + secret + `}`:                                         "not a JSON object",
		`{"globalAuthToken":"0123456789abcdef","globalAuthTokenBase64":"AAAA","jwtSecret":` + secret + `}`: "both",
	} {
		c := Default()
		c.Store.Path = filepath.Join(t.TempDir(), "p.db")
		_, err := RestoreSecrets(c, []byte(raw), true, "stamp")
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "0123456789abcdef") {
			t.Errorf("%s: %v, want %q", raw, err, want)
		}
		if err := CheckSecretsFile([]byte(raw)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", raw, err, want)
		}
		if _, err := os.Stat(SecretsPath(c)); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: written nevertheless, %v", raw, err)
		}
	}
}

func TestRestoreComparesEffectiveSecrets(t *testing.T) {
	c := Default()
	c.Store.Path = filepath.Join(t.TempDir(), "p.db")
	if _, _, err := LoadSecrets(c); err != nil {
		t.Fatal(err)
	}
	c.Authentication.GlobalAuthToken = "0123456789abcdef" // wins over the one in the file
	used, _, err := LoadSecrets(c)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := used.File()
	if err != nil {
		t.Fatal(err)
	}
	if kept, err := RestoreSecrets(c, raw, false, "stamp"); err != nil || kept != "" {
		t.Errorf("%q, %v", kept, err)
	}
}
