package instance

import (
	"slices"
	"strings"
	"sync/atomic"

	"postern/event"
)

// ignoreRule is a field of Ignore.
type ignoreRule int

const (
	notIgnored ignoreRule = iota
	ignoredGroup
	ignoredStatus
	ignoredNewsletter
	ignoredBroadcast
	ignoredJID
	ignoreRules // how many there are
)

// names as in the settings.
func (r ignoreRule) String() string {
	return [...]string{"", "groups", "status", "newsletters", "broadcasts", "jids"}[r]
}

// ignoreCounts counts by rule.
type ignoreCounts [ignoreRules]atomic.Uint64

// Ignored tells how much was ignored since the start: messages and other news
// of all instances, by the field of Ignore that said so.
func (r *Registry) Ignored() map[string]uint64 {
	counts := map[string]uint64{}
	for rule := ignoredGroup; rule < ignoreRules; rule++ {
		counts[rule.String()] = r.ignored[rule].Load()
	}
	return counts
}

func (c *ignoreCounts) count(rule ignoreRule) {
	if rule != notIgnored {
		c[rule].Add(1)
	}
}

// ignores tells whether a fact is about a chat that the instance ignores, and
// counts it then.
func (r *Registry) ignores(id int64, f event.Fact) bool {
	rule := r.ruleOf(id, f)
	r.ignored.count(rule)
	return rule != notIgnored
}

// ruleOf is the rule by which the instance ignores a fact, if any. What the API
// itself sends is never ignored, nor is what becomes of it.
func (r *Registry) ruleOf(id int64, f event.Fact) ignoreRule {
	e := r.entry(id)
	if e == nil || f.Kind == event.SendMessage {
		return notIgnored
	}
	return r.ruleFor(&e.wishes().Ignore, f.Data)
}

// ruleFor is the rule that makes the chat of a payload ignored, if any.
func (r *Registry) ruleFor(i *Ignore, data any) ignoreRule {
	if !i.Groups && !i.Status && !i.Newsletters && !i.Broadcasts && len(i.JIDs) == 0 {
		return notIgnored
	}
	names := chatsOf(data)
	for _, name := range names {
		_, server, _ := strings.Cut(name, "@")
		switch {
		case name == event.StatusBroadcast && i.Status:
			return ignoredStatus
		case server == event.GroupServer && i.Groups:
			return ignoredGroup
		case server == event.NewsletterServer && i.Newsletters:
			return ignoredNewsletter
		case server == event.BroadcastServer && name != event.StatusBroadcast && i.Broadcasts:
			return ignoredBroadcast
		}
	}
	if i.Broadcasts && event.AboutOf(data).Broadcast {
		return ignoredBroadcast
	}
	if r.listed(i.JIDs, names) {
		return ignoredJID
	}
	return notIgnored
}

// listed tells whether one of the names, or the other address of the person who
// has it, is in the sorted list.
func (r *Registry) listed(list, names []string) bool {
	if len(list) == 0 {
		return false
	}
	for _, name := range names {
		if _, found := slices.BinarySearch(list, name); found {
			return true
		}
		if r.cfg.Twin == nil {
			continue
		}
		if twin := r.cfg.Twin(name); twin != "" {
			if _, found := slices.BinarySearch(list, twin); found {
				return true
			}
		}
	}
	return false
}

// chatsOf are the addresses of the chat that a payload is about: of a person's,
// one or both. It is empty for what is about no chat. A receipt is left out: it
// is about a message that is stored, or nothing becomes of it.
func chatsOf(data any) []string {
	switch d := data.(type) {
	case []event.GroupUpdate:
		return eachOf(d, func(g event.GroupUpdate) string { return g.Partial.ID })
	case []event.GroupUpsert:
		return eachOf(d, func(g event.GroupUpsert) string { return g.ID })
	case event.Receipt:
		return nil
	}
	about := event.AboutOf(data)
	switch {
	case about.Chat == "":
		return nil
	case about.LID == "" || about.LID == about.Chat:
		return []string{about.Chat}
	}
	return []string{about.Chat, about.LID}
}

func eachOf[T any](all []T, id func(T) string) []string {
	ids := make([]string, len(all))
	for i := range all {
		ids[i] = id(all[i])
	}
	return ids
}

func texts(all ...*string) (set []string) {
	for _, s := range all {
		if s != nil {
			set = append(set, *s)
		}
	}
	return set
}
