package network

import (
	"go.mau.fi/whatsmeow"

	"postern/sandbox/network/mediahost"
)

// mediaFolder is where the media of a sandbox with this data file are kept.
func mediaFolder(path string) string {
	if path == "" {
		return ""
	}
	return path + ".media"
}

// PutMedia stores encrypted media as an upload would, and returns its URL and direct path.
func (s *Server) PutMedia(data []byte) (mediaURL, directPath string) {
	path := mediahost.Path(s.media.Put(data))
	return mediahost.URL(path), path
}

// SealMedia encrypts a file as phones do before they upload it, and stores it.
func (s *Server) SealMedia(plain []byte, kind whatsmeow.MediaType) (mediahost.Sealed, error) {
	return s.media.Seal(plain, kind)
}

// Media returns the encrypted bytes behind a direct path or a media URL.
func (s *Server) Media(path string) ([]byte, bool) { return s.media.File(path) }

// ForgetMedia removes what is behind a direct path or a media URL, as WhatsApp does with
// files after some weeks. Phones that had the file keep it.
func (s *Server) ForgetMedia(path string) { s.media.Forget(path) }

// LoseMedia removes a file as ForgetMedia does, and from the phones too.
func (s *Server) LoseMedia(path string) { s.media.Lose(path) }

// UploadAgain makes a file that is gone, or is not, available under a new path.
func (s *Server) UploadAgain(path string) (newPath string, ok bool) { return s.media.Again(path) }
