package chats

import (
	"fmt"
	"net/http"

	"postern/event"
	"postern/httpapi/rest"
	"postern/instance"
)

type numbersRequest struct {
	Numbers []string `json:"numbers" strict:"required"`
}

// check normalizes the numbers to digits.
func (r *numbersRequest) check() error {
	if n := len(r.Numbers); n < 1 || n > maxNumbers {
		return rest.InvalidField(fmt.Sprintf("numbers must have 1 to %d entries", maxNumbers))
	}
	for i, text := range r.Numbers {
		who, err := event.ParseRecipient(text)
		if err != nil {
			return fmt.Errorf("numbers[%d]: %w", i, err)
		}
		if !who.IsPhone() {
			return fmt.Errorf("numbers[%d]: %w: it must be a phone number", i, event.ErrRecipient)
		}
		r.Numbers[i] = who.User
	}
	return nil
}

func lookUpNumbers(c *rest.Call, account instance.Account, in *numbersRequest) ([]event.Registration, error) {
	for _, number := range in.Numbers {
		if err := c.MayWriteTo(event.Recipient{User: number, Server: event.UserServer}.JID()); err != nil {
			return nil, err
		}
	}
	return account.Registered(c.Request.Context(), in.Numbers)
}

type userInfoRequest struct {
	Numbers []string `json:"numbers" strict:"required"`
}

func (r *userInfoRequest) check() error {
	if len(r.Numbers) == 0 || len(r.Numbers) > maxUserInfo {
		return rest.InvalidField(fmt.Sprintf("numbers must have 1 to %d entries", maxUserInfo))
	}
	return (&numbersRequest{Numbers: r.Numbers}).check()
}

func showUserInfo(c *rest.Call, account instance.Account, in *userInfoRequest) ([]event.UserInfo, error) {
	for _, number := range in.Numbers {
		if err := c.MayWriteTo(event.Recipient{User: number, Server: event.UserServer}.JID()); err != nil {
			return nil, err
		}
	}
	return account.UserInfo(c.Request.Context(), in.Numbers)
}

// blockRequest names a person.
type blockRequest struct {
	Number  string `json:"number" strict:"required"`
	Blocked bool   `json:"blocked" strict:"required" doc:"Whether to block or unblock the person." example:"true"`
}

func (r *blockRequest) check() error { return readPerson("number", &r.Number) }

// blockedPeople lists the people whom an account blocks.
type blockedPeople struct {
	Blocked []event.Person `json:"blocked" doc:"Whom the account blocks."`
}

func blockPerson(c *rest.Call, account instance.Account, in *blockRequest) (blockedPeople, error) {
	all, err := account.Block(c.Request.Context(), in.Number, in.Blocked)
	return blockedPeople{all}, err
}

func (a *API) listBlocked(c *rest.Call) error {
	account, err := a.account(c)
	if err != nil {
		return err
	}
	all, err := account.Blocked(c.Request.Context())
	if err != nil {
		return err
	}
	return c.Response.JSON(http.StatusOK, blockedPeople{all})
}

type profilePictureRequest struct {
	rest.OneRecipient
	Preview bool `json:"preview" doc:"Whether to get the small picture." example:"false"`

	of string // the address, set by check
}

func (r *profilePictureRequest) check() error {
	who, err := r.Parse()
	r.of = who.JID()
	return err
}

type profilePictureAnswer struct {
	WUID string  `json:"wuid" doc:"The JID of the person or the group." example:"$jid"`
	URL  *string `json:"profilePictureUrl" doc:"The URL of the picture; null when the account can see none." example:"https://pps.whatsapp.net/v/t61/1.jpg"`
	ID   *string `json:"pictureId"`
}

func showPicture(c *rest.Call, account instance.Account, in *profilePictureRequest) (profilePictureAnswer, error) {
	p, err := account.Picture(c.Request.Context(), in.of, in.Preview)
	if err != nil || p == nil {
		return profilePictureAnswer{WUID: in.of}, err
	}
	return profilePictureAnswer{in.of, &p.URL, &p.ID}, nil
}

type rejectRequest struct {
	CallID   string `json:"callId" strict:"required" doc:"The id of the call, from call.upsert." example:"6F1C1A520D6B4C56" rules:"minLength=1"`
	CallFrom string `json:"callFrom" strict:"required" doc:"The caller, from call.upsert." example:"$jid"`
}

func (r *rejectRequest) check() error {
	if r.CallID == "" || len(r.CallID) > 128 {
		return rest.InvalidField("callId must be the id of a call.upsert event")
	}
	return readPerson("callFrom", &r.CallFrom)
}

func rejectCall(c *rest.Call, account instance.Account, in *rejectRequest) error {
	return account.RejectCall(c.Request.Context(), in.CallFrom, in.CallID)
}
