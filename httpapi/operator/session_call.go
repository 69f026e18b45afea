package operator

import (
	"slices"

	"postern/access"
	"postern/httpapi/rest"
)

// callsPerMinute is how many agent calls a key may record in any minute: as many as a server of agents
// accepts from it. callsAtOnce allows for two such minutes and the calls in progress, because some are
// recorded late and a key may use two servers.
const (
	callsPerMinute = 120
	callsAtOnce    = 256
)

// agentCall is a call of an agent program, as `postern mcp` reports it.
type agentCall struct {
	Tool     string `json:"tool" strict:"required"`
	Outcome  string `json:"outcome" strict:"required" doc:"How it ended." example:"done" rules:"enum=done|refused|failed"`
	Instance string `json:"instance" doc:"The instance of the call; recorded only if the key is for that instance." example:"$name" rules:"maxLength=255"`
}

// noteCall records a call in the audit log. The program itself sees only the requests that the call
// causes: an agent server beside it makes several for each call.
func (a *API) noteCall(c *rest.Call) error {
	var in agentCall
	if err := c.Decode(&in, rest.MaxBody); err != nil {
		return err
	}
	outcomes := []string{"done", "refused", "failed"}
	switch {
	case c.Key == nil:
		return rest.MissingScope("this is for scoped keys: changes by the GlobalApiKey are recorded anyway")
	case !slices.Contains(a.AgentTools, in.Tool):
		return rest.InvalidField("tool must be one of: " + rest.Joined(a.AgentTools))
	case !slices.Contains(outcomes, in.Outcome):
		return rest.InvalidField("outcome must be one of: " + rest.Joined(outcomes))
	case len(in.Instance) > 255:
		return rest.InvalidField("instance must have at most 255 characters")
	}
	if wait := a.Access.Keys.TakeCall(c.Key, callsPerMinute, callsAtOnce); wait > 0 {
		return rest.TryLater(wait, rest.CodeRateLimited, "the key has reached its limit of recorded calls per minute")
	}
	if err := a.Store.Admit(); err != nil {
		return err
	}
	if rec, err := a.Registry.ByName(in.Instance); err != nil || !c.Key.Opens(rec.ID) {
		in.Instance = "" // the log has names of what the key is for, and of nothing else
	}
	if err := a.Access.Book.Note(c.Key.ID.String(), access.CallAction(in.Tool, in.Outcome), in.Instance, c.Address()).Keep(c.Request.Context()); err != nil {
		return err
	}
	return c.NoContent()
}
