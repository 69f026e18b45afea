package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestS3SettingsAreChecked(t *testing.T) {
	for setting, values := range map[string][]string{
		"endpoint":   {"s3.example.org", "ftp://s3.example.org", "https://s3.example.org/files", "https://user:key@s3.example.org", "https://s3.example.org?x=1"},
		"region":     {"", "eu central", "eu/central"},
		"bucket":     {"ab", "Files", "files.", "a..b", "a/b", strings.Repeat("a", 64)},
		"prefix":     {"postern", "/postern/", "a//b/", "../", "a b/", "ä/", strings.Repeat("a", 200) + "/"},
		"access_key": {"a b", "a\\n"},
		"secret_key": {"a b", strings.Repeat("a", 1025)},
	} {
		for _, v := range values {
			key := "media.store.s3." + setting
			text := refused(t, v, line(key, `"`+v+`"`))
			if !strings.Contains(text, key+": must ") || setting == "secret_key" && strings.Contains(text, v) {
				t.Errorf("%s = %q: %s", key, v, text)
			}
		}
	}
	for _, prefix := range []string{"", "postern/", "media/shop-1/"} {
		if _, _, err := Load(writeConfig(t, line("media.store.s3.prefix", `"`+prefix+`"`)), nil); err != nil {
			t.Errorf("%q: %v", prefix, err)
		}
	}
}

func TestS3NeedsItsSettings(t *testing.T) {
	text := refused(t, "nothing else", line("media.store.kind", `"s3"`))
	for _, key := range []string{"endpoint", "bucket", "access_key", "secret_key"} {
		if !strings.Contains(text, "media.store.s3."+key+": required when media.store.kind is s3") {
			t.Errorf("%s is not named: %s", key, text)
		}
	}
}

func TestS3KeysAreHidden(t *testing.T) {
	const secret = "wJalrXUtnFEMIK7MDENG"
	file := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(file, []byte(secret+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c, _, err := Load(writeConfig(t, ""), []string{
		"MEDIA_STORE_KIND=s3", "MEDIA_STORE_S3_ENDPOINT=http://s3.example.org:9000", "MEDIA_STORE_S3_BUCKET=files",
		"MEDIA_STORE_S3_ACCESS_KEY=AKIA" + secret, "MEDIA_STORE_S3_SECRET_KEY_FILE=" + file,
	})
	if err != nil || c.Media.Store.S3.SecretKey != secret {
		t.Fatalf("%q, %v", c.Media.Store.S3.SecretKey, err)
	}
	text, warnings := Show(c)
	if strings.Contains(text, secret) || !strings.Contains(text, `secret_key = "********" # file `+file) {
		t.Error(text)
	}
	if all := strings.Join(warnings, "; "); !strings.Contains(all, "media.store.s3.endpoint is not https") {
		t.Error(all)
	}
	if plain, _ := Show(Default()); !strings.Contains(plain, `secret_key = "" # default`) {
		t.Error(plain)
	}
}
