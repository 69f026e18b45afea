package operator

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/google/uuid"

	"postern/access"
	"postern/batch"
	"postern/event"
	"postern/httpapi/rest"
	"postern/instance"
)

// KeyView is a scoped key as the operator sees it.
type KeyView struct {
	ID           uuid.UUID      `json:"id" doc:"The key's id, which is in the log and in the audit log." example:"$uuid"`
	Name         string         `json:"name" doc:"A name for people." example:"monitoring"`
	Instances    []string       `json:"instances"` // names, or "*" alone
	Scopes       []access.Scope `json:"scopes"`
	UserID       *uuid.UUID     `json:"userId" doc:"The user whose batches it opens; null for none." example:"$uuid" rules:"null"`
	Recipients   []string       `json:"recipients" doc:"The addresses that it may write to; null: all." example:"$jid" rules:"null"`
	RateLimit    *KeyRate       `json:"rateLimit" doc:"How many requests it may make; null: unlimited."`
	ExpiresAt    *event.Time    `json:"expiresAt" doc:"When it expires; null: never." example:"$time" rules:"null"`
	CreatedAt    event.Time     `json:"createdAt"`
	UpdatedAt    event.Time     `json:"updatedAt"`
	LastUsedAt   *event.Time    `json:"lastUsedAt" doc:"When it was used last; null: never. It may be a minute late after a crash." example:"$time" rules:"null"`
	LastUsedFrom *string        `json:"lastUsedFrom" doc:"The address that it was used from." example:"192.0.2.7" rules:"null"`
}

// KeyRate limits the requests of a key.
type KeyRate struct {
	PerMinute int `json:"perMinute" strict:"required" doc:"Requests in any 60 seconds. 0 means unlimited, and is valid in a change only." example:"60" rules:"minimum=0,maximum=1000000"`
}

// CreatedKey is the answer to a creation, the only one with the key's text.
type CreatedKey struct {
	KeyView
	Key string `json:"key"`
}

// all means all instances, or all recipients, if it is the only entry.
const all = "*"

// keyView shows the instances by their current names.
func (a *API) keyView(k access.Key) KeyView {
	v := KeyView{
		ID: k.ID, Name: k.Name, Instances: []string{}, Scopes: k.Scopes, Recipients: k.Recipients,
		CreatedAt: event.At(k.CreatedAt), UpdatedAt: event.At(k.UpdatedAt), LastUsedFrom: event.OrNull(k.LastUsedFrom),
	}
	if k.Everywhere() {
		v.Instances = []string{all}
	}
	for _, i := range k.Instances {
		// Deleted instances are not shown: their names may belong to new ones, which the key does not open.
		if rec, err := a.Registry.ByID(i.ID); err == nil {
			v.Instances = append(v.Instances, rec.Name)
		}
	}
	if k.User != (uuid.UUID{}) {
		v.UserID = &k.User
	}
	if k.PerMinute > 0 {
		v.RateLimit = &KeyRate{k.PerMinute}
	}
	if !k.ExpiresAt.IsZero() {
		v.ExpiresAt = event.AtPtr(k.ExpiresAt)
	}
	if !k.LastUsedAt.IsZero() {
		v.LastUsedAt = event.AtPtr(k.LastUsedAt)
	}
	return v
}

type createKeyRequest struct {
	Name       string   `json:"name" strict:"required" doc:"A name for people." example:"monitoring" rules:"minLength=1,maxLength=255"`
	Instances  []string `json:"instances" strict:"required"`
	Scopes     []string `json:"scopes" strict:"required"`
	UserID     *string  `json:"userId" doc:"The user whose batches it opens; required with the scope batch." example:"$uuid" rules:"format=uuid"`
	Recipients []string `json:"recipients"`
	ExpiresAt  *string  `json:"expiresAt" doc:"When it expires; absent: never." example:"$time" rules:"format=date-time"`
	RateLimit  *KeyRate `json:"rateLimit" doc:"How many requests it may make; absent: unlimited."`
}

func (a *API) createKey(c *rest.Call) error {
	var in createKeyRequest
	if err := c.Decode(&in, rest.MaxBody); err != nil {
		return err
	}
	k := access.Key{Name: in.Name, Recipients: keyRecipients(in.Recipients)}
	for _, s := range in.Scopes {
		k.Scopes = append(k.Scopes, access.Scope(s))
	}
	var err error
	if k.Instances, err = a.keyInstances(in.Instances); err != nil {
		return err
	}
	if in.UserID != nil {
		if k.User, err = uuid.Parse(*in.UserID); err != nil || len(*in.UserID) != len(k.User.String()) {
			return rest.Refuse(http.StatusUnprocessableEntity, rest.CodeInvalidKeyRule, "userId must be a UUID")
		}
	}
	if in.ExpiresAt != nil {
		if k.ExpiresAt, err = keyExpiry(*in.ExpiresAt); err != nil {
			return err
		}
	}
	if in.RateLimit != nil {
		if k.PerMinute = in.RateLimit.PerMinute; k.PerMinute == 0 { // which would be no limit
			return rest.Refuse(http.StatusUnprocessableEntity, rest.CodeInvalidKeyRule, "rateLimit.perMinute must be at least 1; omit rateLimit for no limit")
		}
	}
	if err := a.Store.Admit(); err != nil {
		return err
	}
	k, text, err := a.Access.Keys.Create(c.Request.Context(), k, func(id uuid.UUID) { c.Entry.About(id.String()) })
	if err != nil {
		return err
	}
	return c.Response.JSON(http.StatusCreated, CreatedKey{a.keyView(k), text})
}

// keyInstances returns the instances of a key, nil for all.
func (a *API) keyInstances(given []string) ([]access.Instance, error) {
	if slices.Contains(given, all) {
		if len(given) > 1 {
			return nil, rest.Refuse(http.StatusUnprocessableEntity, rest.CodeInvalidKeyRule, `instances: "*" means all and must be the only entry`)
		}
		return nil, nil
	}
	found, unknown := []access.Instance{}, []string{}
	for i, name := range given {
		rec, err := a.Registry.ByName(name)
		switch {
		case err == nil:
			found = append(found, access.Instance{ID: rec.ID, Name: rec.Name})
		case !errors.Is(err, instance.ErrNotFound):
			return nil, err
		case len(unknown) < rest.MaxMessages:
			unknown = append(unknown, fmt.Sprintf("instances[%d] is not a known instance", i))
		}
	}
	if len(unknown) > 0 {
		return nil, rest.Refuse(http.StatusUnprocessableEntity, rest.CodeInvalidKeyRule, unknown...)
	}
	return found, nil
}

func keyExpiry(text string) (at time.Time, err error) {
	if at, err = time.Parse(time.RFC3339, text); err != nil {
		return at, rest.Refuse(http.StatusUnprocessableEntity, rest.CodeInvalidKeyRule, "expiresAt must be a time in RFC 3339")
	}
	if at.IsZero() { // which stands for never
		return at, rest.Refuse(http.StatusUnprocessableEntity, rest.CodeInvalidKeyRule, "expiresAt must be in the future")
	}
	return at.UTC(), nil
}

// listKeys lists all keys, newest first, including expired ones.
func (a *API) listKeys(c *rest.Call) error {
	q, err := c.Query([]string{"limit", "nextCursor", "previousCursor"})
	if err != nil {
		return err
	}
	page, err := rest.ReadPage(q)
	if err != nil {
		return err
	}
	keys := a.Access.Keys.List()
	first, end := 0, len(keys)
	if cursor := page.Next + page.Previous; cursor != "" {
		id, err := uuid.Parse(cursor)
		if err != nil {
			return rest.InvalidCursor()
		}
		// The key of the cursor may have been deleted; only its position matters.
		at, there := slices.BinarySearchFunc(keys, id, func(k access.Key, at uuid.UUID) int { return slices.Compare(at[:], k.ID[:]) })
		switch first = at; {
		case page.Previous != "":
			first, end = max(0, at-page.Limit), at // what follows is the page that it came from
		case there:
			first = at + 1
		}
	}
	last := min(end, first+page.Limit)
	out := batch.List[KeyView]{TotalRecords: len(keys), Records: []KeyView{}}
	for _, k := range keys[first:last] {
		out.Records = append(out.Records, a.keyView(k))
	}
	if last < len(keys) && last > first {
		out.NextCursor = event.OrNull(keys[last-1].ID.String())
	}
	if first > 0 && last > first {
		out.PreviousCursor = event.OrNull(keys[first].ID.String())
	}
	return c.Response.JSON(http.StatusOK, out)
}

func (a *API) showKey(c *rest.Call) error {
	id, err := idOfKey(c)
	if err != nil {
		return err
	}
	k, err := a.Access.Keys.Get(id)
	if err != nil {
		return err
	}
	out := ShownKey{KeyView: a.keyView(k)}
	if out.KeyRunning, err = a.ends().running(id); err != nil {
		return err
	}
	return c.Response.JSON(http.StatusOK, out)
}

// keyID returns the id in the path, which is the subject in the audit log. Only a UUID of 36
// characters is the id of a key.
func idOfKey(c *rest.Call) (uuid.UUID, error) {
	text := c.Params.ByName("id")
	id, err := uuid.Parse(text)
	if err != nil || len(text) != len(id.String()) {
		return id, access.ErrNotFound
	}
	if c.Entry != nil {
		c.Entry.About(id.String())
	}
	return id, nil
}

// changeKeyRequest has the fields to change. "*" alone, an empty time and a rate of 0
// remove a restriction: null counts as absent.
type changeKeyRequest struct {
	Name       *string  `json:"name" doc:"A name for people." example:"monitoring" rules:"minLength=1,maxLength=255"`
	Instances  []string `json:"instances"`
	Recipients []string `json:"recipients"`
	ExpiresAt  *string  `json:"expiresAt" doc:"When it expires; empty: never." example:"$time"`
	RateLimit  *KeyRate `json:"rateLimit" doc:"How many requests it may make; a perMinute of 0: unlimited."`
}

func (a *API) changeKey(c *rest.Call) error {
	id, err := idOfKey(c)
	if err != nil {
		return err
	}
	var in changeKeyRequest
	if err := c.Decode(&in, rest.MaxBody); err != nil {
		return err
	}
	k, narrower, err := a.Access.Keys.Change(c.Request.Context(), id, func(k *access.Key) error { return a.applyKeyChange(k, &in) })
	if err != nil {
		return err
	}
	a.endSockets(k, narrower)
	return c.Response.JSON(http.StatusOK, a.keyView(k))
}

// endSockets closes the WebSockets of a key that was narrowed; those of a key that was
// extended stay open.
func (a *API) endSockets(k access.Key, narrower bool) {
	switch {
	case a.Hub == nil:
	case narrower:
		a.Hub.Revoke(rest.KeyToken(k.ID))
	default:
		a.Hub.Renew(rest.KeyToken(k.ID), k.ExpiresAt)
	}
}

func (a *API) applyKeyChange(k *access.Key, in *changeKeyRequest) (err error) {
	if in.Name != nil {
		k.Name = *in.Name
	}
	if in.Instances != nil {
		if k.Instances, err = a.keyInstances(in.Instances); err != nil {
			return err
		}
	}
	if in.Recipients != nil {
		k.Recipients = keyRecipients(in.Recipients)
	}
	if in.RateLimit != nil {
		k.PerMinute = in.RateLimit.PerMinute
	}
	switch {
	case in.ExpiresAt == nil:
	case *in.ExpiresAt == "":
		k.ExpiresAt = time.Time{}
	default:
		k.ExpiresAt, err = keyExpiry(*in.ExpiresAt)
	}
	return err
}

// keyRecipients returns nil for all recipients.
func keyRecipients(given []string) []string {
	if len(given) == 1 && given[0] == all {
		return nil
	}
	return given
}
