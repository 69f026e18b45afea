package event

import (
	"encoding/json"
	"fmt"
	"math"
	"net/url"
	"strings"
	"unicode/utf8"
)

// Limits of what a message may hold. WhatsApp's clients have the same or
// narrower ones.
const (
	MaxText        = 65536 // characters of a text, a caption or a description
	MaxURL         = 2048
	MaxName        = 255 // characters of a name, a title or a question
	MaxContacts    = 100 // contacts in one message
	MinPollOptions = 2
	MaxPollOptions = 12
	MaxPollOption  = 100     // characters of an answer
	MaxVCard       = 1 << 16 // bytes
	MaxReaction    = 32      // bytes: one emoji with all its modifiers
	MaxStatusFont  = 10
)

// TextContent is a plain text.
type TextContent struct {
	Text string `json:"text" strict:"required"`
}

// Content implements [Payload].
func (t *TextContent) Content() (Content, error) {
	return Content{Text: t}, checkText("text", t.Text, 1, MaxText)
}

// LinkContent is a link with its preview.
type LinkContent struct {
	Link         string `json:"link" strict:"required"`
	Title        string `json:"title"`
	Description  string `json:"description"`
	ThumbnailURL string `json:"thumbnailUrl"` // an image
}

// Content implements [Payload].
func (l *LinkContent) Content() (Content, error) {
	return Content{Link: l}, firstError(
		checkURL("link", l.Link),
		checkText("title", l.Title, 0, MaxName),
		checkText("description", l.Description, 0, MaxText),
		optional(l.ThumbnailURL, checkURL("thumbnailUrl", l.ThumbnailURL)),
	)
}

// ContactContent is one contact. VCard goes out as it is; else a card is made
// of the other fields.
type ContactContent struct {
	FullName     string `json:"fullName" strict:"required"`
	PhoneNumber  string `json:"phoneNumber" doc:"Its number with country code. One of phoneNumber, wuid and vcard is needed." example:"4915187654321"`
	WUID         string `json:"wuid" doc:"Its JID, where it differs from the number's." example:"4915187654321@s.whatsapp.net"`
	VCard        string `json:"vcard" doc:"A complete vCard, sent unchanged; at most 65536 bytes." example:"BEGIN:VCARD\nVERSION:3.0\nFN:Ada Lovelace\nEND:VCARD"`
	Organization string `json:"organization"`
}

// Content implements [Payload].
func (c *ContactContent) Content() (Content, error) {
	return Content{Contacts: []ContactContent{*c}}, c.check("")
}

// ContactsContent is several contacts in one message of a batch.
type ContactsContent struct {
	Contacts []ContactContent `json:"contacts" strict:"required" doc:"The contacts of one message."`
}

// Content implements [Payload].
func (c *ContactsContent) Content() (Content, error) { return Contacts("contacts", c.Contacts) }

// Contacts is the content of a message with several contacts, which stand under
// the given name.
func Contacts(name string, all []ContactContent) (Content, error) {
	if n := len(all); n < 1 || n > MaxContacts {
		return Content{}, fmt.Errorf("%w: %s must have 1 to %d contacts", ErrContent, name, MaxContacts)
	}
	for i, c := range all {
		if err := c.check(fmt.Sprintf("%s[%d].", name, i)); err != nil {
			return Content{}, err
		}
	}
	return Content{Contacts: all}, nil
}

func (c *ContactContent) check(prefix string) error {
	if c.PhoneNumber == "" && c.WUID == "" && c.VCard == "" {
		return fmt.Errorf("%w: %sphoneNumber, wuid or vcard must be given", ErrContent, prefix)
	}
	if len(c.VCard) > MaxVCard {
		return fmt.Errorf("%w: %svcard has %d bytes, at most %d are allowed", ErrContent, prefix, len(c.VCard), MaxVCard)
	}
	if c.VCard != "" && !strings.HasPrefix(strings.ToUpper(strings.TrimSpace(c.VCard)), "BEGIN:VCARD") {
		return fmt.Errorf("%w: %svcard must begin with BEGIN:VCARD", ErrContent, prefix)
	}
	return firstError(
		checkText(prefix+"fullName", c.FullName, 1, MaxName),
		checkText(prefix+"organization", c.Organization, 0, MaxName),
		optional(c.PhoneNumber, checkPhone(prefix+"phoneNumber", c.PhoneNumber)),
		optional(c.WUID, checkPhone(prefix+"wuid", c.WUID)),
	)
}

// LocationContent is a place, in degrees.
type LocationContent struct {
	Latitude  float64 `json:"latitude" strict:"required" doc:"Degrees north." example:"52.5163" rules:"minimum=-90,maximum=90"`
	Longitude float64 `json:"longitude" strict:"required" doc:"Degrees east." example:"13.3777" rules:"minimum=-180,maximum=180"`
	Name      string  `json:"name"`
	Address   string  `json:"address"`
	URL       string  `json:"url"`
}

// Content implements [Payload].
func (l *LocationContent) Content() (Content, error) {
	return Content{Location: l}, firstError(
		checkDegrees("latitude", l.Latitude, 90),
		checkDegrees("longitude", l.Longitude, 180),
		checkText("name", l.Name, 0, MaxName),
		checkText("address", l.Address, 0, MaxText),
		optional(l.URL, checkURL("url", l.URL)),
	)
}

// ReactionContent is a reaction to a message; an empty one takes it back. A post of a newsletter has a
// ServerID, by which it is named instead of by its key.
type ReactionContent struct {
	Key      MessageKey `json:"key" doc:"The message to react to. Required, unless serverId names a post of a newsletter."`
	ServerID *int       `json:"serverId" doc:"The newsletter's number of the post to react to, instead of key: metadata.serverId of the post." example:"142" rules:"minimum=1"`
	Reaction string     `json:"reaction" strict:"required"`
}

// Content implements [Payload].
func (r *ReactionContent) Content() (Content, error) {
	if len(r.Reaction) > MaxReaction {
		return Content{}, fmt.Errorf("%w: reaction must be one emoji, or empty to take it back", ErrContent)
	}
	if r.ServerID != nil {
		if *r.ServerID < 1 {
			return Content{}, fmt.Errorf("%w: serverId must be 1 or greater", ErrContent)
		}
		return Content{Reaction: r}, nil
	}
	return Content{Reaction: r}, r.Key.check("key")
}

// PollContent is a question with answers to choose from.
type PollContent struct {
	Name            string   `json:"name" strict:"required"`
	Options         []string `json:"options" strict:"required"`
	SelectableCount int      `json:"selectableCount"` // how many may be chosen; 0: any number
}

// Content implements [Payload].
func (p *PollContent) Content() (Content, error) {
	if n := len(p.Options); n < MinPollOptions || n > MaxPollOptions {
		return Content{}, fmt.Errorf("%w: options must have %d to %d answers", ErrContent, MinPollOptions, MaxPollOptions)
	}
	seen := map[string]bool{}
	for i, o := range p.Options {
		name := fmt.Sprintf("options[%d]", i)
		if err := checkText(name, o, 1, MaxPollOption); err != nil {
			return Content{}, err
		}
		if seen[o] {
			return Content{}, fmt.Errorf("%w: %s is given twice", ErrContent, name)
		}
		seen[o] = true
	}
	if p.SelectableCount < 0 || p.SelectableCount > len(p.Options) {
		return Content{}, fmt.Errorf("%w: selectableCount must be 0 to %d", ErrContent, len(p.Options))
	}
	return Content{Poll: p}, checkText("name", p.Name, 1, MaxName)
}

// ForwardContent names the stored message that a batch forwards.
type ForwardContent struct {
	MessageID json.RawMessage `json:"messageId" strict:"required"`
}

// Content implements [Payload]. The message itself is the caller's to find.
func (f *ForwardContent) Content() (Content, error) {
	if len(f.MessageID) == 0 {
		return Content{}, fmt.Errorf("%w: messageId must be given", ErrContent)
	}
	return Content{Forward: &Original{}}, nil
}

// StatusContent is a text for the account's status, which its contacts see
// for 24 hours.
type StatusContent struct {
	Text string `json:"text"`
	// #rrggbb; empty: the client's choice
	BackgroundColor string `json:"backgroundColor" doc:"The background colour, as #rrggbb." example:"#1b5e20" rules:"pattern=^(#[0-9A-Fa-f]{6})?$"`
	Font            int    `json:"font"` // 0 to 10, WhatsApp's fonts

	// Instead of a text, a file with a caption.
	Kind     MediaKind `json:"mediatype"`
	URL      string    `json:"media"`
	UploadID UploadID  `json:"mediaUploadId"`
	Message  MessageID `json:"messageId"`
	Caption  string    `json:"caption"`
}

// file returns the content of a status with a file.
func (s *StatusContent) file() (Content, error) {
	switch {
	case s.Text != "" || s.BackgroundColor != "" || s.Font != 0:
		return Content{}, fmt.Errorf("%w: give text, or a file with a caption; backgroundColor and font are for texts", ErrContent)
	case s.Kind != MediaImage && s.Kind != MediaVideo && s.Kind != MediaVoice:
		return Content{}, fmt.Errorf("%w: mediatype %.100q is not one of: image, video, voice", ErrContent, s.Kind)
	case s.Kind == MediaVoice && s.Caption != "":
		return Content{}, fmt.Errorf("%w: caption is for images and videos", ErrContent)
	}
	m := &Media{Kind: s.Kind, URL: s.URL, UploadID: string(s.UploadID), Message: s.Message, Caption: s.Caption}
	return Content{Media: m}, firstError(oneSource("media", s.URL, s.UploadID, s.Message), checkText("caption", s.Caption, 0, MaxText))
}

// Content implements [Payload].
func (s *StatusContent) Content() (Content, error) {
	if s.Kind != "" || s.URL != "" || s.UploadID != "" || s.Message != "" || s.Caption != "" {
		return s.file()
	}
	if _, err := s.Background(); err != nil {
		return Content{}, err
	}
	if s.Font < 0 || s.Font > MaxStatusFont {
		return Content{}, fmt.Errorf("%w: font must be 0 to %d", ErrContent, MaxStatusFont)
	}
	return Content{Status: s}, checkText("text", s.Text, 1, MaxText)
}

// Background is the background as 0xAARRGGBB, opaque; 0 when none was given.
func (s *StatusContent) Background() (uint32, error) {
	if s.BackgroundColor == "" {
		return 0, nil
	}
	var argb uint32
	if n, err := fmt.Sscanf(s.BackgroundColor, "#%06x", &argb); n != 1 || err != nil || len(s.BackgroundColor) != len("#rrggbb") {
		return 0, fmt.Errorf("%w: backgroundColor must be like #1b5e20", ErrContent)
	}
	return 0xff000000 | argb, nil
}

// EditContent replaces the text, or the caption, of a message that the account
// sent. WhatsApp allows it for about 15 minutes.
type EditContent struct {
	Original Original
	Text     string
}

// Check returns an error that wraps ErrContent if the edit is invalid.
func (e *EditContent) Check() error { return checkText("text", e.Text, 1, MaxText) }

func checkText(name, text string, minimum, maximum int) error {
	switch n := utf8.RuneCountInString(text); {
	case n < minimum:
		return fmt.Errorf("%w: %s must not be empty", ErrContent, name)
	case minimum > 0 && strings.TrimSpace(text) == "":
		return fmt.Errorf("%w: %s must not be white space only", ErrContent, name)
	case n > maximum:
		return fmt.Errorf("%w: %s has %d characters, at most %d are allowed", ErrContent, name, n, maximum)
	}
	return nil
}

func checkURL(name, raw string) error {
	u, err := url.Parse(raw)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || utf8.RuneCountInString(raw) > MaxURL {
		return fmt.Errorf("%w: %s must be an http or https URL of at most %d characters", ErrContent, name, MaxURL)
	}
	if err := CheckPort(u); err != nil {
		return fmt.Errorf("%w: %s: %w", ErrContent, name, err)
	}
	return nil
}

func checkPhone(name, text string) error {
	if r, err := ParseRecipient(text); err != nil || !r.IsPhone() {
		return fmt.Errorf("%w: %s must be a phone number of 7 to 15 digits", ErrContent, name)
	}
	return nil
}

func checkDegrees(name string, v float64, bound int) error {
	if math.IsNaN(v) || math.Abs(v) > float64(bound) {
		return fmt.Errorf("%w: %s must be between -%d and %d degrees", ErrContent, name, bound, bound)
	}
	return nil
}

// optional drops the error of a field that was not given.
func optional(value string, err error) error {
	if value == "" {
		return nil
	}
	return err
}

func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
