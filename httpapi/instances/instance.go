package instances

import (
	"encoding/json"
	"errors"
	"net/http"

	"postern/access"
	"postern/event"
	"postern/httpapi/rest"
	"postern/httpapi/tokens"
	"postern/instance"
	"postern/instance/webhooks"
)

// CodeInstanceInUse says that something must end before the instance can be deleted.
const CodeInstanceInUse = "INSTANCE_IN_USE"

func (a *API) createInstance(c *rest.Call) error {
	var in CreateRequest
	if err := c.Decode(&in, rest.MaxBody); err != nil {
		return err
	}
	if err := a.Store.Admit(); err != nil {
		return err
	}
	n := instance.New{Mint: func(name string) (string, error) {
		c.Entry.About(name)
		return a.Mint(name)
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
	rec, err := a.Registry.Create(c.Request.Context(), n)
	if err != nil {
		return err
	}
	created := CreatedInstance{
		ID: rec.ID, Name: rec.Name, Description: event.OrNull(rec.Description), CreatedAt: rec.CreatedAt, UpdatedAt: rec.UpdatedAt,
	}
	if c.MayHaveTokens() {
		created.Auth = &IssuedToken{rec.ID, rec.Token.Value}
	}
	return c.Response.JSON(http.StatusCreated, created)
}

// Mint makes the token of an instance.
func (a *API) Mint(name string) (string, error) {
	return tokens.ForInstance(a.JWTSecret, name, a.TokenTTL, a.Store.Now())
}

func (a *API) showInstance(c *rest.Call) error {
	hook, err := a.shownWebhook(c, c.Instance.ID)
	if err != nil {
		return err
	}
	rec, err := a.Registry.ByID(c.Instance.ID)
	if err != nil {
		return err
	}
	return c.Response.JSON(http.StatusOK, ShownInstance{viewOf(rec), hook})
}

// shownWebhook returns the webhook shown with an instance. A scoped key without the right to see webhooks
// sees none, because URLs contain secrets.
func (a *API) shownWebhook(c *rest.Call, id int64) (*webhooks.Webhook, error) {
	if c.Key != nil && !c.Key.Has(access.Webhook) {
		return nil, nil
	}
	return a.webhookOf(id)
}

// webhookOf returns nil for an instance without a webhook.
func (a *API) webhookOf(id int64) (*webhooks.Webhook, error) {
	w, err := a.Registry.Webhooks().Webhook(id)
	if errors.Is(err, webhooks.ErrNoWebhook) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return &w, nil
}

// issueInstanceToken is for the operator, if the old token expired or was lost. It invalidates the old token.
func (a *API) issueInstanceToken(c *rest.Call) error {
	if err := c.NoBody(); err != nil {
		return err
	}
	rec, err := a.Registry.ByName(c.Params.ByName("i"))
	if err != nil {
		return err
	}
	return a.rotate(c, rec.ID, rec.Name, "")
}

type refreshRequest struct {
	OldToken string `json:"oldToken" strict:"required" doc:"The token to replace." example:"eyJhbGciOiJIUzI1NiJ9.e30.signature"`
}

func (a *API) refreshToken(c *rest.Call) error {
	var in refreshRequest
	if err := c.Decode(&in, rest.MaxBody); err != nil {
		return err
	}
	if in.OldToken == "" {
		return rest.Unauthorized()
	}
	err := a.rotate(c, c.Instance.ID, c.Instance.Name, in.OldToken)
	if errors.Is(err, instance.ErrNotFound) {
		return rest.Unauthorized() // oldToken is not the stored one, or not any more
	}
	return err
}

// rotate issues a new token and so revokes the former one, which must equal old unless old is empty.
func (a *API) rotate(c *rest.Call, id int64, name, old string) error {
	token, err := a.Mint(name)
	if err != nil {
		return err
	}
	rec, err := a.Registry.SetToken(c.Request.Context(), id, old, token)
	if err != nil {
		return err
	}
	a.revoke(rec.ID)
	t := rec.Token
	return c.Response.JSON(http.StatusOK, RotatedToken{rec.ID, t.CreatedAt, t.UpdatedAt, t.Value, rec.ID})
}

// revoke closes the WebSockets that were opened with a revoked token.
func (a *API) revoke(id int64) {
	if a.Hub != nil {
		a.Hub.RevokeInstance(id)
	}
}

// DeletedInstance answers a deletion.
type DeletedInstance struct {
	InstanceName string `json:"instanceName"`
	Deleted      bool   `json:"deleted" doc:"Always true." example:"true"`
	Forced       bool   `json:"forced" doc:"Whether stored messages were deleted too." example:"false"`
	Message      string `json:"message" doc:"What happened, for people." example:"the instance was deleted"`
}

// deleteInstance removes an instance and all its stored data. Without force, it keeps an instance with stored
// messages or an unfinished batch.
func (a *API) deleteInstance(c *rest.Call) error {
	force, err := c.Flag("force")
	if err != nil {
		return err
	}
	if !force {
		used, err := a.Engine.InUse(c.Instance.ID)
		if err != nil {
			return err
		}
		if used {
			return rest.Refuse(http.StatusConflict, CodeInstanceInUse, "an unfinished batch uses the instance; stop the batch, or delete with force=true")
		}
	}
	if err := a.Supervisor.Delete(c.Request.Context(), c.Instance.ID, force); err != nil {
		return err
	}
	if a.Hub != nil {
		a.Hub.DropInstance(c.Instance.ID)
	}
	return c.Response.JSON(http.StatusOK, DeletedInstance{
		InstanceName: c.Instance.Name, Deleted: true, Forced: force, Message: "the instance and all its stored data were deleted",
	})
}
