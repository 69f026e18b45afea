package chats

import (
	"net/http"

	"github.com/google/uuid"

	"postern/httpapi/rest"
	"postern/instance/erasure"
)

type erasureAnswer struct {
	ErasureID uuid.UUID `json:"erasureId" doc:"The erasure." example:"$uuid"`
}

type erasureView struct {
	Status erasure.State `json:"status" doc:"Whether it is still running." example:"done"`
	erasure.Removed
}

// erasePerson accepts the removal of what is stored about a person.
func (a *API) erasePerson(c *rest.Call) error {
	if err := c.NoBody(); err != nil {
		return err
	}
	person := c.Params.ByName("jid")
	if err := readPerson("the person", &person); err != nil {
		return err
	}
	id, err := a.Erasures.Accept(c.Request.Context(), c.Instance.ID, person)
	if err != nil {
		return err
	}
	return c.Response.JSON(http.StatusAccepted, erasureAnswer{id})
}

func (a *API) showErasure(c *rest.Call) error {
	id, err := uuid.Parse(c.Params.ByName("erasureId"))
	if err != nil {
		return erasure.ErrNotFound
	}
	state, removed, err := a.Erasures.Status(c.Instance.ID, id)
	if err != nil {
		return err
	}
	return c.Response.JSON(http.StatusOK, erasureView{state, removed})
}
