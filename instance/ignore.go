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
	ignoreRules // number of rules
)

// String returns the name used in the settings.
func (r ignoreRule) String() string {
	return [...]string{"", "groups", "status", "newsletters", "broadcasts", "jids"}[r]
}

// ignoreCounts are counters by rule.
type ignoreCounts [ignoreRules]atomic.Uint64

// Ignored returns the number of ignored messages and other facts since the start, over
// all instances, by the field of Ignore.
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

// ignores reports whether a fact is about an ignored chat, and counts it if so.
func (r *Registry) ignores(id int64, f event.Fact) bool {
	rule := r.ruleOf(id, f)
	r.ignored.count(rule)
	return rule != notIgnored
}

// Ignores reports whether an instance ignores a chat.
func (r *Registry) Ignores(instance int64, chat string) bool {
	e := r.entry(instance)
	return e != nil && r.ruleFor(&e.wishes().Ignore, event.ChatDelete{ChatJID: chat}) != notIgnored
}

// ruleOf returns the rule by which the instance ignores a fact, if any. Messages sent by
// the API, and their updates, are never ignored.
func (r *Registry) ruleOf(id int64, f event.Fact) ignoreRule {
	e := r.entry(id)
	if e == nil || f.Kind == event.SendMessage {
		return notIgnored
	}
	return r.ruleFor(&e.wishes().Ignore, f.Data)
}

// ruleFor returns the rule that ignores the chat of a payload, if any.
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

// listed reports whether the sorted list contains one of the names, or the other address
// of the same person.
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

// chatsOf returns the addresses of the chat of a payload: one or both of a person's. It
// is empty for payloads without a chat, and for receipts, which matter only for stored
// messages.
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
