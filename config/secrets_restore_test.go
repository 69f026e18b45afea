package config

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestEveryAcceptedSecretSurvivesRestore goes through the sources and shapes of secrets
// that serve accepts, and restores the file that a backup makes of them in an empty folder.
func TestEveryAcceptedSecretSurvivesRestore(t *testing.T) {
	const keyName, secretName = "AUTHENTICATION_GLOBAL_AUTH_TOKEN", "AUTHENTICATION_JWT_SECRET"
	long := strings.Repeat("0123456789abcdefghijklmnopqrstuv", 1<<11) // 64 KiB, the most that a file of a secret has
	keys := map[string]string{
		"generated": "", "16 bytes": "0123456789abcdef", "31 bytes": "0123456789abcdef0123456789abcde", "32 bytes": strongKey + " of the shop",
		"HTML": `<key>&"\of an operator`, "non-ASCII": "ключ-оператора", "not UTF-8": "\xff\xfe key of an operator", "line separators": "a\u2028b\u2029 of an operator",
		"long": "k" + long[2:],
	}
	secrets := map[string]string{
		"generated": "", "32 bytes": "0123456789abcdef0123456789ABCDEF", "control characters": "\x01\x02\t\n0123456789abcdef0123456789ABCDEF",
		"NUL": "\x000123456789abcdef0123456789ABCDEF", "not UTF-8": "\x80\x81\xff0123456789abcdef0123456789ABCDEF", "non-ASCII": "тайна-тайна-0123456789abcdefg", "long": "s" + long[2:],
		"escapes throughout": strings.Repeat("\x01\x02\x03\x04\x05\x06\x07\x08\x0e\x0f\x10\x11\x12\x13\x14\x15\x16", 3000),
	}
	for _, fromFile := range []bool{false, true} {
		for keyCase, key := range keys {
			for secretCase, secret := range secrets {
				c := Default()
				var environ []string
				set := func(name, value string) {
					switch {
					case value == "":
					case fromFile:
						environ = append(environ, name+fileSuffix+"="+writeSecret(t, value+"\n", 0o600))
					default:
						environ = append(environ, name+"="+value)
					}
				}
				set(keyName, key)
				set(secretName, secret)
				c, _, err := Load(writeConfig(t, ""), environ)
				if err != nil {
					t.Fatalf("%s, %s: %v", keyCase, secretCase, err)
				}
				c.Store.Path = filepath.Join(t.TempDir(), "p.db")
				used, _, err := LoadSecrets(c)
				if err != nil {
					t.Fatalf("%s, %s: %v", keyCase, secretCase, err)
				}
				read, err := ReadSecrets(c)
				if err != nil || read != used {
					t.Fatalf("%s, %s: read otherwise than loaded: %v", keyCase, secretCase, err)
				}
				raw, err := read.File()
				if err != nil {
					t.Fatal(err)
				}
				if err := CheckSecretsFile(raw); err != nil {
					t.Errorf("%s, %s: %v", keyCase, secretCase, err)
				}
				restored := Default()
				restored.Store.Path = filepath.Join(t.TempDir(), "p.db")
				if _, err := RestoreSecrets(restored, raw, false, "stamp"); err != nil {
					t.Errorf("%s, %s: %v", keyCase, secretCase, err)
					continue
				}
				if again, made, err := LoadSecrets(restored); err != nil || made || again != used {
					t.Errorf("%s, %s: restored secrets differ, made %v, %v", keyCase, secretCase, made, err)
				}
			}
		}
	}
}

func TestUnusableRestoredSecretsChangeNothing(t *testing.T) {
	const secret = `"0123456789abcdef0123456789ABCDEF"`
	for raw, want := range map[string]string{
		"":   "cannot be read",
		"{}": "globalAuthToken has 0 bytes",
		`{"globalAuthToken":"0123456789abcde","jwtSecret":` + secret + `}`:                                 "globalAuthToken has 15 bytes, needs 16 or more",
		`{"globalAuthToken":"0123456789abcdef","jwtSecret":"0123456789abcdef"}`:                            "jwtSecret has 16 bytes, needs 32 or more",
		`{"globalAuthToken":` + secret + `,"jwtSecret":` + secret + `}`:                                    "differ",
		`{"globalAuthTokenBase64":"?","jwtSecret":` + secret + `}`:                                         "cannot be read",
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
