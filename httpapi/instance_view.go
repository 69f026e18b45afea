package httpapi

import (
	"postern/event"
	"postern/httpapi/strict"
	"postern/instance"
	"postern/instance/webhooks"
)

// createRequest is the body that creates an instance. null counts as absent.
type createRequest struct {
	InstanceName       *string        `json:"instanceName"`
	Description        *string        `json:"description"`
	ExternalAttributes *strict.Object `json:"externalAttributes"`
}

// issuedToken is "Auth" with the token: the capital is the contract's.
type issuedToken struct {
	ID    int64  `json:"id"`
	Token string `json:"token"`
}

type createdInstance struct {
	ID          int64        `json:"id"`
	Name        string       `json:"name"`
	Description *string      `json:"description"`
	CreatedAt   event.Time   `json:"createdAt"`
	UpdatedAt   event.Time   `json:"updatedAt"`
	Auth        *issuedToken `json:"Auth"` // null for a scoped key
}

// instanceView is an instance as its own token sees it.
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

// listedInstance is an instance as the operator sees it.
type listedInstance struct {
	instanceView
	Auth    *authView         `json:"Auth"`
	Webhook *webhooks.Webhook `json:"Webhook"`
}

// shownInstance is listedInstance without the token.
type shownInstance struct {
	instanceView
	Webhook *webhooks.Webhook `json:"Webhook"`
}

type authView struct {
	ID        int64      `json:"id"`
	Token     string     `json:"token"`
	CreatedAt event.Time `json:"createdAt"`
	UpdatedAt event.Time `json:"updatedAt"`
}

type rotatedToken struct {
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
		Description:        orNull(in.Description),
		Status:             status,
		ConnectionStatus:   in.Status,
		OwnerJID:           orNull(in.OwnerJID),
		ProfilePicURL:      orNull(in.ProfilePicURL),
		ExternalAttributes: in.ExternalAttributes,
		CreatedAt:          in.CreatedAt,
		UpdatedAt:          in.UpdatedAt,
	}
}

// authOf is the token of an instance; a record has one token, so its id is the
// record's.
func authOf(in instance.Record) *authView {
	if in.Token.Value == "" {
		return nil
	}
	return &authView{in.ID, in.Token.Value, in.Token.CreatedAt, in.Token.UpdatedAt}
}
