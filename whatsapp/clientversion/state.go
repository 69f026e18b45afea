package clientversion

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"postern/store"
	"postern/store/schema"
	"postern/whatsapp"
)

const (
	bucket = "client_version"
	only   = "state" // the key of the one record
)

// Buckets returns the bucket of this package.
func Buckets() []schema.Bucket {
	return []schema.Bucket{{
		Name: bucket, Owner: "clientversion", Key: `"state"`, Value: "JSON: the version that WhatsApp named, when it was asked last and when it is to be asked again",
		Needs: schema.References(decodeState, "the version that WhatsApp named is asked for again"),
	}}
}

// state is what outlives the program.
type state struct {
	Network  string    `json:"network,omitempty"`  // see Config
	Version  string    `json:"version,omitempty"`  // the last valid answer of WhatsApp
	Taken    string    `json:"taken,omitempty"`    // the last of these with which WhatsApp accepted a login
	Refused  string    `json:"refused,omitempty"`  // the rejected version that caused the last request
	AskedAt  time.Time `json:"askedAt,omitzero"`   // time of the last request
	Failures int       `json:"failures,omitempty"` // requests in a row without a result, including the running one
	Due      time.Time `json:"due,omitzero"`       // time of the next request; zero: none
}

var errKey = errors.New("not the key of the only record")

func decodeState(key, value []byte) (st state, err error) {
	if string(key) != only {
		return st, errKey
	}
	return st, json.Unmarshal(value, &st)
}

func load(s *store.Store) (st state, err error) {
	err = s.View(func(tx *store.Tx) error {
		var found bool
		st, found, err = store.GetJSON[state](tx, bucket, []byte(only))
		if !found {
			st = state{}
		}
		return err
	})
	return st, err
}

// known returns the version that an answer must be newer than: the one in use, unless
// it came from WhatsApp's site and no login with it was accepted. That answer was
// wrong, and a version that is too high would exclude every right one.
func (st *state) known(current whatsapp.Version) whatsapp.Version {
	if st.Version != current.String() || st.Taken == st.Version {
		return current
	}
	known := whatsapp.BuiltinVersion()
	if taken, err := whatsapp.ParseVersion(st.Taken); err == nil && known.Less(taken) {
		known = taken
	}
	return known
}

func (st state) save(s *store.Store) error {
	return s.Update(context.Background(), func(tx *store.Tx) error { return store.PutJSON(tx, bucket, []byte(only), st) })
}

// askEvery is the least time between two requests.
const askEvery = 10 * time.Minute

// pause is the time from a request without a result to the next one.
func (st state) pause() time.Duration {
	switch st.Failures {
	case 0, 1:
		return askEvery
	case 2:
		return 30 * time.Minute
	default:
		return time.Hour
	}
}

// mayAsk reports whether the last request is long enough ago.
func (st *state) mayAsk(now time.Time) bool {
	return st.AskedAt.IsZero() || now.Sub(st.AskedAt) >= askEvery
}

// askLater schedules a request, unless an earlier one is scheduled.
func (st *state) askLater(now time.Time) {
	if next := st.AskedAt.Add(askEvery); st.Due.IsZero() {
		st.Due = next
	}
	st.bound(now)
}

// bound keeps the next request within its pause, also after the clock was set back.
func (st *state) bound(now time.Time) {
	if last := now.Add(st.pause()); st.Due.After(last) {
		st.Due = last
	}
}

// begin records the start of a request because of a version; until it has a result it
// counts as failed.
func (st *state) begin(now time.Time, refused string) {
	if st.Refused != refused {
		st.Failures = 0
	}
	st.Refused, st.AskedAt = refused, now
	st.Failures++
	st.Due = now.Add(st.pause())
}

// found records the result of a request.
func (st *state) found(version string) {
	st.Version, st.Failures, st.Due = version, 0, time.Time{}
}
