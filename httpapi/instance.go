package httpapi

import (
	"encoding/json"
	"errors"
	"net/http"

	"postern/access"
	"postern/httpapi/tokens"
	"postern/instance"
	"postern/instance/webhooks"
)

func (a *api) createInstance(c *call) error {
	var in createRequest
	if err := c.decode(&in, maxBody); err != nil {
		return err
	}
	if err := a.Store.Admit(); err != nil {
		return err
	}
	n := instance.New{Mint: func(name string) (string, error) {
		c.entry.About(name)
		return a.mint(name)
	}}
	if in.InstanceName != nil {
		if *in.InstanceName == "" {
			return instance.CheckName("") // an absent name has a default, an empty one is wrong
		}
		n.Name = *in.InstanceName
	}
	if in.Description != nil {
		n.Description = *in.Description
	}
	if in.ExternalAttributes != nil {
		n.ExternalAttributes = json.RawMessage(*in.ExternalAttributes)
	}
	rec, err := a.Registry.Create(c.r.Context(), n)
	if err != nil {
		return err
	}
	created := createdInstance{
		ID: rec.ID, Name: rec.Name, Description: orNull(rec.Description), CreatedAt: rec.CreatedAt, UpdatedAt: rec.UpdatedAt,
	}
	if c.mayHaveTokens() {
		created.Auth = &issuedToken{rec.ID, rec.Token.Value}
	}
	return c.w.json(http.StatusCreated, created)
}

func (a *api) mint(name string) (string, error) {
	return tokens.ForInstance(a.JWTSecret, name, a.TokenTTL, a.Store.Now())
}

// mayHaveTokens reports whether tokens of instances may be in the answer: never in
// that to a scoped key. A session needs none.
func (c *call) mayHaveTokens() bool { return c.key == nil && c.session == nil }

// listInstances answers with an array; a name that no instance has gives an
// empty one.
func (a *api) listInstances(c *call) error {
	q, err := c.query([]string{"instanceName"})
	if err != nil {
		return err
	}
	all := []listedInstance{}
	for _, rec := range a.Registry.List() {
		if q.Has("instanceName") && rec.Name != q.Get("instanceName") || c.key != nil && !c.key.Opens(rec.ID) {
			continue
		}
		hook, err := a.shownWebhook(c, rec.ID)
		if err != nil {
			return err
		}
		listed := listedInstance{instanceView: viewOf(rec), Webhook: hook}
		if c.mayHaveTokens() {
			listed.Auth = authOf(rec)
		}
		all = append(all, listed)
	}
	return c.w.json(http.StatusOK, all)
}

func (a *api) showInstance(c *call) error {
	hook, err := a.shownWebhook(c, c.instance.ID)
	if err != nil {
		return err
	}
	return c.w.json(http.StatusOK, shownInstance{viewOf(c.instance), hook})
}

// shownWebhook is the webhook of an instance beside the rest of it. A scoped key that may
// not look at webhooks sees none: addresses have secrets in them.
func (a *api) shownWebhook(c *call, id int64) (*webhooks.Webhook, error) {
	if c.key != nil && !c.key.Has(access.Webhook) {
		return nil, nil
	}
	return a.webhookOf(id)
}

// webhookOf returns nil for an instance without a webhook.
func (a *api) webhookOf(id int64) (*webhooks.Webhook, error) {
	w, err := a.Registry.Webhooks().Webhook(id)
	if errors.Is(err, webhooks.ErrNoWebhook) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return &w, nil
}

// issueInstanceToken is for the operator, when the old token expired or was
// lost. The old one is worth nothing from here on.
func (a *api) issueInstanceToken(c *call) error {
	if err := c.noBody(); err != nil {
		return err
	}
	rec, err := a.Registry.ByName(c.params.ByName("i"))
	if err != nil {
		return err
	}
	return a.rotate(c, rec, "")
}

type refreshRequest struct {
	OldToken string `json:"oldToken" strict:"required"`
}

func (a *api) refreshToken(c *call) error {
	var in refreshRequest
	if err := c.decode(&in, maxBody); err != nil {
		return err
	}
	if in.OldToken == "" {
		return errUnauthorized()
	}
	err := a.rotate(c, c.instance, in.OldToken)
	if errors.Is(err, instance.ErrNotFound) {
		return errUnauthorized() // oldToken is not the stored one, or not any more
	}
	return err
}

// rotate issues a new token and so revokes the former one, which must still be
// old unless old is empty.
func (a *api) rotate(c *call, rec instance.Record, old string) error {
	token, err := a.mint(rec.Name)
	if err != nil {
		return err
	}
	rec, err = a.Registry.SetToken(c.r.Context(), rec.ID, old, token)
	if err != nil {
		return err
	}
	a.revoke(rec.ID)
	t := rec.Token
	return c.w.json(http.StatusOK, rotatedToken{rec.ID, t.CreatedAt, t.UpdatedAt, t.Value, rec.ID})
}

// revoke closes the WebSockets that were opened with a token that is worth
// nothing any more.
func (a *api) revoke(id int64) {
	if a.Hub != nil {
		a.Hub.RevokeInstance(id)
	}
}

type deletedInstance struct {
	InstanceName string `json:"instanceName"`
	Deleted      bool   `json:"deleted"`
	Forced       bool   `json:"forced"`
	Message      string `json:"message"`
}

// deleteInstance removes an instance and all that is stored of it. Without
// force, one with stored messages or with an unfinished batch stays.
func (a *api) deleteInstance(c *call) error {
	force, err := c.flag("force")
	if err != nil {
		return err
	}
	if !force {
		used, err := a.Engine.InUse(c.instance.ID)
		if err != nil {
			return err
		}
		if used {
			return refuse(http.StatusConflict, codeInstanceInUse, "an unfinished batch uses the instance; stop the batch, or delete with force=true")
		}
	}
	if err := a.Supervisor.Delete(c.r.Context(), c.instance.ID, force); err != nil {
		return err
	}
	if a.Hub != nil {
		a.Hub.DropInstance(c.instance.ID)
	}
	return c.w.json(http.StatusOK, deletedInstance{
		InstanceName: c.instance.Name, Deleted: true, Forced: force, Message: "the instance and all its stored data were deleted",
	})
}
