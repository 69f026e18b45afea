package sends

import (
	"errors"
	"fmt"
	"net/http"
	"slices"

	"postern/event"
	"postern/httpapi/ref"
	"postern/httpapi/rest"
	"postern/messages"
)

type pollVoteRequest struct {
	MessageID ref.Message `json:"messageId" strict:"required"`
	Options   []string    `json:"options" strict:"required"`
}

// findPoll returns a stored poll of a chat that the key may write to.
func (a *API) findPoll(c *rest.Call, named ref.Message) (event.Message, event.Poll, error) {
	m, err := ref.FindToWrite(c, a.Messages, named)
	if errors.Is(err, messages.ErrNoMessage) {
		return m, event.Poll{}, messages.ErrNoPoll
	}
	if err != nil {
		return m, event.Poll{}, err
	}
	p, err := messages.PollOf(&m)
	return m, p, err
}

// votePoll votes in a stored poll; no options take the vote back.
func (a *API) votePoll(c *rest.Call) error {
	var in pollVoteRequest
	if err := c.Decode(&in, rest.MaxBody); err != nil {
		return err
	}
	if len(in.Options) > event.MaxPollOptions {
		return fmt.Errorf("%w: options has more entries than a poll can have: %d", event.ErrContent, event.MaxPollOptions)
	}
	m, p, err := a.findPoll(c, in.MessageID)
	if err != nil {
		return err
	}
	if err := checkVote(p, in.Options); err != nil {
		return err
	}
	key := ref.Original(m).Key
	return a.sendAbout(c, http.StatusOK, key.RemoteJID, event.Content{Vote: &event.VoteContent{Poll: key, Options: in.Options}}, nil)
}

func checkVote(p event.Poll, options []string) error {
	for i, o := range options {
		if !slices.Contains(p.Options, o) {
			return fmt.Errorf("%w: options[%d] %.100q is no option of the poll", event.ErrContent, i, o)
		}
		if slices.Contains(options[:i], o) {
			return fmt.Errorf("%w: options[%d] %.100q is given twice", event.ErrContent, i, o)
		}
	}
	if most := p.SelectableCount; most > 0 && len(options) > most {
		return fmt.Errorf("%w: options has more entries than the %d that one person can choose", event.ErrContent, most)
	}
	return nil
}

// showPoll answers with a stored poll and its votes.
func (a *API) showPoll(c *rest.Call) error {
	q, err := c.Query([]string{"messageId"})
	if err != nil {
		return err
	}
	if q.Get("messageId") == "" {
		return rest.InvalidQuery("messageId is required: the id of a stored message, or its key id")
	}
	m, err := ref.FindByText(a.Messages, c.Instance.ID, q.Get("messageId"))
	if errors.Is(err, messages.ErrNoMessage) {
		err = messages.ErrNoPoll
	}
	if err != nil {
		return err
	}
	tally, err := a.Messages.Tally(c.Instance.ID, m, a.Supervisor.Owner(c.Instance.ID))
	if err != nil {
		return err
	}
	return c.Response.JSON(http.StatusOK, tally)
}
