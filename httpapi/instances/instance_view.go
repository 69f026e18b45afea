package instances

import (
	"postern/console/trouble"
	"postern/event"
	"postern/httpapi/strict"
	"postern/instance"
	"postern/instance/webhooks"
)

// CreateRequest is the body that creates an instance. null counts as absent.
type CreateRequest struct {
	InstanceName       *string        `json:"instanceName"`
	Description        *string        `json:"description" doc:"A description for people." example:"Sales desk" rules:"maxLength=255"`
	ExternalAttributes *strict.Object `json:"externalAttributes"`
}

// IssuedToken has the token in "Auth"; the API defines the capital letter.
type IssuedToken struct {
	ID    int64  `json:"id" doc:"The token's id." example:"1"`
	Token string `json:"token" doc:"The token, for Authorization: Bearer." example:"eyJhbGciOiJIUzI1NiJ9.e30.signature"`
}

// CreatedInstance is a new instance with its token.
type CreatedInstance struct {
	ID          int64      `json:"id" doc:"The instance's id." example:"1"`
	Name        string     `json:"name" doc:"The instance's name." example:"$name"`
	Description *string    `json:"description" doc:"Its description." example:"Sales desk"`
	CreatedAt   event.Time `json:"createdAt"`
	UpdatedAt   event.Time `json:"updatedAt"`
	// null for a scoped key
	Auth *IssuedToken `json:"Auth" doc:"Its token."`
}

// instanceView is an instance as shown to its own token.
type instanceView struct {
	ID                 int64            `json:"id" doc:"The instance's id." example:"1"`
	Name               string           `json:"name" doc:"The instance's name." example:"$name"`
	Description        *string          `json:"description" doc:"Its description." example:"Sales desk"`
	Status             string           `json:"status" doc:"Whether it can send and receive." example:"ONLINE" rules:"enum=ONLINE|OFFLINE"`
	ConnectionStatus   event.State      `json:"connectionStatus"`
	OwnerJID           *string          `json:"ownerJid"`
	ProfilePicURL      *string          `json:"profilePicUrl"`
	PhoneLastSeenAt    *event.Time      `json:"phoneLastSeenAt"`
	ExternalAttributes event.Attributes `json:"externalAttributes"`
	CreatedAt          event.Time       `json:"createdAt"`
	UpdatedAt          event.Time       `json:"updatedAt"`
}

// ListedInstance is an instance as shown to the operator.
type ListedInstance struct {
	instanceView
	Tags           []string          `json:"tags" doc:"Its tags." example:"north"`
	Troubles       []trouble.Kind    `json:"troubles" doc:"What is wrong with it and its receivers, as GET /troubles has it." example:"INSTANCE_OFFLINE"`
	LastReceivedAt *event.Time       `json:"lastReceivedAt,omitempty" doc:"When it last received a message since the start; absent without an account." example:"$time"`
	Auth           *authView         `json:"Auth" doc:"Its token; null when it has none."`
	Webhook        *webhooks.Webhook `json:"Webhook" doc:"Its webhook; null when it has none, and for a scoped key without the scope webhook."`
}

// ShownInstance is ListedInstance without the token.
type ShownInstance struct {
	instanceView
	Webhook *webhooks.Webhook `json:"Webhook" doc:"Its webhook; null when it has none, and for a scoped key without the scope webhook."`
}

type authView struct {
	ID        int64      `json:"id" doc:"The token's id." example:"1"`
	Token     string     `json:"token" doc:"The token, for Authorization: Bearer." example:"eyJhbGciOiJIUzI1NiJ9.e30.signature"`
	CreatedAt event.Time `json:"createdAt"`
	UpdatedAt event.Time `json:"updatedAt"`
}

// RotatedToken is the new token of an instance.
type RotatedToken struct {
	ID         int64      `json:"id" doc:"The token's id." example:"1"`
	CreatedAt  event.Time `json:"createdAt"`
	UpdatedAt  event.Time `json:"updatedAt"`
	Token      string     `json:"token" doc:"The new token." example:"eyJhbGciOiJIUzI1NiJ9.e30.signature"`
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
		Description:        event.OrNull(in.Description),
		Status:             status,
		ConnectionStatus:   in.Status,
		OwnerJID:           event.OrNull(in.OwnerJID),
		ProfilePicURL:      event.OrNull(in.ProfilePicURL),
		PhoneLastSeenAt:    event.AtPtr(in.PhoneSeenAt.Time),
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
