package event

// MediaOption says what the events of messages with a file have of it.
type MediaOption string

// The values of MediaOption.
const (
	MediaNone   MediaOption = "none"
	MediaAsLink MediaOption = "link"
)

func (MediaOption) values() []string { return list(MediaNone, MediaAsLink) }
