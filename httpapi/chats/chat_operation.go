package chats

import (
	"context"
	"fmt"
	"net/http"

	"postern/event"
	"postern/httpapi/rest"
	"postern/instance"
)

// account returns the connected session of the instance that a request is about.
func (a *API) account(c *rest.Call) (instance.Account, error) {
	return a.Supervisor.Account(c.Request.Context(), c.Instance.ID)
}

// tell answers with the result of ask on the connected session.
func tell[T any](a *API, c *rest.Call, ask func(instance.Account, context.Context) (T, error)) error {
	account, err := a.account(c)
	if err != nil {
		return err
	}
	out, err := ask(account, c.Request.Context())
	if err != nil {
		return err
	}
	return c.Response.JSON(http.StatusOK, out)
}

// chatOperation returns the handler of a route that takes a body of type B and answers with a T. It
// calls check before it looks up the connection.
func chatOperation[B, T any](a *API, check func(*B) error, do func(*rest.Call, instance.Account, *B) (T, error)) rest.Handler {
	return onAccount(a, check, func(c *rest.Call, account instance.Account, in *B) error {
		out, err := do(c, account, in)
		if err != nil {
			return err
		}
		return c.Response.JSON(http.StatusOK, out)
	})
}

// quietOperation is chatOperation for operations without a result: it answers 204.
func quietOperation[B any](a *API, check func(*B) error, do func(*rest.Call, instance.Account, *B) error) rest.Handler {
	return onAccount(a, check, func(c *rest.Call, account instance.Account, in *B) error {
		if err := do(c, account, in); err != nil {
			return err
		}
		return c.NoContent()
	})
}

// onAccount is the common part of both; do answers.
func onAccount[B any](a *API, check func(*B) error, do func(*rest.Call, instance.Account, *B) error) rest.Handler {
	return func(c *rest.Call) error {
		var in B
		if err := c.Decode(&in, rest.MaxBody); err != nil {
			return err
		}
		if err := check(&in); err != nil {
			return err
		}
		account, err := a.account(c)
		if err != nil {
			return err
		}
		return do(c, account, &in)
	}
}

// readChat replaces a chat by its address.
func readChat(name string, chat *string) error {
	r, err := event.ParseChat(*chat)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	*chat = r.JID()
	return nil
}

// readPerson replaces a person by its address.
func readPerson(name string, who *string) error {
	r, err := event.ParseRecipient(*who)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if r.IsGroup() {
		return fmt.Errorf("%s: %w: it must be a person", name, event.ErrRecipient)
	}
	*who = r.JID()
	return nil
}
