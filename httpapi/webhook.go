package httpapi

import (
	"net/http"
	"slices"
	"strconv"

	"postern/event"
	"postern/instance"
)

// webhookRequest is the body that sets an instance's webhook.
type webhookRequest struct {
	URL     *string          `json:"url"`
	Enabled *bool            `json:"enabled"`
	Events  *map[string]bool `json:"events"`
}

// flags checks the keys of events. nil means that the flags stay as they are.
func (in webhookRequest) flags() (map[event.Flag]bool, error) {
	if in.Events == nil {
		return nil, nil
	}
	flags := map[event.Flag]bool{}
	var unknown []string
	for key, on := range *in.Events {
		if !event.KnownFlag(event.Flag(key)) {
			unknown = append(unknown, "events."+key+" is not a known event flag; the nearest is "+strconv.Quote(nearestFlag(key)))
			continue
		}
		flags[event.Flag(key)] = on
	}
	if len(unknown) > 0 {
		slices.Sort(unknown)
		return nil, refuse(http.StatusBadRequest, codeUnknownField, unknown[:min(len(unknown), maxMessages)]...)
	}
	return flags, nil
}

// nearestFlag returns the known flag with the smallest edit distance to key.
func nearestFlag(key string) string {
	best, least := "", -1
	for _, d := range event.Catalogue() {
		if d.Flag == "" {
			continue
		}
		if n := distance(key, string(d.Flag)); least < 0 || n < least {
			best, least = string(d.Flag), n
		}
	}
	return best
}

// maxKey bounds the work of distance: no flag is near a longer key.
const maxKey = 64

// distance is the Levenshtein distance of the first maxKey bytes.
func distance(a, b string) int {
	a, b = a[:min(len(a), maxKey)], b[:min(len(b), maxKey)]
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost = 1 + min(diagonal, row[j], row[j+1])
			}
			diagonal, row[j+1] = row[j+1], cost
		}
	}
	return row[len(b)]
}

func (a *api) putWebhook(c *call) error {
	var in webhookRequest
	if err := c.decode(&in, maxBody); err != nil {
		return err
	}
	flags, err := in.flags()
	if err != nil {
		return err
	}
	w, err := a.Registry.PutWebhook(c.r.Context(), c.instance.ID, instance.WebhookChange{URL: in.URL, Enabled: in.Enabled, Events: flags})
	if err != nil {
		return err
	}
	return c.w.json(http.StatusOK, w)
}

func (a *api) showWebhook(c *call) error {
	w, err := a.Registry.Webhook(c.instance.ID)
	if err != nil {
		return err
	}
	return c.w.json(http.StatusOK, w)
}
