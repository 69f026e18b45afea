package whatsapp

import (
	"context"
	"errors"
	"regexp"
	"strings"

	"go.mau.fi/whatsmeow/proto/waE2E"

	"postern/event"
)

var errNoLink = errors.New("the text has no http or https URL")

// withPreview returns the message of a text or a link with the preview of its first link, as the page of that
// names it. What the caller gave to a link stays. A page that cannot be read costs the preview, and a warning.
func (s *sender) withPreview(ctx context.Context, m *waE2E.Message, out event.Outgoing) (*waE2E.Message, error) {
	e := m.GetExtendedTextMessage() // of a link
	if e == nil {
		e = &waE2E.ExtendedTextMessage{Text: new(m.GetConversation())}
	}
	page, err := event.LinkPreview{}, errNoLink
	if url := firstLink(e.GetText()); url != "" && s.conn.cfg.Media != nil {
		e.MatchedText = &url
		page, err = s.conn.cfg.Media.Page(ctx, s.conn.instance, url)
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if err != nil {
		if out.Warn != nil {
			out.Warn("options.linkPreview was not followed: " + err.Error())
		}
		return m, nil
	}
	if e.GetTitle() == "" {
		e.Title = event.OrNull(page.Title)
	}
	if e.GetDescription() == "" {
		e.Description = event.OrNull(page.Description)
	}
	if len(e.GetJPEGThumbnail()) == 0 && len(page.Picture.Thumbnail) > 0 {
		e.JPEGThumbnail = page.Picture.Thumbnail
		e.ThumbnailWidth, e.ThumbnailHeight = uint32Of(page.Picture.Width), uint32Of(page.Picture.Height)
	}
	return &waE2E.Message{ExtendedTextMessage: e}, nil
}

var webURL = regexp.MustCompile(`(?i)\bhttps?://[^\s<>"\x60{}|\\^]+`)

// firstLink returns the first http or https URL of a text, empty if there is none. Punctuation after it is not
// part of it, nor is a bracket that was opened before it.
func firstLink(text string) string {
	url := webURL.FindString(text)
	for url != "" {
		last := url[len(url)-1]
		opened := map[byte]string{')': "(", ']': "["}[last]
		if !strings.ContainsRune(".,;:!?'*_~", rune(last)) && (opened == "" || strings.Count(url, opened) >= strings.Count(url, string(last))) {
			break
		}
		url = url[:len(url)-1]
	}
	if strings.HasSuffix(strings.ToLower(url), "://") || len(url) > event.MaxURL {
		return ""
	}
	return url
}
