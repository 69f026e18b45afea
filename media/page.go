package media

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"time"

	"golang.org/x/net/html"
	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"

	"postern/event"
)

// Bounds of reading a web page for the preview of a link.
const (
	pageTime        = 5 * time.Second // for the page and its picture
	pageRedirects   = 3
	maxPage         = 512 << 10 // bytes that are read of it
	maxPagePicture  = 2 << 20   // bytes of the picture that it names
	maxPageText     = 300       // characters of its title, and of its description
	maxPreviewBytes = 20 << 10  // of the JPEG in the message
)

var errNoPreview = errors.New("the page names neither a title, a description nor a picture")

// Page reads a web page for the preview of a link to it: the title, the description and the picture that it
// names by Open Graph, else its <title>. A picture that cannot be read is left out. The error says, in words for
// the caller, why nothing can be shown; it is that of ctx when that ended.
func (l *Library) Page(ctx context.Context, instance int64, rawURL string) (p event.LinkPreview, err error) {
	bounded, cancel := context.WithTimeout(ctx, pageTime)
	defer cancel()
	page, err := l.get(bounded, rawURL, maxPage)
	if err == nil {
		p, err = previewIn(page)
	}
	switch {
	case ctx.Err() != nil:
		return p, context.Cause(ctx)
	case bounded.Err() != nil:
		return p, fmt.Errorf("the page did not arrive within %v", pageTime)
	case err != nil:
		return p, err
	}
	if p.PictureURL != "" {
		if p.Picture, err = l.pagePicture(bounded, instance, p.PictureURL); err != nil {
			l.cfg.Logger.Debug("the picture of a page cannot be shown", "instance_id", instance, "error", err)
		}
	}
	if p.Title == "" && p.Description == "" && len(p.Picture.Thumbnail) == 0 {
		return p, errNoPreview
	}
	return p, ctx.Err()
}

// page is an answer of a web server.
type page struct {
	at          *url.URL // after redirects
	contentType string
	body        []byte // at most the asked size
	whole       bool
}

// get reads up to limit bytes of a URL.
func (l *Library) get(ctx context.Context, rawURL string, limit int64) (page, error) {
	req, err := newRequest(ctx, rawURL)
	if err != nil {
		return page{}, err
	}
	resp, err := l.pages.Do(req)
	if err != nil {
		return page{}, fmt.Errorf("the page could not be fetched: %w", unfetched(err))
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		return page{}, fmt.Errorf("the server of the page returned status %d", resp.StatusCode)
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, limit+1))
	if err != nil {
		return page{}, fmt.Errorf("the page could not be read: %w", unfetched(err))
	}
	p := page{at: resp.Request.URL, contentType: resp.Header.Get("Content-Type"), body: body, whole: int64(len(body)) <= limit}
	p.body = body[:min(int64(len(body)), limit)]
	return p, nil
}

// previewIn returns what a page names for its preview.
func previewIn(p page) (preview event.LinkPreview, err error) {
	kind, params, err := mime.ParseMediaType(p.contentType)
	if err != nil || kind != "text/html" {
		return preview, errors.New("the page is not text/html")
	}
	body, err := inUTF8(p.body, params["charset"])
	if err != nil {
		return preview, err
	}
	head := readHead(body)
	preview.Title = cut(firstText(head["og:title"], head["title"]))
	preview.Description = cut(head["og:description"])
	if picture, err := p.at.Parse(strings.TrimSpace(head["og:image"])); err == nil && head["og:image"] != "" && (picture.Scheme == "http" || picture.Scheme == "https") {
		preview.PictureURL = picture.String()
	}
	return preview, nil
}

// readHead returns the values that a page names, the first of each: of <meta> by property or name, of <title> as
// title, and of the encoding as charset.
func readHead(body []byte) map[string]string {
	found := map[string]string{}
	keep := func(name, value string) {
		if _, ok := found[name]; !ok && value != "" {
			found[name] = value
		}
	}
	t := html.NewTokenizer(bytes.NewReader(body))
	for {
		switch t.Next() {
		case html.ErrorToken:
			return found
		case html.TextToken, html.EndTagToken, html.CommentToken, html.DoctypeToken:
		case html.StartTagToken, html.SelfClosingTagToken:
			token := t.Token()
			switch token.Data {
			case "meta":
				a := attributes(token)
				keep("charset", a["charset"])
				if _, params, err := mime.ParseMediaType(a["content"]); err == nil && strings.EqualFold(a["http-equiv"], "content-type") {
					keep("charset", params["charset"])
				}
				keep(strings.ToLower(a["property"]), a["content"])
				keep(strings.ToLower(a["name"]), a["content"])
			case "title":
				if t.Next() == html.TextToken {
					keep("title", t.Token().Data)
				}
			}
		}
	}
}

func attributes(t html.Token) map[string]string {
	all := map[string]string{}
	for _, a := range t.Attr {
		all[a.Key] = a.Val
	}
	return all
}

// encodings are those of web pages beside UTF-8, by the names that pages give them.
var encodings = map[string]encoding.Encoding{
	"iso-8859-1": charmap.Windows1252, "latin1": charmap.Windows1252, "windows-1252": charmap.Windows1252, "us-ascii": charmap.Windows1252,
	"iso-8859-2": charmap.ISO8859_2, "iso-8859-9": charmap.Windows1254, "iso-8859-15": charmap.ISO8859_15,
	"windows-1250": charmap.Windows1250, "windows-1251": charmap.Windows1251, "windows-1254": charmap.Windows1254,
	"windows-1256": charmap.Windows1256, "koi8-r": charmap.KOI8R,
}

// inUTF8 returns a page in UTF-8. Its encoding is that of the header, else the one that it names, else UTF-8.
// A page of another encoding is not shown: its texts would be garbled.
func inUTF8(body []byte, header string) ([]byte, error) {
	name := header
	if name == "" {
		name = readHead(body)["charset"]
	}
	name = strings.ToLower(strings.TrimSpace(name))
	if e := encodings[name]; e != nil {
		return e.NewDecoder().Bytes(body)
	}
	if name != "" && name != "utf-8" && name != "utf8" {
		return nil, fmt.Errorf("the page is in the encoding %.20q, which is not supported", name)
	}
	return bytes.ToValidUTF8(body, nil), nil
}

// cut returns a text on one line, of at most maxPageText characters and without control characters.
func cut(text string) string {
	text = strings.Join(strings.FieldsFunc(text, func(r rune) bool { return r <= ' ' || r == 0x7f || r == 0xa0 }), " ")
	if runes := []rune(text); len(runes) > maxPageText {
		return string(runes[:maxPageText])
	}
	return text
}

// pagePicture returns a JPEG of the picture at a URL, small enough for a message.
func (l *Library) pagePicture(ctx context.Context, instance int64, rawURL string) (info event.MediaInfo, err error) {
	p, err := l.get(ctx, rawURL, maxPagePicture)
	if err != nil {
		return info, err
	}
	if !p.whole {
		return info, fmt.Errorf("%w than %d bytes", ErrTooLarge, maxPagePicture)
	}
	path, err := l.Spool(bytes.NewReader(p.body))
	if err != nil {
		return info, err
	}
	defer Remove(event.MediaFile{Path: path})
	err = l.look(ctx, instance, path, func(file *meter) error {
		picture, err := decode(file)
		if err != nil {
			return err
		}
		info = previewOf(picture)
		return nil
	})
	return info, err
}

// previewOf returns the largest JPEG of a picture that a message has room for.
func previewOf(picture image.Image) (info event.MediaInfo) {
	info.Width, info.Height = picture.Bounds().Dx(), picture.Bounds().Dy()
	for _, side := range []int{192, 128, thumbnailSide} {
		if info.Thumbnail = thumbnail(picture, min(side, max(info.Width, info.Height))); len(info.Thumbnail) <= maxPreviewBytes {
			break
		}
	}
	return info
}
