package network

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	waBinary "go.mau.fi/whatsmeow/binary"
	"go.mau.fi/whatsmeow/types"

	"postern/sandbox/network/wire"
)

// newsletterIQ answers requests about channels.
func newsletterIQ(key iqKey) (iqHandler, bool) {
	switch key {
	case iqKey{"w:mex", "get", "query"}:
		return mexQuery, true
	case iqKey{"newsletter", "set", "live_updates"}:
		return liveUpdates, true
	case iqKey{"newsletter", "get", "messages"}:
		return listPosts, true
	default:
		return nil, false
	}
}

// mexVariables are the variables of the implemented queries.
type mexVariables struct {
	Newsletter string `json:"newsletter_id"`
	Viewer     bool   `json:"fetch_viewer_metadata"`
	Input      struct {
		Key  string                  `json:"key"`
		Type types.NewsletterKeyType `json:"type"`
		Text *string                 `json:"text"`
	} `json:"input"`
	New struct {
		Name        string `json:"name"`
		Description string `json:"description"`
	} `json:"newsletter_input"`
}

// mexQuery answers a query in JSON. Clients identify queries only by numbers; unknown
// numbers are refused.
func mexQuery(s *Server, _ *conn, d *device, n *waBinary.Node) (waBinary.Node, error) {
	query := wire.FirstChild(n)
	var asked struct {
		Variables mexVariables `json:"variables"`
	}
	if err := json.Unmarshal(wire.Content(query), &asked); err != nil {
		return waBinary.Node{}, errIQ{400, "bad-request"}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	data, err := s.mexAnswer(d, wire.Attr(&query, "query_id"), asked.Variables)
	if err != nil {
		return waBinary.Node{}, err
	}
	raw, err := json.Marshal(map[string]any{"data": data})
	if err != nil {
		return waBinary.Node{}, fmt.Errorf("encode the answer of a query: %w", err)
	}
	return waBinary.Node{Tag: "result", Content: raw}, nil
}

// mexAnswer returns the data of an answer, each under the name that clients expect. The
// caller holds s.mu.
func (s *Server) mexAnswer(d *device, id string, v mexVariables) (map[string]any, error) {
	a := d.account
	switch id {
	case "6563316087068696": // a channel
		jid, err := v.asked()
		if err != nil {
			return nil, err
		}
		return map[string]any{"xwa2_newsletter": s.channelData(a, jid, v.Viewer)}, nil
	case "6388546374527196": // the channels that the account follows
		list := []map[string]any{}
		for _, jid := range a.followed() {
			list = append(list, s.channelData(a, jid, true))
		}
		return map[string]any{"xwa2_newsletter_subscribed": list}, nil
	case "6234210096708695": // a new channel
		if v.New.Name == "" {
			return nil, errIQ{400, "bad-request"}
		}
		jid := ChannelAddress(a.pn.User + " " + v.New.Name)
		s.follow(a, d, jid, channel{Name: v.New.Name, Description: v.New.Description, Owned: true})
		return map[string]any{"xwa2_newsletter_create": s.channelData(a, jid, true)}, nil
	case "9152604461510864": // the about text
		if v.Input.Text == nil {
			return nil, errIQ{400, "bad-request"}
		}
		s.changeAbout(a, d, *v.Input.Text)
		return map[string]any{}, nil
	default:
		return s.changeChannel(d, id, v)
	}
}

// changeChannel handles a client's change of one channel, whose answer clients ignore.
func (s *Server) changeChannel(d *device, id string, v mexVariables) (map[string]any, error) {
	var change func(jid types.JID)
	switch a := d.account; id {
	case "9926858900719341":
		change = func(jid types.JID) {
			c, _ := s.channelFor(a, jid)
			s.follow(a, d, jid, c)
		}
	case "6392786840836363":
		change = func(jid types.JID) { s.unfollow(a, d, jid) }
	case "6274038279359549":
		change = func(jid types.JID) { s.muteChannel(a, d, jid, true) }
	case "6068417879924485":
		change = func(jid types.JID) { s.muteChannel(a, d, jid, false) }
	default:
		return nil, errUnknownIQ
	}
	jid, ok := ParseChannel(v.Newsletter)
	if !ok {
		return nil, errIQ{400, "bad-request"}
	}
	change(jid)
	return map[string]any{"xwa2_newsletter_update": s.channelData(d.account, jid, false)}, nil
}

// asked returns the channel that a query names by its address or its invite.
func (v mexVariables) asked() (types.JID, error) {
	key := v.Input.Key
	if v.Input.Type == types.NewsletterKeyTypeInvite {
		user, ok := strings.CutPrefix(key, invitePrefix)
		if !ok {
			return types.EmptyJID, errIQ{404, "item-not-found"}
		}
		key = types.NewJID(user, types.NewsletterServer).String()
	}
	jid, ok := ParseChannel(key)
	if !ok {
		return types.EmptyJID, errIQ{400, "bad-request"}
	}
	return jid, nil
}

// liveUpdates accepts a subscription to a channel's changes. The acts send them to
// their recipients, subscribed or not.
func liveUpdates(*Server, *conn, *device, *waBinary.Node) (waBinary.Node, error) {
	return waBinary.Node{Tag: "live_updates", Attrs: waBinary.Attrs{"duration": 300}}, nil
}

// listPosts answers with the newest posts of a channel, or those before one, with their counts. Anybody may
// ask.
func listPosts(s *Server, _ *conn, _ *device, n *waBinary.Node) (waBinary.Node, error) {
	query := wire.FirstChild(n)
	channel, attrs := wire.JID(&query, "jid"), query.AttrGetter()
	count, before := attrs.OptionalInt("count"), attrs.OptionalInt("before")
	if !attrs.OK() || channel.Server != types.NewsletterServer || wire.Attr(&query, "type") != "jid" || count < 0 || before < 0 {
		return waBinary.Node{}, errIQ{400, "bad-request"}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []waBinary.Node
	for _, p := range s.posts.List(channel.User, before, count) {
		all = append(all, p.Entry())
	}
	return waBinary.Node{Tag: "messages", Attrs: waBinary.Attrs{"jid": channel, "t": time.Now().Unix()}, Content: all}, nil
}
