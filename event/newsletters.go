package event

// NewsletterType is the "type" of news.letter.
type NewsletterType string

// The types of news.letter.
const (
	NewsletterJoin        NewsletterType = "join"
	NewsletterLeave       NewsletterType = "leave"
	NewsletterLiveUpdate  NewsletterType = "live.update"
	NewsletterMessageMeta NewsletterType = "message.meta"
	NewsletterMuteChange  NewsletterType = "mute.change"
)

func (NewsletterType) values() []string {
	return list(NewsletterJoin, NewsletterLeave, NewsletterLiveUpdate, NewsletterMessageMeta, NewsletterMuteChange)
}

// NewsletterUpdate is the data of news.letter.
type NewsletterUpdate struct {
	Type          NewsletterType `json:"type" doc:"What happened."`
	NewsletterJID string         `json:"newsletterJid,omitempty"`
	DateTime      Time           `json:"dateTime"`
	Extra         Extra          `json:"-"`
}

func (n NewsletterUpdate) about() About { return ofChat(n.NewsletterJID, false) }

// MarshalJSON puts the extra keys behind the declared ones.
func (n NewsletterUpdate) MarshalJSON() ([]byte, error) {
	type plain NewsletterUpdate
	return flatten(plain(n), n.Extra)
}
