package instances

import (
	"postern/event"
	"postern/httpapi/rest"
	"postern/httpapi/strict"
	"postern/instance"
	"postern/instance/webhooks"
)

// CreateRequest is the body that creates an instance. null counts as absent.
type CreateRequest struct {
	InstanceName       *string        `json:"instanceName"`
	Description        *string        `json:"description"`
	ExternalAttributes *strict.Object `json:"externalAttributes"`
}

// IssuedToken has the token in "Auth"; the API defines the capital letter.
type IssuedToken struct {
	ID    int64  `json:"id"`
	Token string `json:"token"`
}

type CreatedInstance struct {
	ID          int64        `json:"id"`
	Name        string       `json:"name"`
	Description *string      `json:"description"`
	CreatedAt   event.Time   `json:"createdAt"`
	UpdatedAt   event.Time   `json:"updatedAt"`
	Auth        *IssuedToken `json:"Auth"` // null for a scoped key
}

// instanceView is an instance as shown to its own token.
type instanceView struct {
	ID                 int64            `json:"id"`
	Name               string           `json:"name"`
	Description        *string          `json:"description"`
	Status             string           `json:"status"` // ONLINE or OFFLINE
	ConnectionStatus   event.State      `json:"connectionStatus"`
	OwnerJID           *string          `json:"ownerJid"`
	ProfilePicURL      *string          `json:"profilePicUrl"`
	ExternalAttributes event.Attributes `json:"externalAttributes"`
	CreatedAt          event.Time       `json:"createdAt"`
	UpdatedAt          event.Time       `json:"updatedAt"`
}

// ListedInstance is an instance as shown to the operator.
type ListedInstance struct {
	instanceView
	Auth    *authView         `json:"Auth"`
	Webhook *webhooks.Webhook `json:"Webhook"`
}

// Listed returns an instance as GET /instance lists it, but without its token. hook is nil if it has no
// webhook.
func Listed(rec instance.Record, hook *webhooks.Webhook) ListedInstance {
	return ListedInstance{viewOf(rec), nil, hook}
}

// ShownInstance is ListedInstance without the token.
type ShownInstance struct {
	instanceView
	Webhook *webhooks.Webhook `json:"Webhook"`
}

type authView struct {
	ID        int64      `json:"id"`
	Token     string     `json:"token"`
	CreatedAt event.Time `json:"createdAt"`
	UpdatedAt event.Time `json:"updatedAt"`
}

type RotatedToken struct {
	ID         int64      `json:"id"`
	CreatedAt  event.Time `json:"createdAt"`
	UpdatedAt  event.Time `json:"updatedAt"`
	Token      string     `json:"token"`
	InstanceID int64      `json:"instanceId"`
}

func viewOf(in instance.Record) instanceView {
	status := "OFFLINE"
	if in.Status == event.Online {
		status = "ONLINE"
	}
	return instanceView{
		ID:                 in.ID,
		Name:               in.Name,
		Description:        rest.OrNull(in.Description),
		Status:             status,
		ConnectionStatus:   in.Status,
		OwnerJID:           rest.OrNull(in.OwnerJID),
		ProfilePicURL:      rest.OrNull(in.ProfilePicURL),
		ExternalAttributes: in.ExternalAttributes,
		CreatedAt:          in.CreatedAt,
		UpdatedAt:          in.UpdatedAt,
	}
}

// authOf returns the token of an instance. A record has one token, so the token's id is that of the record.
func authOf(in instance.Record) *authView {
	if in.Token.Value == "" {
		return nil
	}
	return &authView{in.ID, in.Token.Value, in.Token.CreatedAt, in.Token.UpdatedAt}
}
