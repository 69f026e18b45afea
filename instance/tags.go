package instance

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"postern/event"
)

// Bounds of tags.
const (
	MaxTags = 16
	MaxTag  = 40 // characters
)

// ErrTag is wrapped by the errors about tags.
var ErrTag = errors.New("invalid tag")

// TagError names the rule that a tag breaks.
type TagError struct{ Rule string }

// Error names the rule.
func (e *TagError) Error() string { return e.Rule }

// Unwrap returns ErrTag.
func (*TagError) Unwrap() error { return ErrTag }

// checkTags trims tags and removes doubles. Errors: a TagError.
func checkTags(tags []string) (all []string, err error) {
	for i, tag := range tags {
		tag = strings.TrimSpace(tag)
		control := func(r rune) bool { return unicode.IsControl(r) || r == ',' }
		if n := utf8.RuneCountInString(tag); n < 1 || n > MaxTag || strings.ContainsFunc(tag, control) || !utf8.ValidString(tag) {
			return nil, &TagError{"tags[" + strconv.Itoa(i) + "] must have 1 to 40 characters, without commas and control characters"}
		}
		if !slices.Contains(all, tag) {
			all = append(all, tag)
		}
	}
	if len(all) > MaxTags {
		return nil, &TagError{"tags must be at most 16"}
	}
	return all, nil
}

// SetTags replaces the tags of an instance, in the order given. Errors: ErrNotFound, a TagError.
func (r *Registry) SetTags(ctx context.Context, id int64, tags []string) ([]string, error) {
	all, err := checkTags(tags)
	if err != nil {
		return nil, err
	}
	_, _, err = r.change(ctx, id, func(rec *Record) bool {
		same := slices.Equal(rec.Tags, all)
		rec.Tags = all
		return !same
	})
	return all, err
}

// Received returns when an instance last received a message, since the start; zero if it did not.
func (s *Supervisor) Received(id int64) (at event.Time) {
	s.mu.Lock()
	k := s.keepers[id]
	s.mu.Unlock()
	if k != nil {
		k.mu.Lock()
		defer k.mu.Unlock()
		if !k.lastReceived.IsZero() {
			at = event.At(k.lastReceived)
		}
	}
	return at
}
