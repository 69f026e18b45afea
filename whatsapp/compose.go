package whatsapp

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"go.mau.fi/whatsmeow"
	"go.mau.fi/whatsmeow/proto/waCommon"
	"go.mau.fi/whatsmeow/proto/waE2E"
	"go.mau.fi/whatsmeow/types"
	"google.golang.org/protobuf/proto"

	"postern/event"
	"postern/internal/plural"
	"postern/whatsapp/translate"
)

// compose builds the WhatsApp message of validated content, except media, which is
// uploaded first: see Files.compose. own are the account's addresses; c knows them too,
// and makes the secret of a poll.
func compose(c *whatsmeow.Client, own translate.Account, content event.Content) (*waE2E.Message, error) {
	switch {
	case content.Text != nil:
		return &waE2E.Message{Conversation: new(content.Text.Text)}, nil
	case len(content.Contacts) == 1:
		return &waE2E.Message{ContactMessage: composeContact(content.Contacts[0])}, nil
	case len(content.Contacts) > 1:
		return composeContacts(content.Contacts), nil
	case content.Location != nil:
		return composeLocation(content.Location), nil
	case content.Poll != nil:
		p := content.Poll
		return c.BuildPollCreation(p.Name, p.Options, p.SelectableCount), nil
	case content.Status != nil:
		return composeStatus(content.Status)
	case content.Reaction != nil:
		chat, sender, err := place(own, content.Reaction.Key)
		return c.BuildReaction(chat, sender, content.Reaction.Key.ID, content.Reaction.Reaction), err
	case content.Delete != nil:
		chat, sender, err := place(own, *content.Delete)
		return c.BuildRevoke(chat, sender, content.Delete.ID), err
	case content.Edit != nil:
		return composeEdit(c, content.Edit)
	case content.Pin != nil:
		return composePin(own, content.Pin)
	case content.Keep != nil:
		return composeKeep(own, content.Keep)
	case content.Timer != nil:
		return &waE2E.Message{ProtocolMessage: &waE2E.ProtocolMessage{
			Type:                waE2E.ProtocolMessage_EPHEMERAL_SETTING.Enum(),
			EphemeralExpiration: &content.Timer.Seconds, EphemeralSettingTimestamp: &content.Timer.Set,
		}}, nil
	case content.Forward != nil:
		return composeForward(content.Forward)
	}
	return nil, errors.New("content of this kind cannot be sent")
}

// place returns the chat of a message and the address of its sender.
func place(own translate.Account, k event.MessageKey) (chat, sender types.JID, err error) {
	if chat, err = chatJID(k.RemoteJID); err != nil {
		return chat, sender, fmt.Errorf("key.remoteJid: %w", err)
	}
	switch {
	case k.FromMe:
		return chat, own.In(chat), nil
	case k.Participant != "":
		if sender, err = chatJID(k.Participant); err != nil {
			return chat, sender, fmt.Errorf("key.participant: %w", err)
		}
		return chat, sender, nil
	}
	return chat, chat, nil
}

// wireKey returns a key as messages about another message have it.
func wireKey(own translate.Account, k event.MessageKey) (*waCommon.MessageKey, error) {
	chat, sender, err := place(own, k)
	key := &waCommon.MessageKey{RemoteJID: new(chat.String()), FromMe: &k.FromMe, ID: &k.ID}
	if chat.Server == types.GroupServer {
		key.Participant = new(sender.String())
	}
	return key, err
}

func composePin(own translate.Account, p *event.PinContent) (*waE2E.Message, error) {
	key, err := wireKey(own, p.Key)
	m := &waE2E.Message{PinInChatMessage: &waE2E.PinInChatMessage{
		Key: key, Type: waE2E.PinInChatMessage_UNPIN_FOR_ALL.Enum(), SenderTimestampMS: new(time.Now().UnixMilli()),
	}}
	if p.Pinned {
		m.PinInChatMessage.Type = waE2E.PinInChatMessage_PIN_FOR_ALL.Enum()
		m.MessageContextInfo = &waE2E.MessageContextInfo{MessageAddOnDurationInSecs: &p.Seconds}
	}
	return m, err
}

func composeKeep(own translate.Account, k *event.KeepContent) (*waE2E.Message, error) {
	key, err := wireKey(own, k.Key)
	kind := waE2E.KeepType_UNDO_KEEP_FOR_ALL
	if k.Keep {
		kind = waE2E.KeepType_KEEP_FOR_ALL
	}
	return &waE2E.Message{KeepInChatMessage: &waE2E.KeepInChatMessage{Key: key, KeepType: &kind, TimestampMS: new(time.Now().UnixMilli())}}, err
}

// chatJID parses a phone number or a JID.
func chatJID(s string) (types.JID, error) {
	r, err := event.ParseChat(s)
	if err != nil {
		return types.JID{}, err
	}
	return types.NewJID(r.User, r.Server), nil
}

// composeLink puts the link into the text, which makes it a link.
func composeLink(l *event.LinkContent, preview event.MediaInfo) *waE2E.Message {
	m := &waE2E.ExtendedTextMessage{
		Text:        new(l.Link),
		MatchedText: new(l.Link),
		Title:       event.OrNull(l.Title),
		Description: event.OrNull(l.Description),
	}
	if len(preview.Thumbnail) > 0 {
		m.JPEGThumbnail = preview.Thumbnail
		m.ThumbnailWidth, m.ThumbnailHeight = uint32Of(preview.Width), uint32Of(preview.Height)
	}
	return &waE2E.Message{ExtendedTextMessage: m}
}

func composeLocation(l *event.LocationContent) *waE2E.Message {
	return &waE2E.Message{LocationMessage: &waE2E.LocationMessage{
		DegreesLatitude:  new(l.Latitude),
		DegreesLongitude: new(l.Longitude),
		Name:             event.OrNull(l.Name),
		Address:          event.OrNull(l.Address),
		URL:              event.OrNull(l.URL),
	}}
}

func composeContacts(all []event.ContactContent) *waE2E.Message {
	m := &waE2E.ContactsArrayMessage{DisplayName: new(plural.Of(len(all), "contact"))}
	for _, c := range all {
		m.Contacts = append(m.Contacts, composeContact(c))
	}
	return &waE2E.Message{ContactsArrayMessage: m}
}

func composeContact(c event.ContactContent) *waE2E.ContactMessage {
	card := c.VCard
	if card == "" {
		card = vCard(c)
	}
	return &waE2E.ContactMessage{DisplayName: new(c.FullName), Vcard: new(card)}
}

// vCard builds a card as in RFC 2426 that WhatsApp's clients understand: the parameter
// waid makes the number a WhatsApp contact.
func vCard(c event.ContactContent) string {
	number := c.WUID
	if number == "" {
		number = c.PhoneNumber
	}
	digits := ""
	if r, err := event.ParseRecipient(number); err == nil {
		digits = r.User
	}
	name := cardText(c.FullName)
	lines := []string{"BEGIN:VCARD", "VERSION:3.0", "N:;" + name + ";;;", "FN:" + name}
	if c.Organization != "" {
		lines = append(lines, "ORG:"+cardText(c.Organization)+";")
	}
	lines = append(lines, "TEL;type=CELL;type=VOICE;waid="+digits+":+"+digits, "END:VCARD")
	return strings.Join(lines, "\n")
}

// cardText escapes the special characters of a card.
func cardText(s string) string {
	return strings.NewReplacer(`\`, `\\`, ";", `\;`, ",", `\,`, "\r\n", `\n`, "\n", `\n`, "\r", `\n`).Replace(s)
}

func composeStatus(s *event.StatusContent) (*waE2E.Message, error) {
	background, err := s.Background()
	m := &waE2E.ExtendedTextMessage{
		Text: new(s.Text),
		Font: waE2E.ExtendedTextMessage_FontType(int32(s.Font)).Enum(),
	}
	if background != 0 {
		m.BackgroundArgb = new(background)
	}
	return &waE2E.Message{ExtendedTextMessage: m}, err
}

// composeEdit replaces the text of a message, or the caption of a file, whose other
// fields are repeated.
func composeEdit(c *whatsmeow.Client, e *event.EditContent) (*waE2E.Message, error) {
	chat, err := chatJID(e.Original.Key.RemoteJID)
	if err != nil {
		return nil, err
	}
	changed, err := translate.Rebuild(e.Original.MessageType, e.Original.Content)
	if err != nil {
		return nil, err
	}
	text := new(e.Text)
	switch {
	case changed.Conversation != nil:
		changed.Conversation = text
	case changed.ExtendedTextMessage != nil:
		changed.ExtendedTextMessage.Text = text
	case changed.ImageMessage != nil:
		changed.ImageMessage.Caption = text
	case changed.VideoMessage != nil:
		changed.VideoMessage.Caption = text
	case changed.DocumentMessage != nil:
		changed.DocumentMessage.Caption = text
	default:
		return nil, fmt.Errorf("a message of type %s has no text to edit", e.Original.MessageType)
	}
	return c.BuildEdit(chat, e.Original.Key.ID, changed), nil
}

// composeForward repeats a message for another chat, marked as forwarded.
func composeForward(o *event.Original) (*waE2E.Message, error) {
	m, err := translate.Rebuild(o.MessageType, o.Content)
	if err != nil {
		return nil, err
	}
	old := translate.ContextOf(m)
	score := old.GetForwardingScore() + 1
	proto.Reset(old) // its quote belongs to the original chat
	return translate.WithContext(m, &waE2E.ContextInfo{IsForwarded: new(true), ForwardingScore: new(score)})
}

// quoting returns the context of a reply to a message.
func quoting(own translate.Account, chat types.JID, o *event.Original) (*waE2E.ContextInfo, error) {
	_, sender, err := place(own, o.Key)
	if err != nil {
		return nil, err
	}
	quoted, err := translate.Rebuild(o.MessageType, o.Content)
	if err != nil {
		return nil, err
	}
	info := &waE2E.ContextInfo{
		StanzaID:      new(o.Key.ID),
		Participant:   new(sender.String()),
		QuotedMessage: quoted,
	}
	if quotedChat, err := chatJID(o.Key.RemoteJID); err == nil && quotedChat != chat {
		info.RemoteJID = new(quotedChat.String())
	}
	return info, nil
}

func uint32Of(n int) *uint32 {
	if n <= 0 {
		return nil
	}
	return new(uint32(n)) //nolint:gosec // pixels and seconds
}
