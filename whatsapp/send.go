package whatsapp

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"go.mau.fi/util/random"
	"go.mau.fi/whatsmeow"
	"go.mau.fi/whatsmeow/proto/waE2E"
	"go.mau.fi/whatsmeow/types"
	"google.golang.org/protobuf/proto"

	"postern/event"
	"postern/internal/netfault"
	"postern/whatsapp/translate"
)

// sender sends the messages of a session, one at a time.
type sender struct {
	conn  *connection
	files *Files

	facts *reporter

	groups  groupsMet
	turns   turns
	leaving atomic.Pointer[departing] // of the message whose turn it is
}

// send implements Session.Send.
func (s *sender) send(ctx context.Context, out event.Outgoing) (event.Sent, error) {
	cli, own := s.conn.client(), s.conn.self()
	if !s.conn.isOnline() {
		return event.Sent{}, event.ErrNotConnected
	}
	to, err := chatJID(out.To)
	if err != nil || out.ID == "" {
		return event.Sent{}, fmt.Errorf("%w: message %q to %q has no valid id or address", event.ErrSendRefused, out.ID, out.To)
	}
	ready, err := s.prepare(ctx, cli, to, out)
	if err != nil {
		return event.Sent{}, certain(err)
	}
	if err := s.showPresence(ctx, cli, to, out); err != nil {
		return event.Sent{}, certain(err)
	}
	if !out.Series.Held() {
		if err := s.takeTurn(ctx, out.By); err != nil {
			return event.Sent{}, certain(err)
		}
		if out.Series != nil {
			out.Series.Keep(s.turns.pass)
		} else {
			defer s.turns.pass()
		}
	}
	if out.Turn != nil {
		if err := out.Turn(ctx); err != nil {
			return event.Sent{}, certain(err)
		}
	}
	now := s.conn.client() // a new one after a reconnect
	if !s.conn.isOnline() {
		return event.Sent{}, event.ErrNotConnected
	}
	if s.conn.self().JID.ToNonAD() != own.JID.ToNonAD() {
		return event.Sent{}, fmt.Errorf("%w: another account was paired while the message waited", event.ErrNotConnected)
	}
	ctx, err = s.toAudience(ctx, now, out)
	if err != nil {
		return event.Sent{}, certain(err)
	}
	if ready.message, err = withTimer(ready.message, out); err != nil {
		return event.Sent{}, certain(err)
	}
	resp, err := s.transmit(ctx, now, to, ready, out)
	if err != nil {
		return event.Sent{}, fmt.Errorf("send %s: %w", out.ID, classify(resp, err))
	}
	if ready.message == nil {
		return event.Sent{}, nil
	}
	sent := s.sentMessage(cli, to, ready.message, resp)
	if v := out.Content.Vote; v != nil {
		sent.Metadata = voteMetadata(v)
	}
	return event.Sent{Message: sent, Participants: ready.mentioned}, nil
}

// prepared is a message that only needs its turn.
type prepared struct {
	message   *waE2E.Message // nil: a reaction in a newsletter, which is a stanza of its own
	handle    string         // of the file of a post in a newsletter
	mentioned int            // number of participants
}

// prepare builds the message of an order. Its file is uploaded then.
func (s *sender) prepare(ctx context.Context, cli *whatsmeow.Client, to types.JID, out event.Outgoing) (ready prepared, err error) {
	if to.Server == types.NewsletterServer {
		ready, err = s.preparePost(ctx, cli, to, out)
	} else {
		ready.message, ready.mentioned, err = s.prepareMessage(ctx, cli, to, out)
	}
	if err == nil && ready.message != nil {
		err = checkSize(ready.message)
	}
	return ready, err
}

// takeTurn waits until it is this send's turn.
func (s *sender) takeTurn(ctx context.Context, by event.Sender) error {
	if s.turns.free(by) { // the usual case needs no timer
		return nil
	}
	bound := s.conn.cfg.TurnTimeout
	ctx, cancel := context.WithTimeoutCause(ctx, bound, fmt.Errorf("%w: no turn came within %v", event.ErrBusy, bound))
	defer cancel()
	return s.turns.take(ctx, by)
}

// hold implements Session.Hold.
func (s *sender) hold(ctx context.Context) (resume func(), err error) {
	if err := s.takeTurn(ctx, event.ByCall); err != nil {
		return nil, err
	}
	return s.turns.pass, nil
}

// transmit passes a message to the library and waits for WhatsApp's acknowledgement.
// The library also sends messages of its own: the timeout starts, and Leaving is
// called, when it has reached this one.
func (s *sender) transmit(ctx context.Context, cli *whatsmeow.Client, to types.JID, ready prepared, out event.Outgoing) (resp whatsmeow.SendResponse, err error) {
	extra := whatsmeow.SendRequestExtra{ID: out.ID, Timeout: s.conn.cfg.SendTimeout, MediaHandle: ready.handle}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	clock := time.AfterFunc(s.conn.cfg.SendTimeout, func() { cancel(context.DeadlineExceeded) })
	defer clock.Stop()
	leaving := func() error {
		if !clock.Stop() {
			return fmt.Errorf("%w: the message was not reached in time", event.ErrBusy)
		}
		if err := context.Cause(ctx); err != nil {
			return err
		}
		if out.Leaving != nil {
			if err := out.Leaving(); err != nil {
				return err
			}
		}
		clock.Reset(s.conn.cfg.SendTimeout)
		return nil
	}
	life := s.watchDeparture(out)
	err = s.conn.cfg.Devices.Sending(ctx, leaving, func(ctx context.Context) (err error) {
		if ready.message == nil {
			resp, err = reactToPost(ctx, cli, to, out)
		} else {
			resp, err = cli.SendMessage(ctx, to, ready.message, extra)
		}
		return err
	})
	s.departed(life, out)
	return resp, err
}

// certain wraps an error from before the send in its sentinel.
func certain(err error) error {
	switch {
	case errors.Is(err, event.ErrNotConnected), errors.Is(err, event.ErrSendRefused), errors.Is(err, event.ErrBusy), errors.Is(err, event.ErrNotAMember), errors.Is(err, event.ErrNotChannelAdmin), errors.Is(err, event.ErrPollNotReadable), errors.Is(err, event.ErrAudience):
		return err
	case lostConnection(err):
		return fmt.Errorf("%w: %w", event.ErrNotConnected, netfault.Plain(err))
	}
	return fmt.Errorf("%w: %w", event.ErrSendRefused, netfault.Plain(err))
}

// maxMessage is the greatest size of an encoded message, in bytes. The frame contains a
// copy for each of the recipient's devices, and WhatsApp drops the connection over a
// frame that is too large, and everything else under way. The longest allowed text with
// a quote fits.
const maxMessage = 600 << 10

func checkSize(m *waE2E.Message) error {
	if size := proto.Size(m); size > maxMessage {
		return fmt.Errorf("%w: the message has %d bytes, the limit is %d; shorten it, or send a document", event.ErrSendRefused, size, maxMessage)
	}
	return nil
}

// prepareMessage builds the message of an order, uploading its file if it has one, and
// returns how many participants it mentions.
func (s *sender) prepareMessage(ctx context.Context, cli *whatsmeow.Client, to types.JID, out event.Outgoing) (*waE2E.Message, int, error) {
	own := s.conn.self()
	m, err := s.composeAny(ctx, cli, own, out.Content)
	if err == nil && out.LinkPreview {
		m, err = s.withPreview(ctx, m, out)
	}
	if err != nil {
		return nil, 0, err
	}
	addSecret(m, out.Content)
	if out.Album != "" {
		if err := associate(m, own, out); err != nil {
			return nil, 0, err
		}
	}
	if out.Quoted == nil && !out.MentionAll && len(out.Mentions) == 0 {
		return m, 0, nil
	}
	info := &waE2E.ContextInfo{}
	if out.Quoted != nil {
		if info, err = quoting(own, to, out.Quoted); err != nil {
			return nil, 0, fmt.Errorf("the quoted message: %w", err)
		}
	}
	if out.MentionAll {
		if info.MentionedJID, err = s.everyone(ctx, cli, to); err != nil {
			return nil, 0, err
		}
	}
	if len(out.Mentions) > 0 {
		if info.MentionedJID, err = s.mention(ctx, cli, to, out.Mentions, m); err != nil {
			return nil, 0, err
		}
	}
	m, err = translate.WithContext(m, info)
	return m, len(info.GetMentionedJID()), err
}

// withTimer returns a message with the disappearing timer of its chat, without which the recipient's phone
// says that it does not disappear. Reactions, deletions and statuses have none, and an edit repeats that of
// the original. The timer is that of the moment: much time may have passed since the message was prepared.
func withTimer(m *waE2E.Message, out event.Outgoing) (*waE2E.Message, error) {
	c := out.Content
	if out.Timer == nil || !c.Plain() || c.Status != nil {
		return m, nil
	}
	t, err := out.Timer()
	if err != nil || t == nil {
		return m, err
	}
	info := &waE2E.ContextInfo{Expiration: &t.Seconds}
	if t.Set > 0 {
		info.EphemeralSettingTimestamp = &t.Set
	}
	return translate.WithContext(m, info)
}

// addSecret gives a message a secret of its own, which the library keeps. Members of a community cannot react
// to an announcement without it, and changes of the message that its phone encrypts cannot be read.
func addSecret(m *waE2E.Message, c event.Content) {
	if !c.Plain() {
		return
	}
	if m.MessageContextInfo == nil {
		m.MessageContextInfo = &waE2E.MessageContextInfo{}
	}
	if len(m.MessageContextInfo.MessageSecret) == 0 { // a poll has one
		m.MessageContextInfo.MessageSecret = random.Bytes(secretSize)
	}
}

// secretSize is the size of a message's secret, in bytes.
const secretSize = 32

func (s *sender) composeAny(ctx context.Context, cli *whatsmeow.Client, own translate.Account, c event.Content) (*waE2E.Message, error) {
	switch {
	case c.Media != nil:
		return s.files.compose(ctx, c.Media)
	case c.Album != nil:
		return s.files.composeAlbum(ctx, c.Album)
	case c.Vote != nil:
		return composeVote(ctx, cli, own, c.Vote)
	case c.Link != nil:
		var preview event.MediaInfo
		if c.Link.ThumbnailURL != "" && s.conn.cfg.Media != nil {
			var err error
			if preview, err = s.conn.cfg.Media.Preview(ctx, s.conn.instance, c.Link.ThumbnailURL); err != nil {
				return nil, fmt.Errorf("thumbnailUrl: %w", err)
			}
		}
		return composeLink(c.Link, preview), nil
	}
	return compose(cli, own, c)
}

// everyone returns the address of each participant of a group.
func (s *sender) everyone(ctx context.Context, cli *whatsmeow.Client, group types.JID) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, s.conn.cfg.SendTimeout)
	defer cancel()
	info, err := cli.GetGroupInfo(ctx, group)
	if err != nil {
		return nil, fmt.Errorf("the participants of %s: %w", group, err)
	}
	s.facts.learn(translate.GroupTimer(info))
	all := make([]string, 0, len(info.Participants))
	for _, p := range info.Participants {
		all = append(all, p.JID.ToNonAD().String())
	}
	return all, nil
}

// showPresence shows the presence of an order, in the chat or for the account, and
// waits for its delay. On the recipient's screen the message ends a presence in the
// chat. If the presence fails, the message is sent all the same.
func (s *sender) showPresence(ctx context.Context, cli *whatsmeow.Client, to types.JID, out event.Outgoing) error {
	if err := s.sendPresence(ctx, cli, to, out.Presence); err != nil {
		s.conn.log.Info("presence not shown; sending the message", "presence", string(out.Presence), "error", err)
		if out.Warn != nil {
			out.Warn(presenceProblem(out.Presence, err))
		}
	}
	if out.Delay <= 0 {
		return nil
	}
	wait := time.NewTimer(out.Delay)
	defer wait.Stop()
	select {
	case <-wait.C:
		if out.Pause {
			_ = s.sendPresence(ctx, cli, to, event.PresencePaused) // the message ends it in any case
		}
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (s *sender) sendPresence(ctx context.Context, cli *whatsmeow.Client, to types.JID, p event.Presence) error {
	switch {
	case p.OfAccount():
		return cli.SendPresence(ctx, types.Presence(p))
	case p != "" && to.Server != types.BroadcastServer && to.Server != types.NewsletterServer:
		return sendChatPresence(ctx, cli, to, p)
	}
	return nil
}

// presenceProblem is the warning that a presence was not shown.
func presenceProblem(p event.Presence, err error) string {
	why := netfault.Plain(err).Error()
	if errors.Is(err, whatsmeow.ErrNoPushName) {
		why = "the account's own name is not known yet"
	}
	return fmt.Sprintf("options.presence %s was not sent: %s", p, why)
}

func sendChatPresence(ctx context.Context, cli *whatsmeow.Client, to types.JID, p event.Presence) error {
	state, media := types.ChatPresenceComposing, types.ChatPresenceMediaText
	switch p {
	case event.PresenceRecording:
		media = types.ChatPresenceMediaAudio
	case event.PresencePaused:
		state = types.ChatPresencePaused
	case event.PresenceComposing, event.PresenceAvailable, event.PresenceUnavailable, event.PresenceAuto:
	}
	if err := cli.SendChatPresence(ctx, to, state, media); err != nil {
		return fmt.Errorf("show %s: %w", p, err)
	}
	return nil
}

// sentFrom is the device of messages sent by the API, whatever the form of their ids.
const sentFrom = "web"

func (s *sender) sentMessage(cli *whatsmeow.Client, to types.JID, message *waE2E.Message, resp whatsmeow.SendResponse) *event.Message {
	kind, content, metadata := translate.Sent(message, resp.ServerID)
	m := &event.Message{
		KeyID:            resp.ID,
		KeyFromMe:        true,
		Device:           new(sentFrom),
		MessageType:      kind,
		Content:          content,
		Metadata:         metadata,
		MessageTimestamp: resp.Timestamp.Unix(),
		IsGroup:          to.Server == types.GroupServer,
	}
	book := translate.AddressBook(cli.Store)
	switch to.Server {
	case types.NewsletterServer:
		m.KeyRemoteJID = new(to.String())
	case types.GroupServer, types.BroadcastServer:
		own := s.conn.self()
		m.KeyRemoteJID = new(to.String())
		m.KeyParticipant, m.KeyParticipantLID = translate.PhoneAndLID(own.JID, own.LID, book)
	default:
		m.KeyRemoteJID, m.KeyLID = translate.PhoneAndLID(to, types.EmptyJID, book)
	}
	return m
}
