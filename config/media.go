package config

import (
	"errors"
	"net/url"
	"strings"
	"unicode"

	"postern/event"
)

// Rules of media.store.s3.

func checkS3Endpoint(s string) error {
	u, err := url.Parse(s)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.User != nil || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != "" {
		return errors.New("must be http(s)://host or http(s)://host:port, without a path: the bucket is media.store.s3.bucket")
	}
	return event.CheckPort(u)
}

func checkS3Region(s string) error {
	if !named(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") {
		return errors.New("must have 1 to 63 characters of A-Z, a-z, 0-9, _ and -; servers without regions take us-east-1")
	}
	return nil
}

// checkBucket is the rule of S3 for names of buckets.
func checkBucket(s string) error {
	if len(s) < 3 || !named(s, "abcdefghijklmnopqrstuvwxyz0123456789.-") || strings.Contains(s, "..") || strings.Trim(s, ".-") != s {
		return errors.New("must have 3 to 63 characters of a-z, 0-9, . and -, and begin and end with a letter or a digit")
	}
	return nil
}

// checkPrefix accepts what every server stores as it is: some clean paths.
func checkPrefix(s string) error {
	wrong := len(s) > 200 || strings.HasPrefix(s, "/") || s != "" && !strings.HasSuffix(s, "/")
	for word := range strings.SplitSeq(strings.TrimSuffix(s, "/"), "/") {
		wrong = wrong || s != "" && (word == "" || word == "." || word == "..") || strings.Trim(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-") != ""
	}
	if wrong {
		return errors.New("must be empty, or words of A-Z, a-z, 0-9, _, . and - with a slash after each, such as postern/ or media/shop/, of at most 200 characters")
	}
	return nil
}

func checkAccessKey(s string) error {
	if len(s) > 1024 || strings.ContainsFunc(s, func(r rune) bool { return unicode.IsControl(r) || unicode.IsSpace(r) }) {
		return errors.New("must have at most 1024 characters, without spaces and control characters")
	}
	return nil
}

// mediaRules returns the settings that media.store.kind s3 requires.
func (c *Config) mediaRules() (all []rule) {
	s := c.Media.Store.S3
	for _, needed := range []struct{ key, value string }{
		{"endpoint", s.Endpoint}, {"bucket", s.Bucket}, {"access_key", s.AccessKey}, {"secret_key", s.SecretKey},
	} {
		all = append(all, rule{
			c.Media.Store.Kind == "s3" && needed.value == "",
			"required when media.store.kind is s3",
			[]string{"media.store.s3." + needed.key, "media.store.kind"},
		})
	}
	return all
}
