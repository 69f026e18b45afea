package event

// MediaLink is the address of the file of a stored message, with the file as its sender
// describes it.
type MediaLink struct {
	URL       string    `json:"url" doc:"The address of the file. Its token is the credential." example:"https://example.org/media/AQAAAAAAAAAB/cat.jpg" rules:"format=uri"`
	ExpiresAt Time      `json:"expiresAt" doc:"When the address ends." example:"$time"`
	Kind      MediaKind `json:"kind" doc:"The kind of file." example:"image"`
	MimeType  string    `json:"mimetype" doc:"The media type that the sender declared." example:"image/jpeg"`
	FileName  string    `json:"fileName" doc:"The name that the file is downloaded under." example:"cat.jpg"`
	Size      int64     `json:"size" doc:"The size that the sender declared, in bytes." example:"48213" rules:"minimum=0"`
	SHA256    string    `json:"sha256" doc:"The SHA-256 of the file, in hexadecimal." example:"9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"`
}

// MediaOption says what the events of messages with a file have of it.
type MediaOption string

// The values of MediaOption.
const (
	MediaNone   MediaOption = "none"
	MediaAsLink MediaOption = "link"
)

func (MediaOption) values() []string { return list(MediaNone, MediaAsLink) }
