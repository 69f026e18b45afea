package event

// MapTexts returns c with the texts that may differ between the recipients of a batch
// replaced by what fn returns for each, in a fixed order: texts, captions, the titles and
// descriptions of links, file names, the names of contacts and the questions of polls. Its
// error wraps [ErrContent] and names a text that breaks a rule by then.
func (c Content) MapTexts(fn func(text string) string) (Content, error) {
	var err error
	to := func(name, text string, minimum, maximum int) string {
		text = fn(text)
		if err == nil {
			err = checkText(name, text, minimum, maximum)
		}
		return text
	}
	switch {
	case c.Text != nil:
		t := *c.Text
		t.Text = to("text", t.Text, 1, MaxText)
		c.Text = &t
	case c.Link != nil:
		l := *c.Link
		l.Title, l.Description = to("title", l.Title, 0, MaxName), to("description", l.Description, 0, MaxText)
		c.Link = &l
	case c.Media != nil:
		m := *c.Media
		m.Caption, m.FileName = to("caption", m.Caption, 0, MaxText), to("fileName", m.FileName, 0, MaxName)
		c.Media = &m
	case c.Album != nil:
		album := AlbumContent{make([]*Media, len(c.Album.Files))}
		for i, file := range c.Album.Files {
			m := *file
			m.Caption = to("caption", m.Caption, 0, MaxText)
			album.Files[i] = &m
		}
		c.Album = &album
	case c.Poll != nil:
		p := *c.Poll
		p.Name = to("name", p.Name, 1, MaxName)
		c.Poll = &p
	case c.Contacts != nil:
		all := make([]ContactContent, len(c.Contacts))
		for i, contact := range c.Contacts {
			contact.FullName = to("fullName", contact.FullName, 1, MaxName)
			all[i] = contact
		}
		c.Contacts = all
	}
	return c, err
}

// Summary returns the text by which a person knows the content again, such as a caption;
// empty if it has none.
func (c Content) Summary() string {
	var texts []string
	switch {
	case c.Text != nil:
		return c.Text.Text
	case c.Link != nil:
		texts = []string{c.Link.Title, c.Link.Link}
	case c.Media != nil:
		texts = []string{c.Media.Caption, c.Media.FileName}
	case c.Album != nil:
		for _, file := range c.Album.Files {
			texts = append(texts, file.Caption)
		}
	case c.Poll != nil:
		return c.Poll.Name
	case c.Location != nil:
		texts = []string{c.Location.Name, c.Location.Address}
	case len(c.Contacts) > 0:
		return c.Contacts[0].FullName
	}
	for _, t := range texts {
		if t != "" {
			return t
		}
	}
	return ""
}
